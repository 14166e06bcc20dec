"""Pass, fail, or could not be run: three different answers. The floor is a person's, and no code writes it."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from golden.world import QUICK
from hypothesis import given
from hypothesis import strategies as st
from rules.source import ROOT, python_files, tree_of

from ragledger.analyses.floor_file import load_floors
from ragledger.analyses.golden_files import load
from ragledger.errors import UnusableJudgments
from ragledger.gate import Gate
from ragledger.measures.floors import Check, Floor, Floors, check, floor_for

EXAMPLE = ROOT / "examples/gate"
TOML = pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 reads no TOML by itself")

APP = """
import ragledger

def good(query):
    return ["a", "c"]

def named(query):
    ragledger.current().declare(embedding_model="model-1")
    return good(query)

def poor(query):
    return ["x", "c"]

def down(query):
    ragledger.current().degrade("embedding_unavailable", vector_available=False)
    return good(query)

class Client:
    def embed_query(self, text):
        raise TimeoutError("https://provider/secret")

def unembedded(query):
    return Client().embed_query(query)

def broken(query):
    raise KeyError(query)

def runtime(query):
    raise RuntimeError(query)

def leaving(query):
    raise SystemExit(0)

def misspelt(query):
    return Misspelt().embed_query(query)

class Misspelt:
    def embed_query(self, text):
        return self.clent.embed(text)

def once(query):
    return unembedded(query) if query == "refund?" else broken(query)

def wrapped(query):
    down(query)
    raise RuntimeError(query)

def no_database(query):
    raise ConnectionRefusedError(query)

def both(query):
    return unembedded(query) if query == "refund?" else no_database(query)

def no_ids(query):
    return [None]
"""


def floor(**given: Any) -> dict[str, Any]:
    return {"embedding_model": "model-1", "cases": 2, "useful_in_first": {"1": 1, "3": 2}, **given}


@pytest.fixture
def gate(cli: Callable[..., Any], golden_file: Path, tmp_path: Path) -> Callable[..., Any]:
    """Runs `ragledger gate` with a function of APP against these floors."""

    def ran(function: str, *floors: dict[str, Any], options: tuple[str, ...] = ()) -> Any:
        (tmp_path / "golden_gate_app.py").write_text(APP, "utf-8")
        (tmp_path / "floor.json").write_text(json.dumps({"floor": list(floors or (floor(),))}), "utf-8")
        named = f"golden_gate_app:{function}"
        return cli("gate", golden_file, "--retriever", named, "--floor", "floor.json", *options)

    return ran


MODEL = ("--embedding-model", "model-1")


def test_it_passes_with_counts(gate: Callable[..., Any]) -> None:
    ran = gate("named")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "pass: 1 of 2 questions have something useful in the first 1 (floor 1)",
        "pass: 2 of 2 questions have something useful in the first 3 (floor 2)",
    ]


def test_below_the_floor_it_fails_with_the_ids_of_the_questions_and_no_text(
    gate: Callable[..., Any],
) -> None:
    ran = gate("poor", options=MODEL)
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.splitlines() == [
        "FAIL: 0 of 2 questions have something useful in the first 1 (floor 1)",
        "  without: refund, postage",
        "FAIL: 1 of 2 questions have something useful in the first 3 (floor 2)",
        "  without: refund",
    ]
    verdict = json.loads(gate("poor", options=(*MODEL, "--json")).out)
    assert (verdict["passed"], verdict["checks"][1]["without"]) == (False, ["refund"])
    assert "refund?" not in json.dumps(verdict)


@pytest.mark.parametrize(
    ("function", "options", "floors", "why"),
    [
        ("down", MODEL, (), "the embedding provider was unavailable for 3 of 3 questions (refund, postage, nothing)"),
        ("unembedded", MODEL, (), "the embedding provider was unavailable for 3 of 3"),
        ("wrapped", MODEL, (), "the embedding provider was unavailable for 3 of 3 questions (RuntimeError; refund"),
        ("no_database", MODEL, (), "what the retriever runs on failed for 3 of 3 questions (ConnectionRefusedError; refund"),
        ("good", (), (), "the embedding model is not known"),
        ("named", ("--embedding-model", "model-2"), (), "ran with embedding model model-1, not model-2"),
        ("named", (), (floor(embedding_model="model-2"),), "no floor for model-1 with 2 cases; the file has: model-2 with 2 cases"),
        ("named", (), (floor(cases=17), floor(cases=3)), "the file has: model-1 with 17 cases, model-1 with 3 cases"),
        ("named", (), (floor(), floor()), "2 floors for model-1 with 2 cases"),
        ("named", (), (floor(golden="sha256:other"),), "written for another golden set than sha256:"),
        ("named", (), (floor(useful_in_first={"5": 3}),), "asks for more than its 2 cases"),
        ("named", (), (floor(useful_in_first={}),), "at least one count"),
        ("named", (), (floor(useful_in_first={"0": 1}),), "is no floor file"),
        ("named", (), (floor(share=0.5),), "is no floor file"),
        ("missing", (), (), "AttributeError"),
    ],
)  # fmt: skip
def test_what_could_not_be_run_says_why(
    gate: Callable[..., Any], function: str, options: tuple[str, ...], floors: tuple[Any, ...], why: str
) -> None:
    ran = gate(function, *floors, options=options)
    assert (ran.code, ran.out) == (2, "")
    assert why in ran.err
    assert "refund?" not in ran.err
    assert "secret" not in ran.err


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("broken", "3 of 3 questions (KeyError; refund, postage, nothing)"),
        ("runtime", "3 of 3 questions (RuntimeError; refund, postage, nothing)"),
        ("leaving", "3 of 3 questions (SystemExit; refund, postage, nothing)"),
        ("misspelt", "3 of 3 questions (AttributeError; refund, postage, nothing)"),
        ("once", "2 of 3 questions (KeyError; postage, nothing)"),
    ],
)
def test_a_retriever_that_raises_does_not_pass(gate: Callable[..., Any], function: str, says: str) -> None:
    ran = gate(function)
    assert (ran.code, ran.out, ran.err) == (1, f"FAIL: the retriever failed for {says}\n", "")
    verdict = json.loads(gate(function, options=("--json",)).out)
    assert (verdict["passed"], len(verdict["failed"]), verdict["checks"]) == (False, int(says[0]), [])
    assert "refund?" not in json.dumps(verdict)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("down", "embedding_unavailable"),
        ("unembedded", "embedding_unavailable"),
        ("wrapped", "embedding_unavailable"),
        ("no_database", "infra_unavailable"),
        ("both", "infra_unavailable"),
        ("no_ids", "unusable"),
        ("missing", "unusable"),
    ],
)
def test_for_programs_what_could_not_be_run_has_a_code(
    gate: Callable[..., Any], function: str, reason: str
) -> None:
    ran = gate(function, options=(*MODEL, "--json"))
    assert (ran.code, json.loads(ran.out)) == (2, {"passed": None, "could_not_run": reason})


def test_a_module_that_exits_and_files_that_are_missing_are_unusable(
    cli: Callable[..., Any], golden_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "golden_gate_exits.py").write_text("raise SystemExit(0)\n", "utf-8")
    (tmp_path / "floor.json").write_text(json.dumps({"floor": [floor()]}), "utf-8")
    for golden, retriever, floors in (
        (golden_file, "golden_gate_exits:x", "floor.json"),
        (golden_file, "golden_gate_nowhere:x", "floor.json"),
        ("none.json", "json:loads", "floor.json"),
        (golden_file, "json:loads", "none.json"),
    ):
        ran = cli("gate", golden, "--retriever", retriever, "--floor", floors, "--json")
        assert (ran.code, json.loads(ran.out)["could_not_run"]) == (2, "unusable")
        assert ran.err.startswith("ragledger: ")


def test_a_golden_set_that_was_changed_is_no_failure_either(
    gate: Callable[..., Any], golden_file: Path
) -> None:
    golden_file.write_text(golden_file.read_text("utf-8").replace("refund?", "refunds?"), "utf-8")
    ran = gate("named")
    assert (ran.code, "was changed after it was frozen" in ran.err) == (2, True)


def test_a_floor_may_be_for_one_golden_set(gate: Callable[..., Any], golden_file: Path) -> None:
    _, digest = load(golden_file)
    assert gate("named", floor(golden=digest)).code == 0
    assert gate("named", floor(golden=digest), floor(golden="sha256:other")).code == 0


def test_the_floor_is_left_as_it_was(gate: Callable[..., Any], tmp_path: Path) -> None:
    gate("named")
    before = (tmp_path / "floor.json").stat().st_mtime_ns
    written = json.dumps({"floor": [floor()]})
    assert (tmp_path / "floor.json").read_text("utf-8") == written
    assert (tmp_path / "floor.json").stat().st_mtime_ns == before


def test_no_code_writes_a_floor() -> None:
    writers = {"write_text", "write_bytes", "open", "encode", "dump"}
    for path in python_files("src"):
        if path.name in {"floor_file.py", "floors.py", "gate.py"}:
            called = {
                node.func.attr
                for node in ast.walk(tree_of(path))
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            }
            assert called & writers <= ({"encode"} if path.parent.name == "cli" else set()), path


# --- the rules, alone --------------------------------------------------------------------------------------

ranks = st.dictionaries(st.text(min_size=1), st.none() | st.integers(1, 12), min_size=1, max_size=8)


@QUICK
@given(ranks, st.integers(1, 10), st.integers(0, 8))
def test_a_count_is_of_all_cases_and_those_without_are_named(
    first: dict[str, int | None], k: int, least: int
) -> None:
    [found] = check(
        Floor(embedding_model="m", cases=max(len(first), least, 1), useful_in_first={k: least}), first
    )
    assert found.n + len(found.without) == found.of == len(first)
    assert all(first[case] is None or first[case] > k for case in found.without)
    assert found.passed == (found.n >= least)


@QUICK
@given(ranks, st.integers(1, 10))
def test_one_more_answered_question_never_turns_a_pass_into_a_failure(
    first: dict[str, int | None], k: int
) -> None:
    wanted = Floor(embedding_model="m", cases=8, useful_in_first={k: 3})
    for case in first:
        [before], [after] = check(wanted, first), check(wanted, first | {case: 1})
        assert after.passed or not before.passed


def test_a_check_reads_as_a_count() -> None:
    found = Check(k=5, n=15, of=17, floor=15, passed=True, without=("q1", "q2"))
    assert str(found) == "15 of 17 questions have something useful in the first 5 (floor 15)"


def test_no_floors_at_all_is_said() -> None:
    with pytest.raises(UnusableJudgments, match="no floor at all"):
        floor_for(Floors(floor=()), embedding_model="m", cases=1, digest="sha256:x")


@pytest.mark.parametrize(("name", "content"), [("f.toml", "floor = ["), ("f.json", "{"), ("f.toml", "x = 1")])
@TOML
def test_a_file_that_is_no_floor_file_is_refused(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(UnusableJudgments, match="is no floor file"):
        load_floors(tmp_path / name)
    with pytest.raises(UnusableJudgments, match="FileNotFoundError"):
        load_floors(tmp_path / "none.toml")


# --- the example -------------------------------------------------------------------------------------------


@pytest.fixture
def example(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "gate"))


@TOML
def test_the_golden_set_of_the_example_is_made_of_its_file(cli: Callable[..., Any], example: Path) -> None:
    ran = cli("golden", "build", "again.json", "--from", example / "judged.csv", "--name", "shop", "--json")
    assert json.loads(ran.out)["content_hash"] == load(EXAMPLE / "golden.json")[1]
    assert len(Gate(EXAMPLE / "golden.json", EXAMPLE / "floor.toml").golden.questions) == 5


@TOML
@pytest.mark.processes
@pytest.mark.timeout(400)
def test_the_pytest_example_passes_and_fails_below_the_floor(example: Path) -> None:
    assert _pytest(example).returncode == 0
    floor_file = example / "floor.toml"
    floor_file.write_text(floor_file.read_text("utf-8").replace("5 = 4", "5 = 5"), "utf-8")
    below = _pytest(example)
    assert (below.returncode, "without: q5" in below.stdout) == (1, True)


def _pytest(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", ".", "."]  # fmt: skip
    quick = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=folder, env=quick, capture_output=True, text=True, check=False)


def _step() -> str:
    workflow = yaml.safe_load((EXAMPLE / "github-actions.yml").read_text("utf-8"))
    assert set(workflow) == {"name", True, "jobs"}  # YAML 1.1 reads `on` as true, and GitHub does not
    [job] = workflow["jobs"].values()
    assert job["runs-on"]
    assert all(("uses" in step) != ("run" in step) for step in job["steps"])
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"]) for step in job["steps"] if "uses" in step)
    [script] = [step["run"] for step in job["steps"] if step.get("name") == "gate"]
    return str(script)


def test_the_page_shows_the_example_as_it_is() -> None:
    page = (ROOT / "docs/golden.md").read_text("utf-8")
    for name in ("floor.toml", "github-actions.yml", "test_retrieval.py"):
        shown = (EXAMPLE / name).read_text("utf-8").partition("annotations\n")
        assert (shown[2] or shown[0]).strip() in page, name


def test_the_workflow_is_a_workflow() -> None:
    assert "ragledger gate golden.json" in _step()


@TOML
@pytest.mark.processes
@pytest.mark.timeout(400)
def test_the_step_of_the_workflow_forgives_the_provider_alone(example: Path) -> None:
    def run() -> tuple[int, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", _step()],
            cwd=example, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout

    assert run()[0] == 0
    floor_file = example / "floor.toml"
    kept = floor_file.read_text("utf-8")
    floor_file.write_text(kept.replace("5 = 4", "5 = 5"), "utf-8")
    code, said = run()
    assert (code, '"q5"' in said) == (1, True)
    floor_file.write_text(kept.replace("cases = 5", "cases = 6"), "utf-8")
    code, said = run()
    assert (code, '"could_not_run":"unusable"' in said, "::warning::" in said) == (2, True, False)
    floor_file.write_text(kept, "utf-8")
    search = example / "search.py"
    for raised, expected in {
        "raise RuntimeError(query)": 1,
        "raise SystemExit(0)": 1,
        "class E(Exception): __module__ = 'openai'\n    raise E(query)": 0,
    }.items():
        search.write_text(f"def retrieve(query):\n    {raised}\n", "utf-8")
        code, said = run()
        assert (code, "::warning::the retrieval gate could not be run" in said) == (expected, expected == 0)
    for module in ("raise SystemExit(0)\n", "import no_such_module\n", None):
        search.write_text(module, "utf-8") if module else search.unlink()
        assert run()[0] == 2
    (example / "golden.json").unlink()
    assert run()[0] == 2
