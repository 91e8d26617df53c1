"""Mistakes of a newcomer in the theorem that `new theorem` writes: a sentence with value, cause and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpfl_theory.cli import main
from dpfl_theory.templates import theorem

FEW = '{"K": 2, "d": 3, "eta": "1/2", "sigma": "1/4"}'
MISTAKES = {
    "symbol of a side": (
        "s.eta * s.d * s",
        "s.etaa * s.d * s",
        "no symbol 'etaa'; it has K, d, L, eta, sigma, D, gap: take 'eta', or declare it (mine.py, line 38)",
    ),
    "symbol of the round": (
        "noise(s.sigma)",
        "noise(s.sigmaa)",
        "no symbol 'sigmaa'; it has K, d, eta, sigma, L: take ",
    ),
    "symbol of a hypothesis": (
        "lambda s: s.eta <=",
        "lambda s: s.etaa <=",
        "the hypothesis 'etaa <= 1/L' reads; is it 'eta'?",
    ),
    "unit": ("(-1, 2), latex", '"1/L", latex', "the unit of eta is '1/L': give the exponents of F and X, as (1, -2)"),
    "tag": ('"few many"', '"fewer many"', "no instance has the tag 'fewer': choose among few, many"),
    "tag of a method": (
        'row("few"',
        'row("few exakt"',
        "the row 'two rounds' has the tag 'exakt': did you mean 'exact'?",
    ),
    "no table": (", table=TABLE", "", "no instance has the tag 'few': the table has no rows, so give it some, with"),
    "list": ("TABLE = Instances((", "TABLE = list((", "the table is a list: write table=Instances((row('tags', 'name'"),
    "no tags": (
        'DESCENT("few many")',
        "DESCENT",
        "an iteration without its tags: write battery(ITERATION()), with brackets",
    ),
    "row": ('row("few", "two', 'row("two', "a row has the tags 'two rounds' and the name {'K': 2, 'd': 3"),
    "one name": ('"a hundred rounds"', '"two rounds"', "the tags 'few many' have the name 'two rounds': rename one"),
    "left out": (
        '"few many")',
        '"few", without={"runs": "slow"})',
        "no check 'runs' to leave out: choose among 'two rounds'",
    ),
    "hypothesis of none": (
        "s.eta <= 1 / s.L",
        "s.eta <= 1 / (9 * s.L)",
        "no row of the table is within the hypotheses of mine.mine: eta = 0.5 exceeds 1/(9 L) = 0.111111 in",
    ),
    "joined": (
        "s.eta <= 1 / s.L)",
        "s.eta > 0 and s.eta < 1)",
        "a hypothesis joins relations by 'and', 'or' or a chain: give",
    ),
    "not finite": (
        "(s.eta * s.K)",
        "(s.eta * (s.K - 2))",
        "the right side divides by zero at K = 2, d = 3, eta = 1/2, si",
    ),
    "negative": (
        FEW,
        FEW.replace("1/2", "-1/2"),
        "the instance gives eta = -1/2, and its domain is positive: give another",
    ),
    "dimension": (
        FEW,
        FEW.replace("3", "0"),
        "the instance gives d = 0: give a whole number of at least 1; correct that",
    ),
    "rounds": (
        FEW,
        FEW.replace('"K": 2, ', ""),
        "the instance gives no value for K: add it, as 'K': 2, or name it among",
    ),
    "no value": (FEW, FEW.replace('"eta": "1/2", ', ""), "no value for eta: add it, as 'eta': '1/2', or name it among"),
    "constant": (
        '"smoothness"',
        '"smoothnes"',
        "mine.py' cannot be imported: unknown constant for the symbol L, 'smoothnes'",
    ),
    "class": (
        'functions="convex"',
        'functions="convx"',
        "unknown class of functions 'convx': did you mean 'convex'? (mine.py",
    ),
    "observable": (
        '"suboptimality"',
        '"suboptimalty"',
        "gap: unknown observable 'suboptimalty': did you mean 'suboptimality'?",
    ),
    "nothing returned": (
        "return x - s.eta",
        "x - s.eta",
        "the round returns None: return the state after it; correct its bu",
    ),
    "operation": (
        "o.gradient",
        "o.grad",
        "unknown operation of the oracle 'grad': did you mean 'gradient'?; correct its build",
    ),
    "replicates": (
        FEW,
        FEW[:-1] + ', "replicates": -3}',
        "the instance gives -3 replicates: give a whole number of at least 1",
    ),
}


@pytest.mark.parametrize(("right", "wrong", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_with_its_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], right: str, wrong: str, message: str
) -> None:
    _, text = theorem("mine")
    assert right in text
    file = tmp_path / "mine.py"
    file.write_text(text.replace(right, wrong, 1 if right.startswith("lambda") else -1))
    assert main(["check", "--file", str(file), "--method", "exact", "--store", "off", "--jobs", "1"]) == 2
    sentence = capsys.readouterr().err.splitlines()[-1]
    assert sentence.startswith("dpfl-theory: ")
    assert message in sentence
    assert "mine.py, line " in sentence
    assert "Traceback" not in sentence
