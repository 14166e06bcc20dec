"""P3: every part raises on purpose; the search's own result or exception is untouched and the fault is counted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from unit.core import SECRET, World

import ragledger
from ragledger import Candidate
from ragledger.model import Record
from ragledger.observation import NULL, Observation, Opening
from ragledger.ports import TraceIds
from ragledger.testing import FrozenClock, MemoryBackend, MemoryNarration, MemoryNarrator


class Boom(Exception):
    """Ours, on purpose. Its message must go nowhere."""

    def __init__(self) -> None:
        super().__init__(SECRET)


class BrokenSink(MemoryBackend):
    def put(self, record: Record) -> str | None:
        raise Boom


class BrokenClock(FrozenClock):
    """Fails at the named readings, in the order in which a search takes them."""

    def __init__(self, *failing: str) -> None:
        super().__init__()
        self.failing = failing
        self.readings = iter(["start", "stop", "later", "later"])

    def wall_ns(self) -> int:
        if "wall" in self.failing:
            raise Boom
        return super().wall_ns()

    def ticks_ns(self) -> int:
        if next(self.readings) in self.failing:
            raise Boom
        return super().ticks_ns()


class BrokenTelling(MemoryNarration):
    def __init__(self, log: list[Any], step: str) -> None:
        super().__init__(log)
        self.step = step

    def __getattribute__(self, name: str) -> Any:
        if name == object.__getattribute__(self, "__dict__").get("step"):
            raise Boom
        return super().__getattribute__(name)


class BrokenTeller(MemoryNarrator):
    def __init__(self, step: str) -> None:
        super().__init__()
        self.step = step

    def open(self, facts: Any) -> Any:
        if self.step == "open":
            raise Boom
        return BrokenTelling(self.log, self.step)


class Raises:
    """A value whose every face raises."""

    def _boom(self, *args: Any) -> Any:
        raise Boom

    __str__ = __bool__ = __len__ = __float__ = __int__ = __eq__ = _boom
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Boom


class RaisesWhenNamed(type):
    """The class of an exception that cannot even be named."""

    @property
    def __module__(cls) -> str:  # type: ignore[override]
        raise Boom


Fault = dict[str, Any]

# part -> what breaks, the faults that are counted, whether there is a row, and its flags
PARTS: dict[str, tuple[Fault, dict[str, int], bool, tuple[str, ...]]] = {
    "wall clock": ({"clock": lambda: BrokenClock("wall")}, {"clock": 1}, True, ()),
    "clock at the start": ({"clock": lambda: BrokenClock("start")}, {"clock": 1}, True, ("incomplete",)),
    "clock at the end": ({"clock": lambda: BrokenClock("stop")}, {"clock": 1}, True, ("incomplete",)),
    "sink": ({"sink": BrokenSink}, {"journal": 1}, False, ()),
    "narrator open": ({"narrator": lambda: BrokenTeller("open")}, {"span": 1}, True, ()),
    "narration attach": ({"narrator": lambda: BrokenTeller("attach")}, {"span": 1}, True, ()),
    "narration detach": ({"narrator": lambda: BrokenTeller("detach")}, {"span": 1}, True, ()),
    "narration close": ({"narrator": lambda: BrokenTeller("close")}, {"span": 1}, True, ()),
    "narration trace": ({"narrator": lambda: BrokenTeller("trace")}, {"span": 1}, True, ()),
}


def test_p3_the_parts_are_those_that_a_recorder_has(make_world: Callable[..., World]):
    """A part that is added must be broken here too."""
    recorder = vars(make_world().ledger.recorder)
    names = (
        "ledger project guard clock attempts known caps new_id kept_as _privacy _stores_text _sink _narrator "
        "_listeners texts_pause"
    )
    assert set(recorder) == set(names.split())
    telling = {name for name in vars(MemoryNarration) if not name.startswith("_")}
    assert telling == {"trace", "attach", "detach", "close", "hear"}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("outcome", ["result", "exception"])
def test_p3_a_part_that_raises_costs_what_it_does_and_nothing_else(
    make_world: Callable[..., World], caplog: pytest.LogCaptureFixture, part: str, outcome: str
):
    broken, faults, recorded, flags = PARTS[part]
    world = make_world(strict=False, **{name: make() for name, make in broken.items()})
    result, fault = object(), ValueError(SECRET)

    def retrieve() -> object:
        with world.ledger.search(corpus="c") as search:
            search.candidates(Candidate("a", score=0.5))
            if outcome == "exception":
                raise fault
            return result

    with ragledger.capture() as receipts:
        if outcome == "result":
            assert retrieve() is result
        else:
            with pytest.raises(ValueError) as caught:
                retrieve()
            assert caught.value is fault
            assert fault.__context__ is None
    assert not ragledger.current()
    assert world.faults == faults
    assert (receipts[0].search_id is not None) == recorded
    assert [row.flags for row in world.sink.searches] == [flags] * recorded
    for row in world.sink.searches:
        assert row.status == ("ok" if outcome == "result" else "error")
        assert (row.latency_ms is None) == ("incomplete" in flags)
        assert [hit.chunk_id for hit in row.hits] == ["a"]
        assert row.started_at > 1_700_000_000_000_000
    assert len(caplog.records) == 1
    assert SECRET not in caplog.text
    assert "Boom" in caplog.text


@pytest.mark.parametrize("part", PARTS)
def test_p3_in_strict_mode_the_same_fault_fails_the_test_that_met_it(
    make_world: Callable[..., World], part: str
):
    broken, faults, _, _ = PARTS[part]
    world = make_world(strict=True, **{name: make() for name, make in broken.items()})
    with pytest.raises(Boom), world.ledger.search():
        pass
    assert faults.items() <= world.faults.items()  # sections that it passed through count it too
    assert not ragledger.current()


def test_p3_without_an_id_there_is_no_row_and_the_search_goes_on(make_world: Callable[..., World]):
    world = make_world(strict=False)

    def no_id() -> Any:
        raise Boom

    world.ledger.recorder.new_id = no_id
    with world.ledger.search() as search:
        search.candidates(Candidate("a"))
    receipt = world.ledger.skip(reason="no_goal")
    assert search is NULL
    assert (receipt.search_id, receipt.status, receipt.reason) == (None, "refused", "fault")
    assert world.faults == {"open": 2}
    assert world.sink.records == []


@pytest.mark.parametrize(
    "name", ["surface", "session_id", "corpus", "actor", "index_version", "embedding_model"]
)
@pytest.mark.parametrize("where", ["context", "call"])
def test_p3_a_context_value_that_raises_is_left_out(make_world: Callable[..., World], name: str, where: str):
    world = make_world(strict=False)
    value: Any = {name: Raises()}
    with ragledger.context(**(value if where == "context" else {})):
        with world.ledger.search(**(value if where == "call" else {})) as search:
            search.candidates(Candidate("a"))
        world.ledger.skip(reason="no_goal")
    rows = world.sink.searches
    assert rows[0].search_id == search.receipt.search_id
    assert rows[0].flags == ("unreadable_text",)
    stored = {"actor": "actor_id"}.get(name, name)
    assert [getattr(row, stored) for row in rows] == [None] * len(rows)
    assert [hit.chunk_id for hit in rows[0].hits] == ["a"]
    assert world.faults == {}


def test_p3_candidates_that_raise_cost_themselves_and_the_row_is_incomplete(make_world: Callable[..., World]):
    world = make_world(strict=False)
    odd: Any = Raises()
    with world.ledger.search() as search:
        search.candidates(
            Candidate("a", vector=0.5), odd, Candidate("b", signals=odd), Candidate("c", score=odd)
        )
    row = world.sink.row
    assert [(hit.chunk_id, hit.vector_score, hit.score) for hit in row.hits] == [
        ("a", 0.5, None),
        ("c", None, None),
    ]
    assert set(row.flags) == {"incomplete", "unreadable_score"}
    assert (row.candidate_count, row.admitted_count) == (None, None)
    assert world.faults == {"hits": 1}
    assert search.receipt.hits == ((1, "a"), (2, "c"))


def test_p3_a_returned_item_that_raises_keeps_its_rank(make_world: Callable[..., World]):
    world = make_world(strict=False)
    odd: Any = Raises()
    search = world.ledger.recorder.open(Opening(framework="test"))
    search.finish(item for item in [Candidate("a"), odd, Candidate("b")])
    assert search.receipt.hits == ((1, "a"), (2, None), (3, "b"))
    assert world.sink.row.admitted_count == 3
    assert "incomplete" in world.sink.row.flags


def test_p3_a_result_that_cannot_be_walked_leaves_the_counts_unknown(make_world: Callable[..., World]):
    world = make_world(strict=False)

    def broken() -> Any:
        raise Boom
        yield

    search = world.ledger.recorder.open(Opening(framework="test"))
    search.finish(broken())
    assert search.receipt.search_id is not None
    row = world.sink.row
    assert (row.status, row.admitted_count, row.candidate_count, row.flags) == (
        "ok",
        None,
        None,
        ("incomplete",),
    )
    assert world.faults["hits"] >= 1


@pytest.mark.parametrize("name", ["weights", "top_k", "retriever", "served_from"])
def test_p3_an_argument_that_raises_is_left_out(make_world: Callable[..., World], name: str):
    world = make_world(strict=False)
    odd: Any = {name: Raises()}
    with world.ledger.search(**odd) as search:
        search.candidates(Candidate("a"))
    assert search.receipt.search_id is not None
    assert len(world.sink.row.flags) == 1
    assert [hit.chunk_id for hit in world.sink.hits] == ["a"]


@pytest.mark.parametrize("method", ["declare", "degrade", "flag"])
def test_p3_what_a_retriever_says_may_raise(make_world: Callable[..., World], method: str):
    world = make_world(strict=False)
    odd: Any = Raises()
    with world.ledger.search(weights={"vector": 0.5}) as search:
        if method == "declare":
            search.declare(weights=odd, top_k=odd, index_version=odd, embedding_model=odd)
        elif method == "degrade":
            search.degrade(odd, vector_available=odd)
        else:
            search.flag(odd)
    row = world.sink.row
    assert "unreadable_text" in row.flags
    assert row.search_id == search.receipt.search_id
    if method == "declare":
        assert "weights_unreadable" in row.flags
        assert '"unknown":["all"]' in row.weights
        assert (row.top_k, row.index_version) == (None, None)


def test_p3_a_row_that_cannot_be_made_whole_is_made_of_what_is_ours(make_world: Callable[..., World], caplog):
    world = make_world(strict=False)
    fault = RaisesWhenNamed("Unnamed", (Exception,), {})(SECRET)
    with pytest.raises(Exception) as caught, world.ledger.search(surface="study") as search:
        raise fault
    assert caught.value is fault
    row = world.sink.row
    assert row.search_id == search.receipt.search_id
    assert (row.status, row.flags, row.error_type, row.hits) == ("error", ("incomplete",), None, ())
    assert world.faults == {"row": 1}
    assert world.narrator.log[-1][0] == "close", "the span is ended all the same"
    assert SECRET not in caplog.text


def test_p6_without_any_row_the_receipt_says_that_nothing_was_kept(make_world: Callable[..., World]):
    class Timeless(FrozenClock):
        def wall_ns(self) -> Any:
            return "noon"

    world = make_world(strict=False, clock=Timeless())
    with world.ledger.search() as search:
        pass
    assert (search.receipt.search_id, search.receipt.status, search.receipt.reason) == (
        None,
        "refused",
        "fault",
    )
    assert world.sink.records == []
    assert world.faults == {"row": 2, "span": 1}


@pytest.mark.parametrize("step", ["open", "attach"])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_p3_ctrl_c_while_a_search_is_opened_is_the_callers_and_leaves_nothing_open(
    make_world: Callable[..., World], step: str, kind: type[BaseException]
):
    world = make_world(strict=False)
    fault = kind()

    class Interrupted(MemoryNarration):
        def attach(self) -> None:
            raise fault

    class Interrupting(MemoryNarrator):
        def open(self, facts: Any) -> Any:
            if step == "open":
                raise fault
            return Interrupted([])

    world.ledger.recorder._narrator = Interrupting()
    with pytest.raises(kind) as caught, world.ledger.search():
        raise AssertionError("not reached")
    assert caught.value is fault
    assert not ragledger.current()
    assert world.faults == {}
    world.ledger.recorder._narrator = MemoryNarrator()
    with world.ledger.search():
        pass
    assert world.sink.row.depth == 0


def test_p3_our_faults_never_hide_the_exception_of_the_search(make_world: Callable[..., World]):
    everything = make_world(
        strict=False,
        sink=BrokenSink(),
        clock=BrokenClock("wall", "start", "stop"),
        narrator=BrokenTeller("close"),
    )
    fault = LookupError("mine")
    with pytest.raises(LookupError) as caught, everything.ledger.search():
        raise fault
    assert caught.value is fault
    assert set(everything.faults) == {"clock", "journal", "span"}


@pytest.mark.parametrize("trace", [TraceIds(), None])
def test_a_search_without_a_span_has_no_trace(make_world: Callable[..., World], trace: TraceIds | None):
    class Quiet(MemoryNarrator):
        def open(self, facts: Any) -> Any:
            return MemoryNarration([], trace) if trace is not None else None

    world = make_world(narrator=Quiet())
    with world.ledger.search() as search:
        pass
    assert isinstance(search, Observation)
    row = world.sink.row
    assert (row.trace_id, row.span_id, row.sampled, row.span_owner) == (None, None, None, None)


def test_p3_a_log_handler_that_raises_breaks_no_search(make_world: Callable[..., World]):
    class Broken(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            raise Boom

    world = make_world(strict=False, sink=BrokenSink())
    logger, handler = logging.getLogger("ragledger.guard"), Broken()
    logger.addHandler(handler)
    try:
        with world.ledger.search():
            pass
    finally:
        logger.removeHandler(handler)
    assert world.faults == {"journal": 1}
