"""Theorems of other papers, in separate files: they are short and true, and planted faults are found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dpfl_theory
from dpfl_theory.checks.power import detected_by_checks
from dpfl_theory.checks.runner import plan, run_plan
from dpfl_theory.cli import main
from dpfl_theory.conform.user_function import function_named
from dpfl_theory.statements import load_file

EXAMPLES = Path(__file__).parents[1] / "examples"
LINES = 80

SYMBOLIC = ("worst-case", "exact")
FAULTS = {
    "compressed_gradient_descent.py": [
        ("** s.K * s.D**2", "** (s.K + 1) * s.D**2", {"worst-case", "exact"}),
        ("s.eta / s.p * o.gradient(x)", "s.eta * o.gradient(x)", {"worst-case", "exact"}),
    ],
    "drawn_clients.py": [
        ("4 * s.G**2", "1.9 * s.G**2", {"worst-case"}),
        ("MU * (o.k + 1)", "MU / 4 * (o.k + 1)", {"worst-case"}),
    ],
    "ef21.py": [("+ 4 * s.q", "+ 3.99 * s.q", {"worst-case"})],
    "heavy_ball.py": [
        ("** s.K * s.excess", "** (s.K + 2) * s.excess", {"worst-case", "exact"}),
        ("x - s.alpha * o", "x - 3 * s.alpha * o", {"worst-case", "exact"}),
    ],
    "local_gradient_descent.py": [
        ("4 * s.D**2", "s.D**2 / 9", {"worst-case", "exact"}),
        (', "heterogeneity": 20 * s.gamma * s.sigma**2 / s.M, "drift": drift', "", {"exact"}),
        ("if shared else points", "if False else points", {"exact"}),
        ("x - s.gamma *", "x - s.gamma / 40 *", {"exact"}),
    ],
    "my_statements.py": [("* s.d * s.sigma", "* s.sigma", {"monte-carlo"})],
    "nesterov.py": [
        ("2 * s.L * s.D**2", "s.L * s.D**2", {"worst-case"}),
        ("o.gradient(y) / s.L", "o.gradient(y) / s.L / 9", {"worst-case", "exact"}),
        ("* o.k / (o.k + 3)", "* (o.k + 3) / (o.k + 1)", {"worst-case", "exact"}),
    ],
    "private_gradient_descent.py": [
        ("s.eta**2 * s.d * s.sigma**2", "s.eta**2 * s.sigma**2", {"worst-case", "exact"}),
        ("o.noise(s.sigma)", "o.noise(2 * s.sigma)", {"worst-case", "exact"}),
    ],
    "proximal_point.py": [
        ("(4 * s.gamma * s.K)", "(5 * s.gamma * s.K)", {"worst-case"}),
        ("o.proximal(x, s.gamma)", "o.proximal(x, s.gamma / 2)", {"worst-case"}),
    ],
    "stochastic_gradient_descent.py": [
        ("/ (2 * s.mu)", "/ (4 * s.mu)", {"worst-case"}),
        ("o.error(s.sigma)", "o.error(2 * s.sigma)", {"worst-case", "exact"}),
    ],
    "worst_case.py": [("4 * s.K + 2", "4 * s.K + 4", {"worst-case"})],
}
"""Parts of each file, the faults planted in their place, and the methods that must refute them."""


def verdicts(file: Path, methods: tuple[str, ...] = ()) -> list[Any]:
    return list(run_plan(plan(load_file(file), methods)).evidence)


def test_every_example_has_planted_faults() -> None:
    assert set(FAULTS) == {file.name for file in EXAMPLES.glob("*.py")}
    assert len(FAULTS) >= 8


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FAULTS)
def test_it_holds_by_every_method(name: str) -> None:
    file = EXAMPLES / name
    assert name == "my_statements.py" or len(file.read_text().splitlines()) <= LINES
    found = verdicts(file)
    assert [e for e in found if e.verdict != e.expected] == []
    assert {e.verdict for e in found} <= {"holds", "not-applicable"}


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize(("name", "number"), [(name, i) for name, own in FAULTS.items() for i in range(len(own))])
def test_a_planted_fault_is_found(name: str, number: int, tmp_path: Path) -> None:
    text = (EXAMPLES / name).read_text()
    right, wrong, methods = FAULTS[name][number]
    assert text.count(right) == 1
    planted = tmp_path / name
    planted.write_text(text.replace(right, wrong))
    used = tuple(methods) if "monte-carlo" in methods else SYMBOLIC
    found = verdicts(planted, tuple(m for m in used if f'"{m}"' in text or "Iteration(" in text))
    assert {e.method for e in found if e.verdict == "violated"} == methods


def test_a_bound_that_is_too_loose_to_be_checked_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """With half a constant, local gradient descent's bound stays true: no check detects it, and the output says so."""
    file = EXAMPLES / "local_gradient_descent.py"
    (statement,) = load_file(file)
    assert main(["check", "--file", str(file), "--method", "exact", "--format", "json"]) == 0
    own = json.loads(capsys.readouterr().out)["own"][statement.id]
    message = "your bound is 21.2 times larger than any observed value (exact: T = 100): no check here could detect "
    assert own["noticed"]["sentence"].startswith(message)
    assert own["noticed"]["notices_a_factor_2"] is False
    power = detected_by_checks(statement, verdicts(file, ("exact",)))
    assert power is not None
    assert power.sentence().startswith(message)
    assert power.loose


def test_a_fault_is_an_exit_code(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    planted = tmp_path / "private.py"
    text = (EXAMPLES / "private_gradient_descent.py").read_text()
    planted.write_text(text.replace("s.eta**2 * s.d", "s.eta**2"))
    assert main(["check", "--file", str(planted), "--method", "exact"]) == 1
    out = capsys.readouterr().out
    assert "violated" in out
    assert "would be detected" not in out  # no power is reported for the checks of a refuted statement
    assert (
        main(["check", "--file", str(EXAMPLES / planted.name.replace(".", "_gradient_descent.")), "--method", "exact"])
        == 0
    )
    assert "a right side smaller by any amount would be detected (exact: K = 1)" in capsys.readouterr().out


def test_the_rate_of_ef21_is_attained() -> None:
    ratios = [e.ratio for e in verdicts(EXAMPLES / "ef21.py", ("worst-case",))]
    assert len(ratios) == 6
    assert ratios == pytest.approx([1.0] * 6, abs=1e-5)


def test_a_step_beyond_its_limit_is_outside() -> None:
    found = verdicts(EXAMPLES / "local_gradient_descent.py", SYMBOLIC)
    beyond = [e for e in found if e.verdict == "not-applicable"]
    assert [e.method for e in beyond] == ["exact"]
    assert "is not met: L gamma max(4, 8 H - 8) = 1.01562 exceeds 1" in str(beyond[0].reason)


def test_the_three_mistakes_of_the_example_are_named() -> None:
    """The round without them conforms."""
    rounds = EXAMPLES / "rounds"
    assert dpfl_theory.conform(function_named(f"{rounds / 'dp_fedavg.py'}:one_round"), "dp-fedavg", runs=0).conforms
    mistaken = rounds / "dp_fedavg_mistaken.py"
    found = dpfl_theory.conform(function_named(f"{mistaken}:one_round"), "dp-fedavg", runs=0)
    mistakes = {
        "per-coordinate clipping": "np.clip",
        "sum and noise divided by |S| in place of r": "len(cohort)",
        "sensitivity without the clip threshold": "rng.normal(",
    }
    assert [fault.name for fault in found.faults] == [*mistakes, "more than the declared sensitivity"]
    for fault, words in zip(found.faults, mistakes.values()):
        wrong = [i for i, text in enumerate(mistaken.read_text().splitlines(), 1) if words in text]
        assert [line for _, line in fault.lines] == wrong
