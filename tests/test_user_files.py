"""User statements: a fault of a file gives one sentence and exit code 2, never a successful run."""

from __future__ import annotations

import copyreg
import json
import re
from pathlib import Path

import pytest
from patience import Watch, given_time

from dpfl_theory import statements
from dpfl_theory.checks.hypotheses import BuildError
from dpfl_theory.checks.runner import plan, run_plan
from dpfl_theory.cli import main
from dpfl_theory.errors import InputError
from dpfl_theory.statements import load_file

HEAD = """
from dpfl_theory.core import Check, Outcome, Source, Statement
def make(build, method="algebra"):
    return Statement("mine.one", "lemma", "t", Source("mine", "here"), "text", checks=(Check(method, "c", build),))
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import sys; sys.exit(0)", "cannot be imported: SystemExit: 0"),
        ("STATEMENTS = 3", "defines no STATEMENTS: set it to a tuple of Statement objects"),
        ("STATEMENTS = (1,)", "defines no STATEMENTS"),
        ("x = (", "cannot be imported: SyntaxError: '(' was never closed (mine.py, line 1)"),
        ("x = 1/0", "cannot be imported: ZeroDivisionError: division by zero (mine.py, line 1)"),
        (HEAD + "STATEMENTS = (make(lambda s, i: None, 'algbra'),)", "did you mean 'algebra'?"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        load_file(file)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


EXAMPLE = Path(__file__).parent.parent / "examples" / "my_statements.py"
OWN = EXAMPLE.read_text()
MORE = ("    sides=sides,\n", "    sides=sides,\n    {},\n")


def more(words: str) -> tuple[str, str]:
    """Add an argument to the example's statement."""
    return MORE[0], MORE[1].format(words)


SLIPS = {
    "no letter": (
        ("SYMBOLS = (\n", "SYMBOLS = (\n    3,\n"),
        "its symbols have 3 among them: give a tuple of Symbol objects only",
    ),
    "letters": (("symbols=SYMBOLS", "symbols=SYMBOLS[0]"), "give a tuple of Symbol objects (mine.py"),
    "source": (("    sides=sides,\n", "    sides=3,\n"), "its sides is 3: give a function of the symbols"),
    "relation": (more('relation=">="'), "monte-carlo compares by <= and ==, and not by >=; exchange the two sides and"),
    "no relation": (more('relation="=<"'), "its relation is '=<': choose one of <=, ==, >="),
    "verdict": (
        more('expected="hold"'),
        "its expected verdict is 'hold': choose one of holds, violated (mine",
    ),
    "uses": (
        more('uses=("das2022.lemm8",)'),
        "uses: unknown statement 'das2022.lemm8': did you mean",
    ),
    "kind": (('"theorem"', '"theorm"'), "its kind is 'theorm': choose one of theorem, lemma"),
    "id": (("mine.noisy", "mine noisy"), "the id 'mine noisy-gradient-descent' is not valid: write letters"),
    "catalogue": (("mine.noisy-gradient-descent", "das2022.theorem4a"), "belongs to a statement of the catalogue"),
    "paper": (('Source("mine"', 'Source("das2022"'), "source.paper is 'das2022', a paper of the catalogue"),
    "of a paper": (("mine.noisy", "das2022.noisy"), "starts with 'das2022', a paper of the catalogue"),
    "violated": (
        more('expected="violated"'),
        "its expected verdict is 'violated', and none of its checks expects that",
    ),
    "twice": (("STATEMENTS = (THEOREM,)", "STATEMENTS = (THEOREM, THEOREM)"), "is given to 2 statements: give each"),
    "letter": (("s.d * s.sigma**2", "s.d * s.sigm**2"), "has no symbol 'sigm'; it has K, d, L"),
    "foreign": (("s.eta * s.d * s.sigma**2", '__import__("sympy").Symbol("q")'), "sides, 'rhs, noise': q is not"),
    "declared twice": (('"d", "dimension"', '"K", "dimension"'), "the symbol 'K' is declared 2 times"),
    "name": (('"d", "dimension"', '"d imension", "dimension"'), "the symbol 'd imension' is not a valid name"),
    "domain": (('"nonnegative", r"\\sigma"', '"nonneg", r"\\sigma"'), "the domain of sigma is 'nonneg': choose one of"),
    "unit": (('(1, -1), "nonnegative"', '"F/X", "nonnegative"'), "the unit of sigma is 'F/X': give the exponents"),
    "unit of an observable": (("1),), (1, 0)", "1),), (1, -1)"), "that of its observable 'suboptimality' is (1, 0)"),
    "observable": (('"suboptimality", 1', '"subobtimality", 1'), "E_gap: unknown observable 'subobtimality': did you"),
    "unused": (("(2 - 2 * s.eta * s.L) * s.E_gap", "0 * s.eta"), "the expectation 'E_gap' is on neither side"),
    "side": (('lhs={"gap": (2 - 2 * s.eta * s.L) * s.E_gap}', "lhs={}"), "sides: ValueError: lhs is {}: give at least"),
    "no sides": (("sides=sides", "sides=None"), "a run is compared with the statement's sides, and it has no sides"),
    "hypothesis": (
        ("Hypothesis(lambda s: s.eta <= 1 / s.L)", 'Hypothesis.custom("x", lambda v: None)'),
        "the test of the hypothesis 'x' must take (problem, values)",
    ),
    "build": (("def experiment(_: Statement, instance", "def experiment(instance"), "its build must take (statement, "),
    "instance": (('"sigma/G": 0.05', '"sigma/G": {1}'), "its instance is not plain data, and evidence stores it"),
    "no instance": (
        ('{"eta L": 0.5, "rounds": 20, "sigma/G": 0.05}', "3"),
        "its instance is 3: give a mapping of names",
    ),
    "large instance": (('"sigma/G": 0.05', '"x": [0] * 10**5'), "which all evidence would repeat: give at most 100000"),
    "deep instance": (
        ('"sigma/G": 0.05', '"x": __import__("functools").reduce(lambda d, _: [d], range(10**5), 0)'),
        "its instance is not plain data, and evidence stores it as JSON: maximum recursion depth exceeded",
    ),
    "hypothesis that gives nothing": (
        ("Hypothesis(lambda s: s.eta <= 1 / s.L)", "Hypothesis(lambda s: None)"),
        "a hypothesis gives None, which is not a relation between symbols: return one such as s.eta <= 1 / s.L",
    ),
    "hypothesis without words": (
        ("Hypothesis(lambda s: s.eta <= 1 / s.L)", 'Hypothesis(lambda s: s.eta <= 1 / s.L, " ")'),
        "the text of a hypothesis is ' '",
    ),
    "check without a name": (('"the start dominates"', '"the start\\ndominates"'), "write a line of text"),
    "title": (('"Gradient descent with Gaussian noise: convex and smooth"', "''"), "its title is ''"),
    "parts": (
        ('(("suboptimality", 1),)', '("suboptimality",)'),
        "has the part 'suboptimality': give (observable, coeff",
    ),
    "homogeneous": (more('homogeneous="no"'), "its homogeneous is 'no': give True or False"),
    "erratum": (more('erratum="none"'), "its erratum is 'none': give an Erratum, or leave it out"),
    "sides that exit": (
        ("    return Sides(", "    raise SystemExit(0)\n    return Sides("),
        "cannot be imported: SystemExit: 0",
    ),
}


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize(("change", "message"), SLIPS.values(), ids=SLIPS)
def test_a_slip_is_told_with_its_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    """Each mistake is planted in the example, at one place or at all."""
    file = tmp_path / "mine.py"
    before, after = change[0].replace("\\\\", "\\"), change[1].replace("\\\\", "\\")
    assert before in OWN
    file.write_text(OWN.replace(before, after))
    with pytest.raises(InputError) as caught:
        load_file(file)
    sentence = str(caught.value)
    assert message in sentence
    assert "(mine.py, line " in sentence
    assert "\n" not in sentence


def test_a_line_is_told_wherever_the_file_is_named_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(OWN.replace("s.d * s.sigma**2", "s.d * s.sigm**2"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"has no symbol 'sigm'.*\(mine.py, line \d+\)"):
        load_file("mine.py")


def test_all_slips_are_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        OWN.replace('"theorem"', '"theorm"').replace('"dimension", (0, 0), "integer"', '"dimension", "1", "whole"')
    )
    with pytest.raises(InputError, match=r"its kind is 'theorm'.*the unit of d is '1'.*the domain of d is"):
        load_file(file)


def test_a_letter_without_a_value_is_told(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN.replace('"sigma": sigma, "eta"', '"sigm": sigma, "eta"'))
    message = r"the symbol 'sigma', which the term 'rhs, noise' has, is given no value; is 'sigm' a misspelling of it\?"
    with pytest.raises(InputError, match=rf"{message}; correct its build \(mine\.py, line \d+\)"):
        run_plan(plan(load_file(file)))


def test_units_alone_make_nothing_true(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In every format the exit code is 3; with another check it is 0."""
    file = tmp_path / "mine.py"
    file.write_text(f"{OWN[: OWN.index('    checks=checks(')]})\nSTATEMENTS = (THEOREM,)\n")
    command = ["check", "--file", str(file), "--format"]
    assert main([*command, "text"]) == 3
    assert "unchecked  holds     algebra  <- only units were checked: add a" in capsys.readouterr().out
    assert main([*command, "json"]) == 3
    (found,) = json.loads(capsys.readouterr().out)["summary"]["statements"].values()
    assert found["verdict"] == "unchecked"
    assert main([*command, "junit"]) == 3
    assert 'skipped="1"' in capsys.readouterr().out
    file.write_text(file.read_text().replace("(2 - 2 *", "s.D * (2 - 2 *"))
    assert main([*command, "text"]) == 1, "wrong units are no matter of taste"


def test_a_build_that_fails_names_statement_and_check(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(HEAD + "STATEMENTS = (make(lambda s, i: i['rounds']),)")
    with pytest.raises(
        InputError,
        match=r"check 'c' of mine\.one cannot be run: KeyError: 'rounds'; correct its build \(mine\.py, line 5\)",
    ):
        run_plan(plan(load_file(file)))


@pytest.mark.parametrize(
    ("sides", "sentence"),
    [
        ("s.L * s.D**2 / (4 * s.K + 2) + 2 / sp.Integer(5)", "2/5 remains where every quantity is zero"),
        ("s.L * s.D**4", "a side is not linear in D^2"),
        ("s.L * s.D**2 + s.gap**2", "a side is not linear in gap"),
    ],
)
def test_sides_that_a_worst_case_cannot_compare_are_refused(tmp_path: Path, sides: str, sentence: str) -> None:
    text = (Path(__file__).parents[1] / "examples" / "worst_case.py").read_text()
    file = tmp_path / "mine.py"
    text = text.replace("s.L * s.D**2 / (4 * s.K + 2)", sides)
    file.write_text(text.replace("def sides(", "import sympy as sp\n\n\ndef sides("))
    line = 1 + file.read_text().splitlines().index("def sides(s: Symbols) -> Sides:")
    with pytest.raises(InputError) as error:
        run_plan(plan(load_file(file)))
    assert f"cannot be run: {sentence}: " in str(error.value)
    assert str(error.value).endswith(f"(mine.py, line {line})")
    assert "build" not in str(error.value)


def test_a_good_file_runs(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(HEAD + "STATEMENTS = (make(lambda s, i: Outcome(True, 'yes')),)")
    assert run_plan(plan(load_file(file))).evidence[0].verdict == "holds"


def test_a_comment_that_is_no_utf_8_does_not_matter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where Python itself ignores it, the file runs, and its evidence is stored."""
    file = tmp_path / "mine.py"
    file.write_bytes(OWN.encode() + b"#\x80 a comment\n")
    store = str(tmp_path / "kept.sqlite")
    for _ in range(2):
        assert main(["check", "--file", str(file), "--method", "algebra", "--jobs", "1", "--store", store]) == 3
    assert "1 of 1 checks comes from the store" in capsys.readouterr().err


@pytest.mark.parametrize("more", [{"seed": -1}, {"seed": 0.5}, {"device": "tpu"}, {"alpha": 0.0}, {"budget": 0.0}])
def test_settings_that_cannot_be_used_are_refused_for_every_method(more: dict[str, object]) -> None:
    with pytest.raises(InputError):
        run_plan([], **more)  # type: ignore[arg-type]


TROUBLE = """    import os

    import time

    while instance.get("what") == "endless":
        time.sleep(0.01)
    if instance.get("what") == "dies":
        os.kill(os.getpid(), 9)
"""


def troubled(tmp_path: Path) -> Path:
    """The example with a check that never ends, and one that kills its process, between its own two."""
    one = '{"eta L": 0.5, "rounds": 20, "sigma/G": 0.05, "what": '
    more_ = "".join(f'            "{what}": {one}"{what}"}},\n' for what in ("endless", "dies"))
    text = OWN.replace("    import numpy as np\n", f"    import numpy as np\n{TROUBLE}", 1)
    file = tmp_path / "mine.py"
    file.write_text(text.replace('            "the noise dominates"', f'{more_}            "the noise dominates"'))
    return file


FOUR = """
import os, time
def endless():
    while True:
        time.sleep(0.01)
HOW = {"first": int, "endless": endless, "dies": lambda: os.kill(os.getpid(), 9), "last": int}
def built(statement, instance):
    HOW[instance["how"]]()
    return Outcome(True, "yes")
ALL = tuple(Check("algebra", how, built, {"how": how}) for how in HOW)
STATEMENTS = (Statement("mine.one", "lemma", "t", Source("mine", "here"), "text", checks=ALL),)
"""
"""Checks that take no time, except for one that never ends and one that kills its process."""


def test_a_check_that_never_ends_is_ended_and_the_others_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same holds for one whose process is killed; the store keeps neither."""
    file = tmp_path / "mine.py"
    file.write_text(HEAD + FOUR)
    command = ["check", "--file", str(file), "--jobs", "2", "--format", "json", "--store"]

    def both(seconds: float) -> None:
        kept, found = tmp_path / f"kept-{seconds:g}.sqlite", []
        limits = (seconds, seconds / 2)
        for limit in limits:
            assert main([*command, str(kept), "--limit", f"{limit:g}s"]) == 3
            found.append(json.loads(capsys.readouterr().out))
        for limit, document in zip(limits, found):
            verdicts = {e["check"]: (e["verdict"], e["reason"]) for e in document["evidence"]}
            assert [v for v, _ in verdicts.values()] == ["holds", "inconclusive", "inconclusive", "holds"]
            assert f"it took longer than {limit:g} s and was ended" in verdicts["endless"][1]
            assert "its process ended with code -9" in verdicts["dies"][1]
        first, second = ({e["check"]: e["seconds"] for e in document["evidence"]} for document in found)
        assert first["endless"] >= limits[0]
        for name in ("endless", "dies"):
            del first[name], second[name]
        assert first == second, "what had ended is taken from the store"

    given_time(both, 1.6)


def test_a_budget_ends_what_a_users_file_has_begun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text(HEAD + FOUR)

    def ended(seconds: float) -> None:
        assert main(["check", "--file", str(file), "--budget", f"{seconds:g}s", "--format", "json"]) == 3
        found = json.loads(capsys.readouterr().out)["evidence"]
        reasons = [e["reason"] for e in found if e["verdict"] == "inconclusive"]
        assert len(reasons) >= 2
        assert any("and was ended" in reason for reason in reasons)

    given_time(ended, 1.2)


def test_a_file_whose_import_never_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "IMPORT_SECONDS", 0.5)
    file = tmp_path / "mine.py"
    file.write_text("while True:\n    pass\n")
    with pytest.raises(InputError, match=r"cannot be imported: it took longer than 0\.5 s and was ended"):
        load_file(file)


def test_absurd_numbers_of_replicates_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN.replace("replicates=512", "replicates=10**12"))
    with pytest.raises(InputError, match="replicates is 1000000000000: give a number from 1 to 1000000000"):
        run_plan(plan(load_file(file)))


EXACT = """
import os, sys
from dpfl_theory.core import Check, Hypothesis, Outcome, Sides, Source, Statement, Symbol, Values, by_construction
SYMBOLS = (Symbol("x", "a number"), Symbol("n", "another", domain="integer"))
def small(problem, values):
    return SMALL
def build(statement, instance):
    return BUILD
STATEMENTS = (
    Statement("mine.one", "lemma", "t", Source("mine", "here"), "text", symbols=SYMBOLS,
        hypotheses=(Hypothesis.custom("x < 5", small),), RELATION
        sides=lambda s: Sides(lhs={"x": s.x}, rhs={"n": s.n}), checks=(Check("METHOD", "c", build),)),
)
"""
TEST = 'None if values["x"] < 5 else "large"'
GOOD = "Values({'x': 1, 'n': 2})"


def exact(tmp_path: Path, build: str = GOOD, small: str = TEST, method: str = "exact", relation: str = "") -> Path:
    file = tmp_path / "mine.py"
    text = EXACT.replace("SMALL", small).replace("BUILD", build).replace("METHOD", method)
    file.write_text(text.replace("RELATION", relation))
    return file


BUILDS = {
    "no value": ("Values({'x': 1})", "the symbol 'n', which the term 'rhs, n' has, is given no value"),
    "another name": ("Values({'x': 1, 'n_': 2})", "is given no value; is 'n_' a misspelling of it?"),
    "one too many": ("Values({'x': 1, 'n': 2, 'N': 3})", "its build gives a value to 'N', which is not a symbol"),
    "of several": ("[Values({'x': 1, 'n': 2}), Values({'x': 1, 'n': 2, 'N': 3})]", "gives a value to 'N'"),
    "negative": ("Values({'x': -1, 'n': 2})", "the symbol 'x' is given -1, and its domain is positive: correct the"),
    "no whole number": ("Values({'x': 1, 'n': 2.5})", "the symbol 'n' is given 2.5, and its domain is integer"),
    "infinite": ("Values({'x': 1, 'n': float('inf')})", "the symbol 'n' is given inf, which is not finite"),
    "no number": ("Values({'x': 1, 'n': float('nan')})", "the symbol 'n' is given nan, which is not finite"),
    "text": ("Values({'x': '1', 'n': 2})", "the symbol 'x' is given '1', which is a str: give a number"),
    "truth": ("Values({'x': True, 'n': 2})", "the symbol 'x' is given True, which is a bool: give a number"),
    "no mapping": ("Values([1, 2])", "the values of its symbols are [1, 2]: give a mapping"),
    "nothing": ("None", "its build returns None: return Values, Case or Outcome of dpfl_theory.core"),
    "says so itself": ("Outcome(True, 'I know')", "the check 'c' never reads the statement's sides: read them"),
    "no truth": ("Outcome('yes', 'I know')", "its Outcome has true = 'yes': give True, False or None"),
    "no reason": ("Outcome(None, 3)", "its Outcome has the reason 3: give a sentence"),
    "no plain data": (
        "Outcome(None, 'x', {'a': object()})",
        "and evidence stores it as JSON (TypeError: float() argument",
    ),
    "no text": ("Outcome(None, chr(0xd800))", "and evidence stores it as JSON (UnicodeEncodeError"),
    "exit": ("sys.exit(0)", "cannot be run: SystemExit: 0; correct its build"),
    "an interrupt": ("(_ for _ in ()).throw(KeyboardInterrupt)", "cannot be run: KeyboardInterrupt without a message"),
    "long": ("(_ for _ in ()).throw(ValueError('a' * 10**6))", "aaa ...; correct its build"),
    "endless recursion": ("build(statement, instance)", "RecursionError: maximum recursion depth exceeded"),
}


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize(("build", "message"), BUILDS.values(), ids=BUILDS)
def test_what_a_build_cannot_return_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], build: str, message: str
) -> None:
    assert main(["check", "--file", str(exact(tmp_path, build)), "--store", "off", "--jobs", "1"]) == 2
    out, sentence = capsys.readouterr()
    assert out == ""
    assert message in sentence
    assert re.search(r"\(mine\.py, line [78]\)", sentence)
    assert (sentence.count("\n"), len(sentence) < 1200) == (1, True)


def test_endless_recursion_is_told_where_pickle_keeps_tracebacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """This happens after the import of a library that sends errors to other machines."""
    support = pytest.importorskip("tblib.pickling_support", reason="tblib is not installed")
    for kind in (InputError, BuildError):
        monkeypatch.setitem(copyreg.dispatch_table, kind, support.pickle_exception)
    build, reported = BUILDS["endless recursion"]
    assert main(["check", "--file", str(exact(tmp_path, build)), "--store", "off", "--jobs", "1"]) == 2
    assert reported in capsys.readouterr().err


TESTS = {
    "truth": ('values["x"] < 5', "the test of the hypothesis 'x < 5' returned True: return None where it is met"),
    "empty": ('"" if values["x"] < 5 else "large"', "the test of the hypothesis 'x < 5' returned ''"),
    "raises": ('1 / 0 or "no"', "the hypothesis 'x < 5' cannot be tested: ZeroDivisionError: division by zero"),
    "no problem": (
        'None if problem.d else "no"',
        "cannot be tested: AttributeError: 'NoneType' object has no attribute",
    ),
    "undeclared": ('None if values["y"] < 5 else "no"', "does not name y, which the hypothesis 'x < 5' reads"),
}


@pytest.mark.parametrize(("small", "message"), TESTS.values(), ids=TESTS)
def test_a_hypothesis_that_cannot_be_tested_is_told_with_its_line(tmp_path: Path, small: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        run_plan(plan(load_file(exact(tmp_path, small=small))))
    assert message in str(caught.value)
    assert re.search(r"correct that test \(mine\.py, line [45]\)$", str(caught.value))


def test_a_hypothesis_may_read_a_value_that_is_no_letter(tmp_path: Path) -> None:
    """The output says so for a hypothesis that holds by construction."""
    small = 'None if values["y"] < 5 else "no"'
    file = exact(tmp_path, "Values({'x': 1, 'n': 2, 'y': 1})", small)
    assert run_plan(plan(load_file(file), ["exact"])).evidence[0].verdict == "holds"
    file = exact(tmp_path)
    file.write_text(
        file.read_text().replace('Hypothesis.custom("x < 5", small)', 'Hypothesis.custom("x < 5", by_construction)')
    )
    assert run_plan(plan(load_file(file), ["exact"])).evidence[0].verdict == "holds"


def test_an_instance_outside_the_hypotheses_may_lie_outside_the_domains(tmp_path: Path) -> None:
    file = exact(tmp_path, "Values({'x': 1, 'n': 2.5})", 'None if values["n"] == int(values["n"]) else "no"')
    assert run_plan(plan(load_file(file), ["exact"])).evidence[0].verdict == "not-applicable"


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize("relation", ["<=", "==", ">=", "claim", "exists"])
@pytest.mark.parametrize("method", ["exact", "monte-carlo", "worst-case"])
def test_every_method_compares_by_a_relation_or_refuses_it(tmp_path: Path, method: str, relation: str) -> None:
    file = exact(tmp_path, method=method, relation=f"relation={relation!r},")
    refused = relation in ("claim", "exists") or (relation == ">=" and method != "worst-case")
    if not refused:
        assert load_file(file)
        return
    with pytest.raises(InputError, match=f"{method} compares by .*, and not by {relation}.*mine.py, line 12"):
        load_file(file)


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("place", ["import", "build"])
@pytest.mark.parametrize("how", ["print('HELLO')", "os.write(1, b'HELLO\\n')", "os.system('echo HELLO')"])
def test_what_a_file_prints_is_no_data(tmp_path: Path, capfd: pytest.CaptureFixture[str], place: str, how: str) -> None:
    """The document on stdout stays valid, whichever way the file prints."""
    file = exact(tmp_path)
    before = "SYMBOLS" if place == "import" else f"    return {GOOD}"
    indented = how if place == "import" else f"    {how}"
    file.write_text(file.read_text().replace(before, f"{indented}\n{before}", 1))
    assert main(["check", "--file", str(file), "--store", "off", "--jobs", "1", "--format", "json"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out)["summary"]["statements"]["mine.one"]["verdict"] == "holds"
    assert "HELLO" in err


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import os; os._exit(7)", "cannot be imported: its process ended with code 7, of itself"),
        ("import os; os.kill(os.getpid(), 11)", "cannot be imported: its process ended with code -11 (SIGSEGV)"),
        ("raise KeyboardInterrupt", "cannot be imported: KeyboardInterrupt without a message"),
        ("9**9**9**9", "cannot be imported: it took longer than {} s and was ended"),  # compiled code handles no alarm
    ],
)
def test_an_import_that_ends_the_process_ends_its_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)

    def refused(seconds: float) -> None:
        monkeypatch.setattr(statements, "IMPORT_SECONDS", seconds)
        assert main(["check", "--file", str(file)]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert message.format(f"{seconds:g}") in err

    given_time(refused, 1.5)


@pytest.mark.parametrize(
    ("code", "message"),
    [("os._exit(0)", "ended with code 0, of itself"), ("os.kill(os.getpid(), 11)", "code -11 (SIGSEGV)")],
)
def test_a_build_that_ends_its_process_is_undecided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str, message: str
) -> None:
    file = exact(tmp_path, f"{code} or {GOOD}")
    assert main(["check", "--file", str(file), "--store", "off", "--jobs", "1"]) == 3
    assert message in capsys.readouterr().out


HALF = """
from dpfl_theory.core import Sides, Source, Statement, Symbol, checks
SYMBOLS = (Symbol("L", "smoothness", (1, -2)), Symbol("gap", "gap", (1, 0)), Symbol("D", "distance", (0, 1)))
def sides(s):
    return Sides(lhs={"gap": s.gap}, rhs={"start": s.L * s.D**2 / 2})
def build(statement, instance):
    from PEPit import PEP
    from PEPit.functions import SmoothConvexFunction
    from dpfl_theory.core import WorstCase
    problem = PEP()
    f = problem.declare_function(SmoothConvexFunction, L=1)
    minimum, start = f.stationary_point(), problem.set_initial_point()
    values = {"L": 1, "gap": f(start) - f(minimum), "D^2": (start - minimum) ** 2}
    return WorstCase(problem, values, direction=instance["half"])
STATEMENTS = (Statement("mine.equal", "lemma", "t", Source("mine", "here"), "text", symbols=SYMBOLS, sides=sides,
    relation="==", checks=checks("worst-case", build, {h: {"half": h} for h in HALVES})),)
"""


@pytest.mark.parametrize(("halves", "verdict"), [(["<="], "inconclusive"), (["<=", ">="], "violated")])
def test_one_half_of_an_equality_is_not_the_equality(tmp_path: Path, halves: list[str], verdict: str) -> None:
    """f - f* <= L D^2/2 holds, and f - f* = L D^2/2 does not."""
    file = tmp_path / "mine.py"
    file.write_text(HALF.replace("HALVES", repr(halves)))
    report = run_plan(plan(load_file(file)))
    assert report.evidence[1].verdict == "holds"
    assert report.to_json()["summary"]["statements"]["mine.equal"]["verdict"] == verdict


@pytest.mark.exhaustive
@pytest.mark.parametrize("arguments", [["check", "--budget", "2.5s"], ["falsify", "--limit", "2.5s"]])
def test_an_import_that_never_ends_has_the_commands_own_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import time\nwhile True:\n    time.sleep(0.01)\n")
    with Watch() as watch:
        assert main([*arguments, "--file", str(file)]) == 2
    assert watch.seconds < 20.0
    assert "cannot be imported: it took longer than 2.5 s and was ended" in capsys.readouterr().err
