"""One table with every case that once was, or could be, counted wrongly."""

from __future__ import annotations

from measures.table_rows import TableRows, hit, minutes, padding

NEW_WEIGHTS = {
    "configured": {"vector": 0.3},
    "effective": {"vector": 0.3},
    "source": "declared",
    "unknown": [],
}


def everything_at_once() -> TableRows:
    rows = TableRows()
    # Two voters of one kind on one hit, a third of another kind, and an actor without an id.
    voted = rows.search(hit("a"), hit("b"), hit("c"), hit("low", admitted=False), session_id="s1")
    rows.vote(voted, 1, "relevant", by="human:ana")
    rows.vote(voted, 1, "not_relevant", by="human:ben")
    rows.vote(voted, 1, "highly_relevant", by="human:cai")
    rows.vote(voted, 1, "partially_relevant", by="agent:7")
    rows.vote(voted, 2, "relevant", by="agent")
    rows.vote(voted, 2, "not_relevant", by="agent", at=minutes(30))
    rows.vote(voted, 4, "relevant", by="human:ana")  # on a candidate that was not returned: counts nowhere
    # A vote, then the chunk is opened; a changed mind; opened without a vote.
    changed = rows.search(hit("a"), hit("b"), session_id="s1", actor_kind="agent", surface="agent")
    rows.vote(changed, 1, "relevant", at=minutes(1))
    rows.opened(changed, 1, at=minutes(2))
    rows.opened(changed, 1, by="agent:7", at=minutes(3))
    rows.vote(changed, 2, "highly_relevant", at=minutes(4))
    rows.vote(changed, 2, "not_relevant", at=minutes(5))
    rows.opened(changed, 2, by="system:crawler")
    # A chunk returned twice: the second one was folded onto rank 1 and its rank is a gap. A null score.
    gap = rows.search(
        hit("a"), hit("b", rank=3, score=None, score_kind="none"), hit("c", rank=11), surface=None
    )
    rows.vote(gap, 3, "relevant", by="judge:qrels")
    rows.vote(gap, 11, "relevant", by="judge:qrels")
    # A document with three chunks, far down the list.
    long = rows.search(
        *(hit(f"d#{n}", document_id="d", rank=n) for n in (1, 20, 21, 22)), epoch="e2", corpus=None
    )
    rows.vote(long, 21, "relevant", by="judge:qrels")
    rows.opened(long, 22)
    # Delivered: reordered, one hit dropped, one named twice, one that was never returned; an older order loses.
    delivered = rows.search(
        hit("a"), hit("b"), hit("c"), hit("low", admitted=False), epoch="e2", weights=NEW_WEIGHTS
    )
    rows.deliver(delivered, [1, 2, 3], at=minutes(1))
    rows.deliver(delivered, [9, 4, 3, 3, 1], at=minutes(2))
    rows.vote(delivered, 1, "relevant")
    rows.vote(delivered, 2, "relevant")
    rows.vote(delivered, 3, "not_relevant")
    rows.deliver(rows.search(hit("a"), epoch="e2"), [], at=minutes(1))
    # Nothing found, in the three ways there are.
    rows.search()
    rows.search(hit("low", admitted=False))
    rows.search(padding("a"), padding("b"))
    # Everything that is not ok, with a hit that reached nobody.
    rows.search(status="skipped", skip_reason="no_goal", latency_ms=None, epoch="none", vector_available=None)
    rows.search(
        status="skipped", skip_reason="disabled", latency_ms=None, epoch="none", vector_available=None
    )
    rows.vote(rows.search(hit("a"), status="cancelled", latency_ms=50.0), 1, "relevant")
    rows.search(status="error", error_type="TimeoutError", error_origin="infra", latency_ms=900.0, epoch="e3")
    rows.search(hit("a"), degraded=True, degraded_reason="embedding_unavailable", vector_available=False)
    rows.search(hit("a"), degraded=True, vector_available=None, latency_ms=None)
    # A retried group, a nested row, an own project.
    failed = rows.search(hit("a"), status="error", error_type="ProviderError", started_at=minutes(5))
    retried = rows.search(
        hit("a"), attempt_of=failed, degraded=True, degraded_reason="retry", session_id="s2"
    )
    rows.vote(retried, 1, "relevant", by="human:ana")
    rows.vote(failed, 1, "relevant", by="human:ana")
    rows.vote(rows.search(hit("a"), depth=1, parent_id=voted, root_id=voted), 1, "relevant")
    rows.search(hit("a"), project="shop", surface="tab", actor_kind="system")
    for number in range(25):
        rows.search(hit("a"), latency_ms=3.25 * number, surface="interview", started_at=minutes(100 + number))
    return rows
