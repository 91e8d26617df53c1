"""worst-case: a problem that scaling changes is refused, wherever its constant is; the right side's sign counts."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PEPit import PEP
from PEPit.functions import ConvexLipschitzFunction, SmoothConvexFunction

from dpfl_theory.checks import estimation, worst_case
from dpfl_theory.checks.homogeneity import NotACone, require_cone
from dpfl_theory.checks.runner import plan
from dpfl_theory.checks.settings import Settings
from dpfl_theory.checks.worst_case import inequality
from dpfl_theory.cli import main
from dpfl_theory.core import Check, Performance, Source, Statement
from dpfl_theory.errors import InputError
from dpfl_theory.statements import all_statements

EXAMPLE = Path(__file__).parents[2] / "examples" / "worst_case.py"


def descent(K: int = 1, rate: float = 1 / 8, L: float = 1.0) -> tuple[Performance, Any, Any, Any]:
    """f(x_K) - f* <= rate ||x_0 - x*||^2 for gradient descent with step 1/L; true for rate >= L/(4K + 2)."""
    problem = PEP()
    f = problem.declare_function(SmoothConvexFunction, L=L)
    minimum = f.stationary_point()
    start = x = problem.set_initial_point()
    for _ in range(K):
        x = x - f.gradient(x) / L
    return Performance(problem, f(x) - f(minimum), rate * (start - minimum) ** 2, "descent"), f, start - minimum, x


def in_the_left_side() -> Performance:
    made, *_ = descent()
    return replace(made, left=made.left + 1)


def in_the_right_side() -> Performance:
    made, *_ = descent()
    return replace(made, right=made.right + 1 / 8)


def in_an_initial_condition() -> Performance:
    made, _, distance, _ = descent()
    made.problem.set_initial_condition(distance**2 <= 1)
    return made


def in_a_constraint() -> Performance:
    made, _, distance, _ = descent()
    made.problem.add_constraint(distance**2 <= 1, name="near")
    return made


def in_an_equality() -> Performance:
    made, _, distance, _ = descent()
    made.problem.add_constraint(distance**2 == 1)
    return made


def in_a_constraint_of_the_function() -> Performance:
    made, f, _, x = descent()
    f.add_constraint(f.gradient(x) ** 2 <= 1)
    return made


def in_a_constraint_of_a_sum() -> Performance:
    made, f, _, x = descent()
    both = f + made.problem.declare_function(SmoothConvexFunction, L=1.0)
    both.add_constraint(both.gradient(x) ** 2 <= 1)
    return made


def in_the_class() -> Performance:
    problem = PEP()
    f = problem.declare_function(ConvexLipschitzFunction, M=1.0)
    minimum, start = f.stationary_point(), problem.set_initial_point()
    return Performance(problem, f(start) - f(minimum), (start - minimum) ** 2, "Lipschitz")


def in_a_performance_metric() -> Performance:
    made, _, _, x = descent()
    made.problem.set_performance_metric(x**2)
    return made


def a_number_for_a_side() -> Performance:
    made, *_ = descent()
    return replace(made, right=1.0)


def a_matrix_inequality() -> Performance:
    made, _, distance, _ = descent()
    made.problem.add_psd_matrix([[distance**2, made.left], [made.left, distance**2]])
    return made


PLACES: dict[Callable[[], Performance], str] = {
    in_the_left_side: "the left side has the constant 1",
    in_the_right_side: "the right side has the constant 0.125",
    in_an_initial_condition: "initial condition 'Initial condition' has the constant -1",
    in_a_constraint: "constraint or initial condition 'near' has the constant -1",
    in_an_equality: "constraint or initial condition number 1 has the constant -1",
    in_a_constraint_of_the_function: "constraint number 1 of a function has the constant -1",
    in_a_constraint_of_a_sum: "constraint number 1 of a function has the constant -1",
    in_the_class: "the class ConvexLipschitzFunction has the constant -1",
    in_a_performance_metric: "leave set_performance_metric out",
    a_number_for_a_side: "the right side is the number 1.0",
    a_matrix_inequality: "use scalar constraints in place of add_psd_matrix",
}


def checked(build: Callable[[], Performance]) -> Any:
    statement = Statement("mine.one", "lemma", "t", Source("mine", "here"), "text")
    return worst_case.run(statement, Check("worst-case", "c", lambda *_: build(), part="a test"), Settings())


@pytest.mark.parametrize("build", PLACES, ids=lambda b: b.__name__)
def test_a_constant_is_refused_wherever_it_stands(build: Callable[[], Performance]) -> None:
    with pytest.raises(InputError, match=r"^check 'c' of mine\.one: ") as caught:
        checked(build)
    message = str(caught.value)
    assert PLACES[build] in message
    assert "\n" not in message
    if "constant" in message:
        assert "write it homogeneously" in message
        assert "unit**2" in message


def test_a_problem_for_information_is_held_to_the_same() -> None:
    with pytest.raises(InputError, match="initial condition"):
        checked(lambda: replace(descent()[0], also={"another": in_an_initial_condition}))


@pytest.mark.parametrize("K", [1, 2, 5])
def test_a_false_rate_is_proved_by_no_constant(K: int) -> None:
    """L/(4K + 4) for L/(4K + 2): under ||x_0 - x*||^2 <= 1 its normalised problem has the maximum 1."""
    made, _, distance, _ = descent(K, rate=1 / (4 * K + 4))
    assert checked(lambda: descent(K, rate=1 / (4 * K + 4))[0]).verdict == "violated"
    made, _, distance, _ = descent(K, rate=1 / (4 * K + 4))
    made.problem.set_initial_condition(distance**2 <= 1)
    with pytest.raises(NotACone):
        require_cone(made)


def with_a_unit(K: int, rate: float) -> Performance:
    """The remedy that the sentence names: each constant times the square of one more point."""
    made, _, distance, _ = descent(K, rate)
    unit = made.problem.set_initial_point()
    made.problem.set_initial_condition(distance**2 <= unit**2)
    return replace(made, right=rate * unit**2)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("K", [1, 2, 5])
def test_the_remedy_tells_the_true_rate_from_the_false_one(K: int) -> None:
    assert checked(lambda: with_a_unit(K, 1.000001 / (4 * K + 2))).verdict == "holds"
    found = checked(lambda: with_a_unit(K, 1 / (4 * K + 4)))
    assert found.verdict == "violated"
    assert found.lhs.estimate == pytest.approx((4 * K + 4) / (4 * K + 2), rel=1e-5)


@pytest.mark.slow
def test_no_problem_of_the_catalogue_has_a_constant() -> None:
    """One of each build; `check` looks at all of them."""
    seen: set[Any] = set()
    for statement, check in plan(all_statements(), ("worst-case",)):
        code = getattr(check.build, "__code__", None) or repr(check.build)
        if code not in seen:
            seen.add(code)
            require_cone(inequality(statement, check.make(statement)))
    assert len(seen) > 20


# The sign of the right side: left <= m right with m < 1 says left <= right only where right >= 0.


def squares(left: float, right: float) -> Performance:
    problem = PEP()
    x = problem.set_initial_point()
    return Performance(problem, left * x**2, right * x**2, f"{left} x^2 against {right} x^2")


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        (1, 2, "holds"),
        (-2, -1, "holds"),
        (-1, 1, "holds"),
        (-1, -2, "violated"),
        (1, -1, "violated"),
        (2, 1, "violated"),
    ],
)
def test_negative_sides_are_compared_too(left: float, right: float, verdict: str) -> None:
    """-x^2 <= -2 x^2 is false, although the left side is at most 0 where the right one is at most 1."""
    found = checked(lambda: squares(left, right))
    assert found.verdict == verdict, found.reason
    assert found.notes["proved_exactly"] == (verdict == "holds")
    assert found.notes["refuted_exactly"] == (verdict == "violated")


def indefinite(gain: float) -> Performance:
    """gain (x^2 - y^2) <= x^2 - y^2: true for gain = 1 alone, and the normalised maximum is gain."""
    problem = PEP()
    x, y = problem.set_initial_point(), problem.set_initial_point()
    return Performance(problem, gain * (x**2 - y**2), x**2 - y**2, f"{gain} (x^2 - y^2)")


@pytest.mark.parametrize(("gain", "verdict"), [(1.0, "holds"), (0.5, "violated"), (2.0, "violated")])
def test_a_right_side_of_either_sign(gain: float, verdict: str) -> None:
    assert checked(lambda: indefinite(gain)).verdict == verdict


def test_without_a_verified_counterexample_a_negative_right_side_is_inconclusive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(estimation, "refutes", lambda *_: False)
    found = checked(lambda: indefinite(0.5))
    assert found.verdict == "inconclusive"
    assert "the right side can be negative" in found.reason


def test_a_constraint_that_was_switched_off_proves_nothing() -> None:
    def build() -> Performance:
        made = squares(2, 1)
        x = made.problem.list_of_points[0]
        made.problem.add_constraint(x**2 <= 0)
        made.problem.list_of_constraints[0].deactivate()
        return made

    assert checked(build).verdict == "violated"


# The example of the documentation, and the same with its mistakes.


def example(tmp_path: Path, old: str, new: str) -> Path:
    text = EXAMPLE.read_text()
    assert old in text
    file = tmp_path / "mine.py"
    file.write_text(text.replace(old, new))
    return file


def loaded(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("example", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_example_holds_by_proof_and_reads_its_formula(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--file", str(EXAMPLE)]) == 0
    module = loaded(EXAMPLE)
    found = worst_case.run(module.THEOREM, module.THEOREM.checks[0], Settings())
    assert found.notes["proved_exactly"]
    assert found.ratio == pytest.approx(1, rel=1e-6)
    capsys.readouterr()
    assert main(["check", "--file", str(example(tmp_path, "4 * s.K + 2", "4 * s.K + 4"))]) == 1
    assert len(re.findall("^violated", capsys.readouterr().out, re.MULTILINE)) == 3


def test_the_examples_start_in_pepits_usual_words_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = "    problem.set_initial_condition((start - minimum) ** 2 <= 1)\n    for _step in"
    assert main(["check", "--file", str(example(tmp_path, "    for _step in", usual))]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "is not a cone" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(("rate", "rounded"), [(1 / 4, False), (1 / 3, True)])
def test_a_proof_says_whether_its_coefficients_are_the_intended_ones(rate: float, rounded: bool) -> None:
    found = checked(lambda: descent(1, rate)[0])
    assert found.notes["proved_exactly"]
    assert found.notes["coefficients_rounded"] == rounded
    assert ("rounded to double precision" in found.reason) == rounded


@pytest.mark.parametrize(("step", "L", "rounded"), [(1 / 8, 1.0, False), (0.1, 1.0, True), (1 / 8, 0.1, True)])
def test_coefficients_of_points_and_parameters_may_be_rounded_too(step: float, L: float, rounded: bool) -> None:
    """A step does not increase f: both sides have the coefficients 1 and -1 alone."""

    def build() -> Performance:
        problem = PEP()
        f = problem.declare_function(SmoothConvexFunction, L=L)
        minimum, x = f.stationary_point(), problem.set_initial_point()
        return Performance(problem, f(x - step * f.gradient(x)) - f(minimum), f(x) - f(minimum), "a step")

    found = checked(build)
    assert found.verdict == "holds"
    assert found.notes["coefficients_rounded"] == rounded


def test_an_odd_parameter_is_not_rounded() -> None:
    """The inequality has 1/(2L) = 1/6, which no double is: it is computed in fractions."""

    def build() -> Performance:
        problem = PEP()
        f = problem.declare_function(SmoothConvexFunction, L=3.0)
        minimum, x = f.stationary_point(), problem.set_initial_point()
        return Performance(problem, f.gradient(x) ** 2, 6.0 * (f(x) - f(minimum)), "gradient domination")

    found = checked(build)
    assert found.notes["proved_exactly"]
    assert not found.notes["coefficients_rounded"]
