"""`dpfl-theory recommend`: its results are the package's, it takes the options of the contract, and its refusals."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from recommend.cases import INPUTS

from dpfl_theory.cli import _output, main
from dpfl_theory.recommend import recommend, settings
from dpfl_theory.runtime import console
from dpfl_theory.runtime.console import as_options, option

Output = pytest.CaptureFixture[str]

# The options on which other people's scripts rely.
CONTRACT = {
    "dp-scaffnew": "clients dim smoothness strong-convexity distance gradient-norm-at-optimum clip epsilon delta "
    "calibration constant",
    "dp-fedavg": "clients cohort dim smoothness lipschitz distance heterogeneity local-steps alpha gamma rho epsilon "
    "delta constant",
    "dp-fedavg-two-sided": "clients cohort dim smoothness lipschitz gap dissimilarity gradient-variance local-steps "
    "rounds epsilon delta",
    "dp-norm-ec": "clients dim smoothness smoothness-max gap residual alpha epsilon delta",
    "dp-fedavg-record": "users records user-rate record-rate dim smoothness distance clip gradient-variance "
    "dissimilarity dissimilarity-factor local-steps rounds epsilon delta",
    "dp-scaffold": "users records user-rate record-rate dim smoothness strong-convexity distance clip "
    "gradient-variance local-steps rounds epsilon delta",
}
CONTRACT["dp-normfedavg"] = CONTRACT["dp-fedavg"]


def arguments(algorithm: str, inputs: dict[str, Any], rule: str = "printed") -> list[str]:
    given = [text for name, value in inputs.items() for text in (option(name), str(value))]
    return ["recommend", "--algorithm", algorithm, "--rule", rule, *given]


def refused(capsys: Output, *command: str) -> str:
    """Run a command that must fail with one sentence on stderr and nothing on stdout; return the sentence."""
    assert main(command) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("dpfl-theory: ")
    assert err.count("\n") == 1, err
    return err


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("algorithm", sorted(INPUTS))
def test_json_is_the_packages_answer(capsys: Output, monkeypatch: pytest.MonkeyPatch, algorithm: str) -> None:
    monkeypatch.setattr(_output, "QUIET_SECONDS", 600.0)
    assert main([*arguments(algorithm, INPUTS[algorithm]), "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    expected = recommend(algorithm, "printed", **INPUTS[algorithm])
    assert json.loads(out) == {**json.loads(as_options(json.dumps(expected))), "schema": "dpfl-theory/recommend/1"}


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("algorithm", sorted(INPUTS))
def test_the_least_bound(capsys: Output, monkeypatch: pytest.MonkeyPatch, algorithm: str) -> None:
    monkeypatch.setattr(_output, "QUIET_SECONDS", 600.0)
    command = arguments(algorithm, INPUTS[algorithm], "bound-optimal")
    assert main([*command, "--format", "json"]) == 0
    expected = recommend(algorithm, "bound-optimal", **INPUTS[algorithm])
    found = json.loads(capsys.readouterr().out)
    assert found == {**json.loads(as_options(json.dumps(expected))), "schema": "dpfl-theory/recommend/1"}
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert err == ""
    flat = " ".join(out.split())
    assert f"gap {expected['certificate']['gap']:.6g}" in flat
    assert f"lower bound {expected['certificate']['lower_bound']:.6g}" in flat
    assert expected["certificate"]["how"] in flat
    if expected["vacuous"]:
        assert flat.startswith(f"vacuous {as_options(expected['vacuous'])}")


def test_every_missing_option_is_named_at_once(capsys: Output) -> None:
    err = refused(capsys, "recommend", "--algorithm", "dp-fedavg", "--rule", "printed", "--epsilon", "3")
    for name in CONTRACT["dp-fedavg"].split():
        if name not in ("gamma", "epsilon", "constant"):
            assert f"--{name}" in err
    assert "--constant" not in err
    paper = ["--algorithm", "dp-fedavg", "--rule", "printed", "--calibration", "paper"]
    assert "--constant" in refused(capsys, "recommend", *paper)


FROM_DATA = {"clip": 1.0, "epsilon": 8.0, "delta": 1e-5, "constant": 4.0, "clients": 4}


def test_data_in_place_of_constants(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_output, "QUIET_SECONDS", 600.0)  # on a busy machine this takes longer than two seconds
    shape = {"data": "breast-cancer", "ridge": 0.1, "features": 3, "partition": "shards", "row_norm": 2.0}
    command = arguments("dp-scaffnew", {**FROM_DATA, **shape})
    assert main([*command, "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    expected = recommend("dp-scaffnew", "printed", **FROM_DATA, **shape)
    assert json.loads(out) == {**json.loads(as_options(json.dumps(expected))), "schema": "dpfl-theory/recommend/1"}
    assert main(command) == 0
    flat = " ".join(capsys.readouterr().out.split())
    assert set(expected["data"]["constants"]) == {
        *("dim", "smoothness", "strong_convexity", "distance", "gradient_norm_at_optimum")
    }
    for name, reported in expected["data"]["constants"].items():
        assert f"input {option(name)} {reported['value']:.6g} ({reported['kind']}" in flat or name == "dim"
        assert reported["text"] in flat
    assert "logistic regression on breast-cancer" in flat


def test_measuring_data_says_that_it_goes_on(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_output, "QUIET_SECONDS", 0.001)
    monkeypatch.setattr(console, "QUIET_SECONDS", 0.0)
    command = [*arguments("dp-scaffnew", {**FROM_DATA, "data": "breast-cancer", "ridge": 0.1}), "--format", "json"]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["data"]["source"] == "breast-cancer"
    assert re.fullmatch(r"(recommend: +0% after \d+ s  measuring the data, then composing privacy losses\n)+", err)
    inputs = {"data": "breast-cancer", "features": 2, "alpha": 0.1, "epsilon": 8.0, "delta": 1e-5}
    assert main(arguments("dp-norm-ec", inputs)) == 0
    assert "  measuring the data, then composing privacy losses\n" in capsys.readouterr().err


def test_a_formula_is_at_once_there(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    def unwanted(*_: object) -> None:
        raise AssertionError("nothing is computed that takes time")

    monkeypatch.setattr(_output, "busy", unwanted)
    assert main(arguments("dp-normfedavg", INPUTS["dp-normfedavg"])) == 0
    assert capsys.readouterr().err == ""


def test_the_keys_that_are_promised(capsys: Output) -> None:
    inputs = {**INPUTS["dp-scaffnew"], "calibration": "paper"}
    assert main([*arguments("dp-scaffnew", inputs), "--rule", "printed", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found)[2:7] == ["eta", "p", "iterations", "bound", "expected_communications"]
    assert "certificate" in found


@pytest.mark.parametrize("algorithm", sorted(CONTRACT))
def test_the_options_that_are_promised(algorithm: str) -> None:
    assert set(CONTRACT[algorithm].split()) <= {name.replace("_", "-") for name in settings()[algorithm].names()}


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize(
    "algorithm", [pytest.param(a, marks=[pytest.mark.slow] * (a == "dp-fedavg")) for a in sorted(INPUTS)]
)
def test_text_tells_what_and_why(capsys: Output, monkeypatch: pytest.MonkeyPatch, algorithm: str) -> None:
    monkeypatch.setattr(_output, "QUIET_SECONDS", 600.0)
    assert main(arguments(algorithm, INPUTS[algorithm])) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert max(len(line) for line in out.splitlines()) <= 110
    found = recommend(algorithm, "printed", **INPUTS[algorithm])
    flat = " ".join(out.split())
    assert found["certificate"]["reason"] in flat
    for cited in found["certificate"]["statements"]:
        assert cited["id"] in flat
    for warning in found["warnings"]:
        assert as_options(warning) in flat
    for name, value in found.items():
        if isinstance(value, float):
            assert f"{name.replace('_', ' ')} {value:.6g}" in flat


def test_both_noises_are_told(capsys: Output) -> None:
    """hou2023's example: the accountant's noise is recommended and the paper's is shown too, or vice versa."""
    inputs = {k: v for k, v in INPUTS["dp-scaffnew"].items() if k != "calibration"}
    for constant, calibration, lines in (
        (4.0, "accountant", ("gives epsilon = 8 (requested: 8)", "gives epsilon = 5.832 (requested: 8)")),
        (4.0, "paper", ("gives epsilon = 8 (requested: 8)", "gives epsilon = 5.897 (requested: 8)")),
    ):
        assert main(arguments("dp-scaffnew", {**inputs, "constant": constant, "calibration": calibration})) == 0
        out = " ".join(capsys.readouterr().out.split())
        for line in lines:
            assert line in out
    inputs.pop("constant")
    assert main(arguments("dp-scaffnew", inputs)) == 0
    assert "paper's noise" not in capsys.readouterr().out
    assert main(arguments("dp-scaffnew", {**inputs, "constant": 1.0, "calibration": "paper"})) == 0
    first = " ".join(capsys.readouterr().out.splitlines()[0].split())
    assert first.startswith("warning The paper's noise does not give epsilon = 8 (")
    sampled = arguments("dp-scaffnew", {**inputs, "sampling": "poisson"})
    assert "dp-scaffnew takes no --sampling" in refused(capsys, *sampled)


def test_numbers_as_text(capsys: Output) -> None:
    inputs = {**INPUTS["dp-scaffnew"], "clients": "1e1", "distance": "3e2"}
    assert main([*arguments("dp-scaffnew", inputs), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["inputs"]["clients"] == 10


def test_output_goes_to_a_file(capsys: Output, tmp_path: Path) -> None:
    target = tmp_path / "found.json"
    command = arguments("dp-scaffnew", INPUTS["dp-scaffnew"])
    assert main([*command, "--format", "json", "--output", str(target)]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert str(target) in err
    assert json.loads(target.read_text())["iterations"] >= 1


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["--algorithm", "dp-scafnew"], "did you mean 'dp-scaffnew'?"),
        (
            ["--rule", "printed", "--algorithm", "dp-scaffnew"],
            "dp-scaffnew needs --clients: give the number of clients (N)",
        ),
        (
            ["--rule", "printed", "--algorithm", "dp-scaffnew", "--users", "3"],
            "dp-scaffnew takes no --users: it takes --clients, --dim,",
        ),
        (
            ["--rule", "printed", "--algorithm", "dp-scaffnew", "--clients", "many"],
            "--clients is 'many': give a number",
        ),
        (
            ["--rule", "printed", "--algorithm", "dp-scaffnew", "--clients", "2.5"],
            "--clients is 2.5: give a whole number of at least 1",
        ),
        (["--rule", "printed", "--algorithm", "dp-scaffnew", "--clients", "nan"], "--clients is 'nan': give a number"),
        (
            ["--rule", "printed", "--algorithm", "dp-scaffnew", "--ridge", "1"],
            "--ridge is for a problem that is made from data: give --data too",
        ),
        (
            ["--rule", "printed", "--algorithm", "dp-scaffnew", "--data", "digits", "--ridge", "much"],
            "--ridge is 'much': give a number",
        ),
        (
            ["--rule", "printed", "--algorithm", "dp-scaffnew", "--data", "digits"],
            "dp-scaffnew needs --clip: give the clipping threshold",
        ),
        (["--rule", "printed", "--algorithm", "dp-scaffnew", "--format", "yaml"], "format 'yaml'"),
        (["--algorithm", "dp-scaffnew", "--rule", "worst"], "unknown rule 'worst'"),
        (["--rule", "printed"], "--rule is 'printed', which is one algorithm's: name an --algorithm"),
        (
            ["--algorithm", "dp-scaffnew", "--epsilon", "1", "--clip", "1"],
            "--clip can only be given to a paper's rule: take --rule printed",
        ),
        ([], "give --data and --epsilon and --delta (or constants: --clients, --dim, --smoothness, --distance)"),
    ],
)
def test_what_cannot_be_used(capsys: Output, command: list[str], message: str) -> None:
    assert message in refused(capsys, "recommend", *command)


def test_help_names_every_option(capsys: Output) -> None:
    assert main(["recommend", "--help"]) == 0
    out = capsys.readouterr().out
    for kind in settings().values():
        for name in kind.names():
            assert option(name) in out
    for other in ("--data", "--ridge", "--partition", "--features", "--row-norm"):
        assert other in out
    assert "[dp-norm-ec]" in " ".join(out.split())


def test_its_options_cost_no_heavy_import() -> None:
    """The command line imports every module to find the commands: this one imports no numerics."""
    heavy = ["numpy", "scipy", "sympy", "mpmath", "dp_accounting", "cvxpy"]
    code = f"import sys, dpfl_theory.cli.recommend; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
