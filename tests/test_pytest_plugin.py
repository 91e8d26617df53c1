"""The pytest plugin in another repository: a true theorem passes, a false one fails, an undecided one does neither."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from patience import HANGS, Watch

import dpfl_theory
from benchmarks.conform.planted import IMPLEMENTATIONS
from dpfl_theory import statements
from dpfl_theory.checks import runner
from dpfl_theory.errors import InputError
from dpfl_theory.kernels import select

ROOT = Path(__file__).parents[1]
EXAMPLE = Path(__file__).parents[1] / "examples" / "nesterov.py"
RIGHT, WRONG = "2 * s.L * s.D**2", "s.L * s.D**2 / 5"
"""A part of the example's formula, and a replacement that is false for quadratics, in rational arithmetic."""
# An installation that is older than the plugin does not load it by itself.
INSTALLED = any(e.value == "dpfl_theory.pytest_plugin" for e in metadata.entry_points(group="pytest11"))
LOADED = () if INSTALLED else ("-p", "dpfl_theory.pytest_plugin")
ALONE = ("-p", "no:xdist", "-p", "no:cacheprovider", "--strict-markers", "-Werror", "-ra", *LOADED)
EXACT = 'file="right.py", methods="exact"'
REFUTED = 'file="wrong.py", methods=["exact"]'


@pytest.fixture(scope="module", autouse=True)
def _imported() -> None:
    """Import the modules of the checks, because pytester forgets those that a run inside of it imported first."""
    pairs = runner.plan(statements.load_file(EXAMPLE), ["exact"])
    assert {e.verdict for e in runner.run_plan(pairs).evidence} == {"holds"}
    assert runner.check("das2022.theorem4b", methods=["algebra"])
    assert select("auto")


@dataclass(frozen=True)
class Repository:
    """A folder with a right and a wrong theorem, and runs of pytest in it."""

    pytester: pytest.Pytester

    def __call__(self, tests: str, *arguments: str) -> pytest.RunResult:
        self.pytester.makepyfile(test_own=f"import pytest\n\n{tests}")
        return self.pytester.runpytest_inprocess(*ALONE, *arguments)

    @property
    def path(self) -> Path:
        return self.pytester.path


@pytest.fixture
def run(pytester: pytest.Pytester) -> Repository:
    text = EXAMPLE.read_text()
    assert text.count(RIGHT) == 1
    (pytester.path / "right.py").write_text(text)
    (pytester.path / "wrong.py").write_text(text.replace(RIGHT, WRONG))
    return Repository(pytester)


def marked(arguments: str, body: str = "pass", name: str = "test_it") -> str:
    return f"@pytest.mark.theorem({arguments})\ndef {name}():\n    {body}\n\n"


def calling(arguments: str, body: str = "found", name: str = "test_it") -> str:
    return f"def {name}(check_theorem):\n    found = check_theorem({arguments})\n    {body}\n\n"


def properties(file: Path, name: str = "test_it") -> list[tuple[str, str]]:
    (case,) = (c for c in ElementTree.parse(file).iter("testcase") if c.get("name") == name)
    return [(str(p.get("name")), str(p.get("value"))) for p in case.iter("property")]


# the mark


def test_a_right_theorem_passes_and_then_the_body_counts(run: Repository) -> None:
    run(marked(EXACT)).assert_outcomes(passed=1)
    failed = run(marked(EXACT, "raise ValueError('the body ran')"))
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(["*ValueError: the body ran*"])


def test_a_wrong_theorem_fails_and_says_why_and_the_body_does_not_run(run: Repository) -> None:
    found = run(marked(REFUTED, "open('ran', 'w').close()"))
    found.assert_outcomes(failed=1)
    text = found.stdout.str()
    assert "outside.nesterov: verdict violated by only exact, recorded holds\n  Nesterov's gradient method\n" in text
    assert "check 'K = 1' by exact: violated, recorded holds" in text
    sides = re.search(r"left side ([\d.]+); right side ([\d.]+); ratio ([\d.]+)", text)
    assert sides is not None
    left, right, ratio = map(float, sides.groups())
    assert left > right
    assert ratio == pytest.approx(left / right, rel=1e-3)
    assert "reason: " in text
    assert re.search(r"reproduce: dpfl-theory check outside.nesterov --file \S*wrong.py --method exact --seed 0", text)
    assert "Traceback" not in text
    assert "pytest_plugin" not in text
    assert not (run.path / "ran").exists()


def test_of_a_class_several_marks_and_ids(run: Repository) -> None:
    tests = f"""
@pytest.mark.theorem("das2022.theorem4a", "das2022.theorem4b", methods="algebra")
class TestAll:
    def test_one(self):
        pass

    @pytest.mark.theorem({REFUTED})
    def test_other(self):
        pass
"""
    found = run(tests, "--junitxml=junit.xml")
    found.assert_outcomes(passed=1, failed=1)
    one = [v for n, v in properties(run.path / "junit.xml", "test_one") if n == "statement"]
    assert one == ["das2022.theorem4a", "das2022.theorem4b"]
    other = [v for n, v in properties(run.path / "junit.xml", "test_other") if n == "statement"]
    assert "outside.nesterov" in other


def test_what_is_checked_once_is_not_checked_again(run: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, real = [], runner.run_plan
    monkeypatch.setattr(runner, "run_plan", lambda *a, **k: calls.append(k["seed"]) or real(*a, **k))
    same = marked(EXACT, name="test_a") + marked(EXACT, name="test_b") + calling(EXACT + ", verdict='holds'")
    run(same + marked(EXACT + ", seed=5", name="test_c")).assert_outcomes(passed=4)
    assert calls == [0, 5]


def test_a_known_refutation_is_as_recorded_unless_the_test_needs_more(run: Repository) -> None:
    """By algebra this statement holds, which is not a reason to call it true."""
    run(marked("'das2022.theorem4b', methods='algebra'")).assert_outcomes(passed=1)
    found = run(marked("'das2022.theorem4b', methods='algebra', verdict='holds'"))
    found.assert_outcomes(failed=1)
    text = found.stdout.str()
    assert "das2022.theorem4b: verdict holds by only algebra, recorded violated; this test needs holds" in text
    assert re.search(r"erratum: [^;]*;\s+das2022\.theorem4b\.repaired\s+is\s+its\s+repair", text)
    run(marked("'das2022.theorem4b', methods='algebra', verdict='violated'")).assert_outcomes(skipped=1)


def test_a_warning_inside_a_check_is_told_and_decides_nothing(run: Repository) -> None:
    text = (run.path / "right.py").read_text()
    warned = text.replace("\nTABLE", "\nimport warnings\n\nwarnings.warn('old words')\n\nTABLE", 1)
    assert warned != text
    (run.path / "right.py").write_text(warned)
    found = run(marked(EXACT))
    found.assert_outcomes(passed=1, warnings=1)
    found.stdout.fnmatch_lines(["*UserWarning: old words*"])


def test_an_expected_failure_is_one(run: Repository) -> None:
    run("@pytest.mark.xfail(strict=True)\n" + marked(REFUTED)).assert_outcomes(xfailed=1)


# undecided theorems


@pytest.mark.exhaustive
@pytest.mark.parametrize("test", [marked, calling])
def test_what_is_undecided_neither_passes_nor_fails(run: Repository, test: Callable[[str], str]) -> None:
    found = run(test(EXACT + ", budget=1e-9"))
    found.assert_outcomes(skipped=1)
    found.stdout.fnmatch_lines(["*outside.nesterov is undecided: *the time budget was spent*"])
    run(test(EXACT), "--theorem-budget=.000001", "--theorem-undecided=fail").assert_outcomes(failed=1)
    (run.path / "pytest.ini").write_text("[pytest]\ntheorem_undecided = fail\ntheorem_budget = .000001\n")
    run(test(EXACT)).assert_outcomes(failed=1)
    run(test(EXACT), "--theorem-undecided=skip").assert_outcomes(skipped=1)
    run(test(EXACT), "--theorem-budget=60s").assert_outcomes(passed=1)


def test_an_undecided_theorem_does_not_hide_a_body_that_fails(run: Repository) -> None:
    found = run(marked(EXACT + ", budget=1e-9", "raise ValueError('the body ran')"))
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["*ValueError: the body ran*"])


def test_units_alone_are_no_verdict(run: Repository) -> None:
    """Algebra checks only the units of these two."""
    run(marked("file='wrong.py', methods='algebra', verdict='holds'")).assert_outcomes(skipped=1)
    found = run(marked("'zhang2021.claim2.2b', methods='algebra'"))
    found.assert_outcomes(skipped=1)
    found.stdout.fnmatch_lines(["*zhang2021.claim2.2b is undecided: only units were checked: *"])


# the fixture


def test_the_fixture_gives_evidence(run: Repository) -> None:
    body = "assert {e.method for e in found} == {'exact'} and max(e.ratio for e in found) < 0.5"
    run(calling(EXACT, body)).assert_outcomes(passed=1)
    failed = run(calling(REFUTED, "open('ran', 'w').close()"))
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(["outside.nesterov: verdict violated by only exact, recorded holds"])
    assert not (run.path / "ran").exists()


def test_a_statement_made_in_the_test(run: Repository) -> None:
    tests = """
def test_it(check_theorem):
    from dataclasses import replace
    from dpfl_theory import statements

    (own,) = statements.load_file("right.py")
    found = check_theorem(replace(own, id="mine.other"), methods="exact")
    assert {e.statement for e in found} == {"mine.other"}
"""
    run(tests).assert_outcomes(passed=1)


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("'das2022.theorm4a'", "unknown statement 'das2022.theorm4a': did you mean 'das2022.theorem4a'?"),
        ("'das2022.lemma8', method='algebra'", "unknown argument of a theorem 'method': did you mean 'methods'?"),
        ("'das2022.lemma8', methods='algebr'", "unknown method 'algebr': did you mean 'algebra'?"),
        ("'das2022.lemma8', methods='exact'", "no check of das2022.lemma8 uses the method exact: it has *"),
        ("'das2022.lemma8', verdict='true'", "unknown verdict of a statement 'true': choose from *"),
        ("'das2022.lemma8', budget='soon'", "the budget 'soon' is not a positive time: *"),
        ("'das2022.lemma8', alpha=2", "*alpha* is 2: the false-alarm probability must lie in (0, 1)"),
        ("", "no theorem is named: give the id of a statement, or file='my.py' *"),
        ("7", "7 is not a statement: give its id, such as 'das2022.theorem4a', or a Statement object"),
        ("file='none.py'", "there is no file '*none.py': give the path of one"),
        ("'outside.nestrov', file='right.py'", "unknown statement of '*right.py' 'outside.nestrov': did you mean *"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(run: Repository, arguments: str, message: str) -> None:
    found = run(marked(arguments, name="test_a") + calling(arguments, name="test_b"))
    found.assert_outcomes(failed=2)
    lines = found.stdout.str().splitlines()
    at = lines.index(next(line for line in lines if line.startswith("__") and "test_b" in line))
    found.stdout.fnmatch_lines([message, "__*test_b*__", message])
    assert lines[at + 2].startswith(("=", "_")), "more than one line"


# conforms

ROUND = """
def round_(w, state, clients, cohort, rng):
    return w, state

def test_it(conforms):
    found = conforms(round_{arguments})
    assert found.verdict == "conforms"
    open("ran", "w").close()
"""


class Compared:
    """A report as ``dpfl_theory.conform`` returns it, and the arguments of the call."""

    def __init__(self, verdict: str, *faults: str) -> None:
        self.verdict, self.asked = verdict, dict[str, Any]()
        self.faults = [SimpleNamespace(name=name, sentence=f"it is the {name}") for name in faults]

    def __call__(self, function: Any, as_: str, alpha: float = 1e-9, seed: int = 3, **options: Any) -> Compared:
        self.asked = {"name": function.__name__, "as": as_, "alpha": alpha, "seed": seed, **options}
        return self

    def __str__(self) -> str:
        return "\n".join([f"report: {self.verdict}", *(f.sentence for f in self.faults)])


def test_a_round_that_conforms(run: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    report = Compared("conforms")
    monkeypatch.setattr(dpfl_theory, "conform", report, raising=False)
    run(ROUND.format(arguments=", clip=2.0"), "--junitxml=j.xml", "--theorem-seed=7").assert_outcomes(passed=1)
    assert report.asked == {
        "name": "round_", "as": "dp-fedavg", "alpha": 1e-9, "seed": 7, "clip": 2.0, "limit": 600.0
    }  # fmt: skip
    found = properties(run.path / "j.xml")
    assert found == [("function", "round_"), ("as", "dp-fedavg"), ("verdict", "conforms")]
    run(ROUND.format(arguments=", as_='scaffold', seed=1"), "--theorem-alpha=1e-3").assert_outcomes(passed=1)
    assert report.asked == {"name": "round_", "as": "scaffold", "alpha": 1e-3, "seed": 1, "limit": 600.0}


def test_a_round_that_differs_fails_with_its_faults(run: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dpfl_theory, "conform", Compared("differs", "clip-of-mean", "late-noise"), raising=False)
    found = run(ROUND.format(arguments=""), "--junitxml=j.xml")
    found.assert_outcomes(failed=1)
    lines = [
        "round_ does not conform to dp-fedavg",
        "report: differs",
        "it is the clip-of-mean",
        "it is the late-noise",
    ]
    found.stdout.fnmatch_lines(lines, consecutive=True)
    assert ("faults", "clip-of-mean, late-noise") in properties(run.path / "j.xml")
    assert not (run.path / "ran").exists()


def test_a_round_of_which_nothing_is_known(run: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dpfl_theory, "conform", Compared("undecided"), raising=False)
    run(ROUND.format(arguments="")).assert_outcomes(skipped=1)
    run(ROUND.format(arguments=""), "--theorem-undecided=fail").assert_outcomes(failed=1)


def test_a_comparison_that_cannot_be_made_is_one_sentence(run: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise InputError("round_ takes two arguments: it needs five")

    monkeypatch.setattr(dpfl_theory, "conform", refuse, raising=False)
    found = run(ROUND.format(arguments=""))
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["round_ takes two arguments: it needs five"])
    assert "Traceback" not in found.stdout.str()


@pytest.mark.skipif(importlib.util.find_spec("dpfl_theory.conform") is None, reason="there is no dpfl_theory.conform")
def test_a_round_that_does_nothing_differs_from_the_reference(run: Repository) -> None:
    dpfl_theory.conform  # noqa: B018  stays imported
    found = run(ROUND.format(arguments=""))
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["round_ does not conform to dp-fedavg"])


ENDLESS = """
def round_(w, state, clients, cohort, rng):
    while True:
        pass

def test_it(conforms):
    conforms(round_{arguments})
"""


def test_a_round_that_never_ends_is_ended_and_undecided(run: Repository) -> None:
    dpfl_theory.conform  # noqa: B018  stays imported
    with Watch() as watch:
        found = run(ENDLESS.format(arguments=""), "--theorem-budget=1s")
        found.assert_outcomes(skipped=1)
        found.stdout.fnmatch_lines(["SKIPPED * dp-fedavg: the test of round_ took longer than 1 s and was ended*"])
        run(ENDLESS.format(arguments=", limit=0.3"), "--theorem-undecided=fail").assert_outcomes(failed=1)
    assert watch.seconds < 20.0


def test_the_options_reach_the_comparison_itself(run: Repository) -> None:
    """The package itself is called, and its signature does not show the arguments."""
    right = IMPLEMENTATIONS / "scaffold.py"
    test = f"""
from dpfl_theory.conform.user_function import function_named

def test_it(conforms):
    found = conforms(function_named("{right}:round"), as_="scaffold", runs=0)
    assert (found.seed, found.alpha) == (7, 1e-3)
"""
    run(test, "--theorem-seed=7", "--theorem-alpha=1e-3").assert_outcomes(passed=1)


@pytest.mark.parametrize(("where", "passed"), [("README.md", 2), ("docs/guides/pytest.md", 4)])
def test_what_the_documentation_shows(
    where: str, passed: int, run: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / where).read_text(encoding="utf-8"), re.DOTALL)
    (shown,) = (block for block in blocks if "pytest" in block)
    (run.path / "right.py").rename(run.path / "theory.py")
    step = "def step_size(smoothness):\n    return 1 / smoothness\n\n"
    (run.path / "trainer.py").write_text(f"{step}def our_round(w, state, clients, cohort, rng):\n    ...\n")
    report = Compared("conforms")
    monkeypatch.setattr(dpfl_theory, "conform", report, raising=False)
    run(shown).assert_outcomes(passed=passed)
    assert (report.asked["name"], report.asked["as"]) == ("our_round", "dp-fedavg")


# options, JUnit, evidence


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--theorem-alpha=7", "--theorem-alpha: the false-alarm probability '7' does not lie in (0, 1): *like 1e-6"),
        ("--theorem-seed=-1", "--theorem-seed: the seed '-1' is not a whole number *"),
        ("-otheorem_budget=x", "theorem_budget of the ini file: the budget 'x' is not a positive time*"),
        ("--theorem-undecided=xfail", "--theorem-undecided: unknown outcome of an undecided theorem 'xfail'*"),
    ],
)
def test_options_are_looked_at_first(run: Repository, argument: str, message: str) -> None:
    found = run(marked(EXACT), argument)
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines([f"ERROR: {message}"])


def test_the_properties_in_junit(run: Repository) -> None:
    (run.path / "pytest.ini").write_text("[pytest]\ntheorem_alpha = 1e-3\n")
    run(marked(REFUTED) + marked(EXACT + ", seed=3", name="test_b"), "--theorem-seed=7", "--junitxml=j.xml")
    found = properties(run.path / "j.xml")
    assert [name for name, _ in found] == ["statement", "verdict", "recorded", "ratio", "alpha", "seed", "versions"]
    values = dict(found)
    assert (values["statement"], values["verdict"], values["recorded"]) == ("outside.nesterov", "violated", "holds")
    assert float(values["ratio"]) > 1
    assert (values["alpha"], values["seed"]) == ("0.001", "7")
    assert f"numpy {metadata.version('numpy')}" in values["versions"]
    assert dict(properties(run.path / "j.xml", "test_b"))["seed"] == "3"


def test_the_evidence_is_left_for_the_report(run: Repository) -> None:
    tests = (
        marked(REFUTED) + marked(EXACT, name="test_b") + marked("'das2022.lemma8', methods='algebra'", name="test_c")
    )
    run(tests, "--theorem-output=out")
    files = sorted((run.path / "out" / "evidence").iterdir())
    assert len(files) == 3
    documents = [json.loads(file.read_text()) for file in files]
    assert {d["schema"] for d in documents} == {"dpfl-theory/1"}
    verdicts = {(e["statement"], e["verdict"]) for d in documents for e in d["evidence"] if e["method"] == "exact"}
    assert verdicts >= {("outside.nesterov", "violated")}
    own = [about for d in documents for about in d.get("own", {}).values()]
    assert [about["file"] for about in own] in (["right.py", "wrong.py"], ["wrong.py", "right.py"])
    assert all(about["terms"] for about in own)


def test_a_store_serves_the_next_run(run: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    reused, real = [], runner.run_plan

    def watched(*arguments: Any, **options: Any) -> runner.Report:
        made = real(*arguments, **options)
        reused.append(made.reused)
        return made

    monkeypatch.setattr(runner, "run_plan", watched)
    for _ in range(2):
        run(marked(EXACT), "--theorem-store=kept.sqlite").assert_outcomes(passed=1)
    assert reused[0] == 0
    assert reused[1] > 0


@pytest.mark.slow
def test_under_xdist(run: Repository) -> None:
    pytest.importorskip("xdist")
    run.pytester.makepyfile(test_own="import pytest\n\n" + marked(REFUTED) + marked(EXACT, name="test_b"))
    arguments = ("-n1", "--junitxml=j.xml", "--theorem-seed=7", "--strict-markers", "-Werror", *LOADED)
    run.pytester.runpytest_inprocess(*arguments).assert_outcomes(passed=1, failed=1)
    assert dict(properties(run.path / "j.xml"))["verdict"] == "violated"
    assert dict(properties(run.path / "j.xml", "test_b"))["seed"] == "7"


def test_unused_it_imports_nothing_heavy(tmp_path: Path) -> None:
    heavy = {"numpy", "sympy", "typer", "dpfl_theory.statements", "dpfl_theory.checks"}
    (tmp_path / "test_nothing.py").write_text(
        f"def test_it():\n    import sys\n    assert not {heavy} & set(sys.modules)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *LOADED]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
