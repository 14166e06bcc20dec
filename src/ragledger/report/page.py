"""The whole page: one file, nothing to load, nothing that runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from itertools import islice

import msgspec

from ragledger.measures.tables import heading, tables
from ragledger.panels.choices import ALL

from .cards import card
from .lines import Axis
from .markup import Html, coded, joined, tag
from .numbers import moment, uncounted
from .palette import style_sheet
from .picture import Change, Picture, View
from .summary import summary
from .tables import word_table

__all__ = ["page"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_NO_TEXT = "The page holds counts, scores, ids and names that the application gave: no question, no passage and no exception message."
_CHANGES = 12
_FILTERS = ("corpus", "surface", "epoch", "actor_kind")


def page(picture: Picture, step: Callable[[int], None] = lambda _: None) -> str:
    """The text of the file; `step` hears of each panel that is drawn."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"Ragledger report, {moment(picture.time_range.end)}"),
        tag("link", rel="icon", href="data:,"),
        tag("style", Html(style_sheet() + _css())),
    )
    body = tag(
        "body",
        _top(picture),
        _navigation(picture),
        tag(
            "main",
            summary(picture),
            *(_view(view, picture, step) for view in picture.views),
            _measured(picture),
        ),
        tag("footer", tag("p", coded("Made by `ragledger report`.")), class_="end"),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def name_of(view: View) -> str:
    """What people call it."""
    return view.dashboard.title.removeprefix("Ragledger: ")


def _css() -> str:
    return (resources.files(__package__) / "page.css").read_text(encoding="utf-8")


def _top(picture: Picture) -> Html:
    start, end = picture.time_range.start, picture.time_range.end
    facts = (
        ("Window", f"{moment(start)} to {moment(end)}"),
        ("Projects", ", ".join(picture.projects)),
        *_chosen(picture),
        ("Votes of", f"{picture.voter}, hits up to rank {picture.choice.k}"),
        ("Rollups", f"by {picture.grain}, whole ones"),
        ("Counted until", "not measured" if picture.counted_until is None else moment(picture.counted_until)),
        ("Made", moment(picture.made_at)),
    )
    return tag(
        "header",
        tag("div", tag("h1", "Retrieval report"), _theme(), class_="title"),
        tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in facts), class_="facts"),
        _behind(picture),
        tag("p", f"All times are UTC. {_NO_TEXT}", class_="caption"),
        class_="top",
    )


def _chosen(picture: Picture) -> Iterator[tuple[str, str]]:
    filters = msgspec.structs.asdict(picture.choice)
    for name in _FILTERS:
        if filters[name] not in {None, ALL}:
            yield name.replace("_", " ").capitalize(), filters[name]


def _behind(picture: Picture) -> Html | None:
    late = uncounted(picture.behind, picture.minutes_waiting, picture.days_waiting)
    if not late:
        return None
    return tag(
        "p",
        coded(
            f"Not counted yet ({late}): new searches and votes are missing here, and erased ones may still be in. "
            "Run `ragledger collect --once` and make the report again."
        ),
        class_="notice",
    )


def _theme() -> Html:
    """Works without a script: the style sheet asks which one is checked."""
    choices = (("auto", "Auto"), ("light", "Light"), ("dark", "Dark"))
    return tag(
        "fieldset",
        tag("legend", "Colours"),
        *(
            joined(
                tag("input", type_="radio", name="colours", id_=key, checked=key == "auto"),
                tag("label", words, for_=key),
            )
            for key, words in choices
        ),
        class_="theme",
    )


def _navigation(picture: Picture) -> Html:
    views = [(view.dashboard.name, name_of(view)) for view in picture.views]
    if picture.measurement is not None:
        views.append(("measured", "Measured"))
    return tag("nav", *(tag("a", words, href=f"#{name}") for name, words in views), aria_label="Views")


def _view(view: View, picture: Picture, step: Callable[[int], None]) -> Html:
    changes = view.changes[-_CHANGES:]
    axis = Axis(picture.time_range, picture.grain, changes)
    numbered = enumerate(view.panels, start=1)
    rows = []
    for row in view.dashboard.rows:
        cards = []
        for number, panel in islice(numbered, len(row.panels)):
            cards.append(card(panel, axis, f"{view.dashboard.name}-{number}"))
            step(1)
        rows += [tag("h3", row.title), tag("div", *cards, class_="grid")]
    return tag(
        "section",
        tag("h2", name_of(view)),
        tag("p", view.dashboard.description, class_="lead"),
        _changes(changes, len(view.changes)),
        *rows,
        id_=view.dashboard.name,
        class_="view",
    )


def _changes(changes: Sequence[Change], all_of_them: int) -> Html | None:
    if not changes:
        return None
    left_out = all_of_them - len(changes)
    return joined(
        tag(
            "ol",
            *(
                tag("li", tag("time", moment(change.at)), " ", change.title, tag("span", change.text))
                for change in changes
            ),
            class_="changes",
            aria_label="What changed; the numbers stand above the dashed lines",
        ),
        tag(
            "p", f"The latest {len(changes)} changes; {left_out:,} older ones are left out.", class_="caption"
        )
        if left_out
        else None,
    )


def _measured(picture: Picture) -> Html | None:
    if picture.measurement is None:
        return tag("p", coded(picture.unmeasured), class_="caption") if picture.unmeasured else None
    return tag(
        "section",
        tag("h2", "Measured"),
        tag(
            "p",
            coded(
                "What `ragledger measure` says, from the table itself: the window to the second, not whole buckets."
            ),
            class_="lead",
        ),
        tag(
            "details",
            tag("summary", "All tables"),
            tag("ul", *(tag("li", line) for line in heading(picture.measurement)), class_="plain"),
            *(word_table(table) for table in tables(picture.measurement)),
        ),
        id_="measured",
        class_="view",
    )
