"""The command line as users see it: its output on each stream, its exit codes, and the files that it writes."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from patience import HANGS

import dpfl_theory
from dpfl_theory.checks import runner
from dpfl_theory.cli import main
from dpfl_theory.errors import InputError
from dpfl_theory.kernels.cuda import unavailable_reason
from dpfl_theory.runtime.atomic_files import write
from dpfl_theory.runtime.console import Progress, parse_budget

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "my_statements.py"
ID = "das2022.theorem4a"

Output = pytest.CaptureFixture[str]


def refused(capsys: Output, *arguments: str, code: int = 2) -> str:
    """Run a command that must fail with one sentence on stderr and nothing on stdout; return the sentence."""
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("\n")
    assert err.count("\n") == 1, err
    assert "Traceback" not in err
    return err


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command in a separate process."""
    command = [sys.executable, "-m", "dpfl_theory", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANGS, check=False, **options)  # type: ignore[call-overload,no-any-return]


# list and show


def test_list_as_text_is_an_aligned_table(capsys: Output) -> None:
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["id", "kind", "expected", "power", "methods", "note", "title"]
    column = lines[0].index("kind")
    row = next(line for line in lines if line.startswith(f"  {ID} "))
    assert row[column:].startswith("theorem ")
    assert row[column - 2 : column] == "  "


def test_list_as_json_has_the_promised_fields(capsys: Output) -> None:
    assert main(["list", "--paper", "das2022", "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    promised = {"id", "paper", "kind", "title", "methods", "expected", "erratum", "power"}
    promised |= {"provenance", "reading", "reading_of", "remark", "grade", "cause"}
    assert all(promised <= set(s) for s in listed)
    assert all(s["paper"] == "das2022" for s in listed)
    by_id = {s["id"]: s for s in listed}
    assert by_id[ID]["erratum"] is None
    assert by_id[ID]["methods"] == ["algebra", "monte-carlo"]
    assert by_id["das2022.theorem4b"]["erratum"]["repaired"] == "das2022.theorem4b.repaired"


def test_list_imports_nothing_heavy() -> None:
    heavy = ["numpy", "scipy", "numba", "sympy", "matplotlib", "cvxpy", "PEPit", "sklearn", "rich", "jinja2", "cupy"]
    code = (
        "import sys; from dpfl_theory.cli import main; code = main(['list']);"
        f"print(code, [m for m in {heavy} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=HANGS)
    assert done.stderr.strip() == "0 []"
    assert ID in done.stdout


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys, dpfl_theory; print(sorted(m for m in sys.modules if m.startswith(('dpfl', 'numpy', 'typer'))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=HANGS)
    packages = ["dpfl_theory", "dpfl_theory.conform", "dpfl_theory.recommend", "dpfl_theory.sweep"]
    assert done.stdout.strip() == str(packages)  # the last three are almost empty


def test_show_tells_formula_letters_and_hypotheses(capsys: Output) -> None:
    assert main(["show", "das2022.theorem4b"]) == 0
    shown = capsys.readouterr().out
    for part in (
        "B2 (normalisation)",
        "E*G**2*rho/(2*L*alpha)",
        "[F X^-2]",
        "E <= alpha/(2 rho)",
        "eta = rho/(2*L*alpha)",
    ):
        assert part in shown
    assert "das2022.theorem4b.repaired" in shown
    assert max(len(line) for line in shown.splitlines()) <= 110


def test_show_as_json(capsys: Output) -> None:
    assert main(["show", ID, "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["id"] == ID
    assert set(shown["rhs"]) == {"A (initialisation)", "B1 (heterogeneity)"}
    assert {
        "name": "L",
        "meaning": "smoothness constant of every f_i",
        "unit": "F X^-2",
        "domain": "positive",
    } in shown["symbols"]
    assert all(check["method"] == "monte-carlo" or check["method"] == "algebra" for check in shown["checks"])


def test_unknown_names_suggest_the_nearest(capsys: Output) -> None:
    assert "did you mean 'das2022.theorem4b'?" in refused(capsys, "show", "das2022.theorm4b")
    assert "did you mean 'das2022'?" in refused(capsys, "list", "--paper", "das2023")
    assert "did you mean 'algebra'?" in refused(capsys, "check", ID, "--method", "algebr")
    assert "did you mean 'json'?" in refused(capsys, "list", "--format", "jsn")
    assert "did you mean 'das2022_figure2'?" in refused(capsys, "validate", "das2022_figur2")
    assert "'list'" in refused(capsys, "lst")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["check", "--budget", "soon"], "'soon'"),
        (["check", "--budget", "0"], "'0'"),
        (["check", "--budget", "-3s"], "-3s"),
        (["check", "--alpha", "0"], "'0'"),
        (["check", "--alpha", "nan"], "'nan'"),
        (["check", "--seed", "1.5"], "'1.5'"),
        (["check", "--seed", str(2**64)], "2^64 - 1"),
        (["check", "--device", "gpu"], "'gpu'"),
        (["check", "--file", "nowhere.py"], "'nowhere.py'"),
        (["check", "--output", "/dev/null/file.json"], "'/dev/null'"),
        (["check", ID, "--method", "privacy"], "privacy"),
        (["check", ID, "--no-such-option"], "--no-such-option"),
        (["show"], "ID"),
        (["report", "--output", "nowhere"], "no evidence"),
        (["validate", "--seed", "x"], "'x'"),
    ],
)
def test_bad_input_gets_one_sentence(capsys: Output, arguments: list[str], part: str) -> None:
    assert part in refused(capsys, *arguments)


def test_help_lists_the_commands(capsys: Output) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    for command in ("list", "show", "check", "validate", "report", "doctor"):
        assert command in out


def test_version(capsys: Output) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"dpfl-theory {dpfl_theory.__version__}\n"


# check


def test_check_as_text(capsys: Output) -> None:
    assert main(["check", ID, "--method", "algebra"]) == 0
    out, _ = capsys.readouterr()
    assert re.search(rf"^holds +- +{re.escape(ID)} +algebra +units +\d", out, re.MULTILINE)
    assert re.search(rf"^{re.escape(ID)} +holds +holds +algebra$", out, re.MULTILINE)
    assert "1 statement (1 holds), 1 as expected" in out


def test_check_as_json_is_the_document(capsys: Output) -> None:
    assert main(["check", ID, "das2022.theorem6", "--method", "algebra", "--format", "json", "--alpha", "1e-3"]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert err == ""
    assert document["schema"] == "dpfl-theory/1"
    assert set(document["summary"]) == {"statements", "counts", "alpha", "seconds"}
    assert list(document["summary"]["statements"]) == [ID, "das2022.theorem6"]
    assert document["summary"]["alpha"] == 1e-3


def test_own_theorem_holds(capsys: Output) -> None:
    assert main(["check", "--file", str(EXAMPLE), "--format", "json", "--device", "cpu"]) == 0
    document = json.loads(capsys.readouterr().out)
    verdicts = {e["check"]: e["verdict"] for e in document["evidence"]}
    assert verdicts == {"units": "holds", "the start dominates": "holds", "the noise dominates": "holds"}
    noisy = document["evidence"][-1]
    assert set(noisy["terms"]) == {"initialisation", "noise"}
    assert noisy["terms"]["noise"] > 5 * noisy["terms"]["initialisation"]
    assert 0.4 < noisy["ratio"] < 0.7, "eta d sigma^2 is off by a factor 2 on quadratics, and not by more"


def test_own_theorem_without_its_dimension_is_refuted(capsys: Output, tmp_path: Path) -> None:
    """The example's check can fail: a bound that omits the factor d is refuted, in every format."""
    wrong = tmp_path / "wrong.py"
    text = EXAMPLE.read_text()
    assert text.count("s.eta * s.d * s.sigma") == 1
    wrong.write_text(text.replace("s.eta * s.d * s.sigma", "s.eta * s.sigma"))
    output = tmp_path / "junit.xml"
    arguments = ["check", "--file", str(wrong), "--format", "junit", "--device", "cpu", "--output", str(output)]
    assert main(arguments) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "1 violated" in err
    suite = ElementTree.parse(output).getroot()[0]
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["skipped"]) == ("4", "2", "0")
    failed, verdict = [case for case in suite if case.find("failure") is not None]
    assert failed.attrib["name"] == "monte-carlo: the noise dominates"
    assert verdict.attrib["name"] == "verdict"
    assert failed.attrib["classname"] == verdict.attrib["classname"] == "mine.noisy-gradient-descent"


def test_text_marks_what_differs_and_says_why(capsys: Output, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(EXAMPLE.read_text().replace("s.d * s.sigma**2", "s.d * s.sigma"))
    assert main(["check", "--file", str(wrong), "--method", "algebra"]) == 1
    out, _ = capsys.readouterr()
    assert out.count("<- not as expected") == 2
    assert "the terms differ in unit" in out


def test_ids_may_name_statements_of_the_file(capsys: Output) -> None:
    own = "mine.noisy-gradient-descent"
    arguments = ["check", own, ID, "--file", str(EXAMPLE), "--method", "algebra", "--format", "json"]
    assert main(arguments) == 3  # only the units of the user's statement were checked
    assert set(json.loads(capsys.readouterr().out)["summary"]["statements"]) == {own, ID}
    assert f"did you mean {own!r}?" in refused(capsys, "check", "mine.noisy-gradient", "--file", str(EXAMPLE))


def test_a_spent_budget_is_undecided(capsys: Output) -> None:
    assert main(["check", ID, "--method", "monte-carlo", "--budget", "1e-3"]) == 2  # an invalid format of a time
    capsys.readouterr()
    assert (
        main(["check", ID, "--method", "monte-carlo", "--budget", ".000001", "--format", "json", "--device", "cpu"])
        == 3
    )
    document = json.loads(capsys.readouterr().out)
    assert {e["verdict"] for e in document["evidence"]} == {"inconclusive"}
    assert "the time budget was spent" in document["evidence"][-1]["reason"]


def test_junit_skips_what_is_undecided(capsys: Output) -> None:
    arguments = ["check", ID, "--method", "monte-carlo", "--budget", "0.000001", "--format", "junit", "--device", "cpu"]
    assert main(arguments) == 3
    suite = ElementTree.fromstring(capsys.readouterr().out)[0]
    assert suite.attrib["failures"] == "0"
    assert suite.attrib["skipped"] == suite.attrib["tests"] == str(len(suite))


def test_same_seed_same_numbers(capsys: Output) -> None:
    found = []
    for seed in ("7", "7", "8"):
        arguments = [
            "check",
            "--file",
            str(EXAMPLE),
            "--method",
            "monte-carlo",
            "--seed",
            seed,
            "--format",
            "json",
            "--jobs",
            "1",
        ]
        assert main([*arguments, "--device", "cpu"]) == 0
        found.append([e["lhs"] for e in json.loads(capsys.readouterr().out)["evidence"]])
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_missing_gpu_is_told_at_once(capsys: Output) -> None:
    if unavailable_reason() is None:
        pytest.skip("this machine has a usable GPU")
    assert "cuda" in refused(capsys, "check", ID, "--method", "algebra", "--device", "cuda", code=5)


# files


def test_a_failed_run_leaves_the_old_file(capsys: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "evidence.json"
    target.write_text("old")

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a planted fault\nin two lines")

    monkeypatch.setattr(runner, "run_plan", fail)
    sentence = refused(capsys, "check", ID, "--output", str(target), code=70)
    assert "ZeroDivisionError: a planted fault in two lines" in sentence
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_the_traceback_is_shown_on_request(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a planted fault")

    monkeypatch.setattr(runner, "run_plan", fail)
    monkeypatch.setenv("DPFL_DEBUG", "1")
    assert main(["check", ID]) == 70
    assert "Traceback" in capsys.readouterr().err


MUTE = """
import os, sysconfig
import dpfl_theory.statements.symbolic as symbolic
library = os.path.join(sysconfig.get_path("purelib"), "planted.py")
names = {}
exec(compile("def equal(*_):\\n    raise AssertionError\\n", library, "exec"), names)
symbolic.equal = names["equal"]
"""


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_an_internal_error_without_a_message_says_where(jobs: str, tmp_path: Path) -> None:
    """It names the line of the package that called the failing library, also in another process."""
    (tmp_path / "sitecustomize.py").write_text(MUTE)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
    done = run("check", "das2022.fact1", "--method", "algebra", "--jobs", jobs, env=environment)
    assert done.returncode == 70, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    sentence = done.stderr.splitlines()[-1]  # earlier lines are progress
    found = re.fullmatch(
        r"dpfl-theory: internal error: AssertionError without a message in (\S+), line (\d+) "
        r"\(DPFL_DEBUG=1 shows the traceback\)",
        sentence,
    )
    assert found, sentence
    assert found[1] == "dpfl_theory/statements/relations.py"
    assert "equal(" in (ROOT / found[1]).read_text().splitlines()[int(found[2]) - 1]


def test_an_empty_message_in_a_users_file_is_told_with_its_line(capsys: Output, tmp_path: Path) -> None:
    text = EXAMPLE.read_text()
    before, after = text.split("def sides(s: Symbols) -> Sides:\n")
    file = tmp_path / "mine.py"
    file.write_text(f"{before}def sides(s: Symbols) -> Sides:\n    assert SYMBOLS == ()\n{after}")
    line = before.count("\n") + 2
    sentence = refused(capsys, "check", "--file", str(file), "--method", "algebra", "--jobs", "1")
    assert f"AssertionError without a message in {file}, line {line}" in sentence


def test_a_simulated_run_without_sides_is_told(capsys: Output, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(EXAMPLE.read_text().replace("sides=sides,", ""))
    sentence = refused(capsys, "check", "--file", str(file), "--method", "monte-carlo", "--jobs", "1")
    assert "a run is compared with the statement's sides, and it has no sides: give sides (mine.py, line " in sentence


def test_output_replaces_the_file_in_one_step(capsys: Output, tmp_path: Path) -> None:
    target = tmp_path / "evidence.json"
    target.write_text("old")
    assert main(["check", ID, "--method", "algebra", "--format", "json", "--output", str(target)]) == 0
    assert json.loads(target.read_text())["schema"] == "dpfl-theory/1"
    assert list(tmp_path.iterdir()) == [target]
    assert str(target) in capsys.readouterr().err
    assert target.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InputError, match="No space left on device"):
        write(tmp_path / "x.json", "{}")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_output_file(capsys: Output, tmp_path: Path) -> None:
    assert "is a folder" in refused(capsys, "check", ID, "--output", str(tmp_path))
    (tmp_path / "file").touch()
    assert "folder is needed" in refused(capsys, "validate", "--output", str(tmp_path / "file"))


# interruption, pipes, progress


def test_interruption_ends_quietly(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run_plan", interrupted)
    assert "interrupted" in refused(capsys, "check", ID, code=130)


@pytest.mark.skipif(os.name != "posix", reason="pipes that close early, as on POSIX systems")
def test_a_closed_pipe_ends_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "dpfl_theory", "list"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=HANGS, check=False)
    os.close(writing)
    assert done.stderr == ""
    assert done.returncode == 141


def test_as_a_process() -> None:
    done = run("check", "das2022.nothing")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("dpfl-theory: unknown statement 'das2022.nothing'")


def test_doctor(capsys: Output) -> None:
    assert main(["doctor", "--format", "json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert set(described) == {"python", "platform", "threads", "devices", "packages", "extras", "adapters"}
    assert set(described["devices"]) == {"cpu", "cuda", "auto"}
    assert all(described["packages"].values())
    assert main(["doctor"]) == 0
    assert "numba" in capsys.readouterr().out


def test_doctor_notices_a_missing_package(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpfl_theory.cli import doctor

    monkeypatch.setattr(doctor, "PACKAGES", ("numpy", "no-such-package-anywhere"))
    assert main(["doctor"]) == 5
    assert re.search(r"^no-such-package-anywhere +MISSING$", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "seconds"), [("60s", 60.0), ("2m", 120.0), ("90", 90.0), ("1.5h", 5400.0), (" 3 s ", 3.0), (None, None)]
)
def test_budget(text: str | None, seconds: float | None) -> None:
    assert parse_budget(text) == seconds


@pytest.mark.usefixtures("usual_quiet")
def test_progress_is_silent_at_first_then_sparse() -> None:
    stream, now = io.StringIO(), [0.0]
    with Progress("work", stream, lambda: now[0]) as progress:
        for second in range(1, 31):
            now[0] = float(second)
            progress(second / 30, f"step {second}")
    lines = stream.getvalue().splitlines()
    assert lines[0] == "work:   7% after 2 s  step 2"
    assert [line.split()[-1] for line in lines] == ["2", "12", "22"]


@pytest.mark.usefixtures("usual_quiet")
def test_progress_on_a_terminal_is_a_bar_that_does_not_fall_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")  # a dumb terminal gets no bar

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream, now = Terminal(), [0.0]
    with Progress("work", stream, lambda: now[0]) as progress:
        progress(0.1)
        assert stream.getvalue() == ""
        now[0] = 5.0
        progress(0.5, "[half]")
        progress(0.25, "[half]")
        assert progress.bar.tasks[0].completed == 0.5
    assert "work" in stream.getvalue()


# the names of the package


def test_public_names_are_there() -> None:
    assert set(dpfl_theory.__all__) <= set(dir(dpfl_theory))
    assert dpfl_theory.statements.get(ID).id == ID
    assert dpfl_theory.check(ID, methods=["algebra"])[0].verdict == "holds"
    assert dpfl_theory.problems.make("quadratic", clients=2, dimension=2).n == 2
    assert dpfl_theory.simulate is dpfl_theory.simulation.simulate
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = dpfl_theory.nonsense
