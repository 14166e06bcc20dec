"""What `ragledger measure` says of votes, once more in slow and obvious Python. Nothing of ragledger is imported."""

from __future__ import annotations

import math
from itertools import combinations
from statistics import mean, stdev
from typing import Any

from scipy.stats import norm, t

Row = dict[str, Any]
Hits = list[Row]

KINDS = ("human", "agent", "judge", "system")
CUTS = (1, 3, 5, 10)
GAINS = {"not_relevant": 0, "partially_relevant": 1, "relevant": 3, "highly_relevant": 7}
ICC = 0.3


def span(low_high: tuple[float, float] | None) -> Row | None:
    return None if low_high is None else {"low": low_high[0], "high": low_high[1]}


def wilson(p: float, n: float, q: float) -> tuple[float, float]:
    centre = (p + q**2 / (2 * n)) / (1 + q**2 / n)
    half = q * math.sqrt(p * (1 - p) / n + q**2 / (4 * n**2)) / (1 + q**2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def rate_span(part: int, whole: int) -> Row | None:
    return span(wilson(part / whole, whole, norm.ppf(0.975))) if whole else None


def clustered(pairs: list[tuple[float, float]]) -> tuple[float, float] | None:
    """Of (useful, judged) of each cluster."""
    count, judged = len(pairs), sum(j for _, j in pairs)
    if count < 2:
        return None
    p = min(1.0, max(0.0, sum(u for u, _ in pairs) / judged))
    assumed = 1 + (sum(j * j for _, j in pairs) / judged - 1) * ICC
    rarer = min(sum(u for u, _ in pairs), judged - sum(u for u, _ in pairs))
    if rarer < 1e-12:
        effect = assumed
    else:
        spread = sum((u - p * j) ** 2 for u, j in pairs)
        observed = count / (count - 1) * spread / judged**2 / (p * (1 - p) / judged)
        weight = rarer / (rarer + 1)
        effect = weight * observed + (1 - weight) * assumed
    return wilson(p, judged / max(effect, 0.5), t.ppf(0.975, count - 1))


def part(hits: Hits, kind: str, ok: int) -> Row:
    """Precision at every cut, nDCG' and bpref of the hits of some searches."""
    voted = len({hit["search"]["search_id"] for hit in hits if hit["votes"][kind]})
    lists = [_judged_in_order(search, kind) for search in _by_search(hits)]
    return {
        "at": {str(k): _at(hits, kind, k, ok) for k in CUTS},
        "ndcg": _mean([ndcg(one, kind) for one in lists], voted),
        "bpref": _mean([bpref(one, kind) for one in lists], voted),
    }


def agreement(hits: Hits) -> list[Row]:
    return [found for pair in combinations(KINDS, 2) if (found := _agreement(hits, *pair))]


def diagnosis(hits: Hits, epochs: list[str]) -> list[Row]:
    """The figures that a verdict rests on; the verdict is the matter of tests of its own."""
    found = []
    for epoch in epochs:
        inside = [hit for hit in hits if hit["search"]["epoch"] == epoch]
        for kind in KINDS:
            if any(hit["votes"][kind] for hit in inside):
                found.append({"epoch": epoch, "voter": kind, **_figures(inside, kind)})
    return found


def assessments(hits: Hits, ran: list[Row], rows: list[Row], epochs: list[str]) -> list[Row]:
    """How often each was kept and null, and in how many searches of which kind a higher value went with better votes."""
    by_id = {search["search_id"]: search for search in ran}
    latest: dict[Any, Row] = {}
    for row in sorted(rows, key=lambda row: (row["assessed_at"], row["assessment_id"])):
        if row["search_id"] in by_id:
            latest[row["search_id"], row["name"], row["method"]] = row
    names = {(row["name"], row["method"], by_id[row["search_id"]]["epoch"]) for row in latest.values()}
    found = []
    for name, method, epoch in sorted(names, key=lambda one: (one[0], one[1] or "", epochs.index(one[2]))):
        own = [
            row
            for row in latest.values()
            if (row["name"], row["method"], by_id[row["search_id"]]["epoch"]) == (name, method, epoch)
        ]
        found.append(
            {
                "name": name,
                "method": method,
                "epoch": epoch,
                "searches": len(own),
                "null": len([row for row in own if row["value"] is None]),
                "voters": {kind: worth for kind in KINDS if (worth := _worth(own, hits, kind))},
            }
        )
    return found


def usefulness(hit: Row, kind: str) -> float:
    return sum(hit["votes"][kind]) / len(hit["votes"][kind])


def ndcg(hits: Hits, kind: str) -> float | None:
    gains = [mean(GAINS[outcome] for outcome in hit["outcomes"][kind]) for hit in hits]
    if len(set(gains)) < 2:
        return None
    best = sorted(gains, reverse=True)
    return _dcg(gains) / _dcg(best)


def bpref(hits: Hits, kind: str) -> float | None:
    said = [usefulness(hit, kind) > 0.5 for hit in hits if usefulness(hit, kind) != 0.5]
    useful, useless = said.count(True), said.count(False)
    if not useful or not useless:
        return None
    above = [said[:place].count(False) for place, one in enumerate(said) if one]
    return sum(1 - min(n, useful) / min(useful, useless) for n in above) / useful


def _dcg(gains: list[float]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


def _at(hits: Hits, kind: str, k: int, ok: int) -> Row:
    shown = [hit for hit in hits if hit["position"] is not None and hit["position"] <= k]
    judged = [hit for hit in shown if hit["votes"][kind]]
    useful = sum(usefulness(hit, kind) for hit in judged)
    searches = [(sum(usefulness(h, kind) for h in one), len(one)) for one in _by_search(judged)]
    actors = _by_actor(judged, kind)
    interval, by = _wider(searches, actors)
    return {
        "precision": useful / len(judged) if judged else None,
        "interval": span(interval),
        "clustered_by": by if interval else None,
        "useful": useful,
        "judged": len(judged),
        "shown": len(shown),
        "judged_share": len(judged) / len(shown) if shown else None,
        "bounds": span((useful / len(shown), (useful + len(shown) - len(judged)) / len(shown)))
        if judged
        else None,
        "searches": len(searches),
        "actors": len(actors),
        "thin": len(judged) < 30 or len(searches) < 20,
        "macro": _mean([u / j for u, j in searches], ok),
    }


def _wider(
    searches: list[tuple[float, float]], actors: list[tuple[float, float]]
) -> tuple[tuple[float, float] | None, str]:
    interval = clustered(searches)
    if interval and 2 <= len(actors) < 20:
        other = clustered(actors)
        if other is not None and other[1] - other[0] > interval[1] - interval[0] + 1e-12:
            return other, "actor"
    return interval, "search"


def mean_interval(values: list[float]) -> tuple[float, float] | None:
    """Of a mean of values from 0 to 1."""
    count = len(values)
    if count < 2:
        return None
    p = mean(values)
    rounded = [round(value, 9) for value in values]
    differ = count - max(rounded.count(value) for value in rounded)
    weight = differ / (differ + 1 / 3)
    effect = weight * stdev(values) ** 2 / (p * (1 - p)) + 1 - weight if differ else 1.0
    return wilson(p, count / effect, t.ppf(0.975, count - 1))


def _mean(values: list[float | None], of: int) -> Row:
    known = [value for value in values if value is not None]
    interval = mean_interval(known)
    return {
        "mean": mean(known) if known else None,
        "interval": span(interval),
        "searches": len(known),
        "without": of - len(known),
    }


def _by_search(hits: Hits) -> list[Hits]:
    ids = {hit["search"]["search_id"] for hit in hits}
    return [[hit for hit in hits if hit["search"]["search_id"] == one] for one in sorted(ids)]


def _judged_in_order(hits: Hits, kind: str) -> Hits:
    placed = [hit for hit in hits if hit["votes"][kind] and hit["position"] is not None]
    return sorted(placed, key=lambda hit: hit["position"])


def _by_actor(hits: Hits, kind: str) -> list[tuple[float, float]]:
    sums: dict[Any, tuple[float, float]] = {}
    for hit in hits:
        part_of_hit = 1 / len(hit["ballots"][kind])
        for actor, useful in hit["ballots"][kind]:
            u, j = sums.get(actor, (0.0, 0.0))
            sums[actor] = (u + useful * part_of_hit, j + part_of_hit)
    return list(sums.values())


def _agreement(hits: Hits, first: str, second: str) -> Row | None:
    both = [hit for hit in hits if hit["votes"][first] and hit["votes"][second]]
    if not both:
        return None
    clear = [hit for hit in both if 0.5 not in (usefulness(hit, first), usefulness(hit, second))]
    said = [(usefulness(hit, first) > 0.5, usefulness(hit, second) > 0.5) for hit in clear]
    equal = [a == b for a, b in said]
    a, b = (sum(one[0] for one in said), sum(one[1] for one in said))
    n = len(said)
    chance = (a * b + (n - a) * (n - b)) / n**2 if n else 1.0
    searches = _by_search(clear)
    return {
        "first": first,
        "second": second,
        "hits": n,
        "split": len(both) - n,
        "searches": len(searches),
        "equal": sum(equal),
        "both_useful": said.count((True, True)),
        "first_only": said.count((True, False)),
        "second_only": said.count((False, True)),
        "share": sum(equal) / n if n else None,
        "interval": span(
            clustered(
                [
                    (
                        sum((usefulness(h, first) > 0.5) == (usefulness(h, second) > 0.5) for h in one),
                        len(one),
                    )
                    for one in searches
                ]
            )
        ),
        "kappa": (sum(equal) / n - chance) / (1 - chance) if chance < 1 else None,
    }


def _figures(hits: Hits, kind: str) -> Row:
    groups = {
        "top": [hit for hit in hits if hit["position"] is not None and hit["position"] <= 3],
        "below": [hit for hit in hits if hit["position"] is not None and hit["position"] > 3],
    }
    found: Row = {"actors": len(_by_actor([hit for hit in hits if hit["votes"][kind]], kind))}
    shares: dict[str, dict[Any, float]] = {}
    for name, group in groups.items():
        judged = [hit for hit in group if hit["votes"][kind]]
        pairs = [(sum(usefulness(h, kind) for h in one), len(one)) for one in _by_search(judged)]
        shares[name] = {
            one[0]["search"]["search_id"]: mean(usefulness(h, kind) for h in one)
            for one in _by_search(judged)
        }
        found[name] = {
            "shown": len(group),
            "judged": len(judged),
            "useful": sum(u for u, _ in pairs),
            "searches": len(pairs),
            "share": sum(u for u, _ in pairs) / len(judged) if judged else None,
            "interval": span(_wider(pairs, _by_actor(judged, kind) if name == "top" else [])[0]),
        }
    both = [one for one in shares["top"] if one in shares["below"]]
    moved = [shares["below"][one] - shares["top"][one] for one in both]
    within = mean_interval([(value + 1) / 2 for value in moved])
    found["difference"] = {
        "searches": len(both),
        "mean": mean(moved) if moved else None,
        "interval": span(within and (2 * within[0] - 1, 2 * within[1] - 1)),
        "top_share": mean(shares["top"][one] for one in both) if both else None,
    }
    return found


def _worth(rows: list[Row], hits: Hits, kind: str) -> Row | None:
    cases = []
    for row in rows:
        judged = [
            hit
            for hit in hits
            if hit["search"]["search_id"] == row["search_id"]
            and hit["votes"][kind]
            and hit["position"] is not None
            and hit["position"] <= 3
        ]
        if judged and row["value"] is not None:
            search = judged[0]["search"]
            cluster = (
                (search["project"], search["session_id"]) if search["session_id"] else search["search_id"]
            )
            cases.append((row["value"], mean(usefulness(h, kind) for h in judged), cluster))
    if not cases:
        return None
    highs = [value for value, share, _ in cases if share >= 0.5 - 1e-9]
    lows = [value for value, share, _ in cases if share < 0.5 - 1e-9]
    wins = sum((high > low) + (high == low) / 2 for high in highs for low in lows)
    within = all(0 <= value <= 1 for value, _, _ in cases)
    return {
        "searches": len(cases),
        "useful": len(highs),
        "clusters": len({cluster for _, _, cluster in cases}),
        "auc": wins / (len(highs) * len(lows)) if highs and lows else None,
        "brier": mean((value - share) ** 2 for value, share, _ in cases) if within else None,
    }
