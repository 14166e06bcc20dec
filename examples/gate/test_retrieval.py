"""The gate as a test of the application."""

from __future__ import annotations

from pathlib import Path

from search import retrieve

from ragledger.gate import Gate

HERE = Path(__file__).parent


def test_retrieval_is_not_below_the_floor() -> None:
    # What could not be run raises UnusableJudgments; EmbeddingUnavailable is the only one that may be a pytest.skip.
    verdict = Gate(HERE / "golden.json", HERE / "floor.toml").check(retrieve, embedding_model="none")
    assert verdict.passed, "\n".join(verdict.lines())
