"""Local gradient descent, averaged every H steps, on convex, L-smooth f_m (Khaled, Mishchenko, Richtarik 2020).

With gamma <= min{1/(4L), 1/(8L(H-1))}, xbar_T the mean of all points, sigma^2 = (1/M) sum_m ||grad f_m(x*)||^2:
    f(xbar_T) - f*  <=  4 D^2/(gamma T) + 20 gamma sigma^2/M + 16 gamma^2 L (H-1)^2 sigma^2
Run it with  dpfl-theory check --file examples/local_gradient_descent.py
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.claims import Values, WorstCase
from dpfl_theory.statements.formula import Letters
from dpfl_theory.statements.model import Assumption, Sides, Source, Statement, Symbol, checks


def sides(s: Letters) -> Sides:
    spread = 20 * s.gamma / s.M + 16 * s.gamma**2 * s.L * (s.H - 1) ** 2
    return Sides({"gap": s.gap}, {"start": 4 * s.D**2 / (s.gamma * s.T), "heterogeneity": spread * s.sigma**2})


def short_step(_: Any, v: Mapping[str, Any]) -> str | None:
    share = float(v["gamma"] * v["L"] * max(4, 8 * (v["H"] - 1)))
    return None if share <= 1 else f"gamma is {share:.4g} times its limit"


def mean_point(x: Any, f: Callable[[Any], Any], g: Callable[[Any], Any], gamma: Any, i: Mapping[str, Any]) -> Any:
    """xbar_T of two clients with these gradients, in any arithmetic."""
    a, b, total = x, x, 0 * x
    for t in range(i["T"]):
        a, b = ((a + b) / 2, (a + b) / 2) if t % i["H"] == 0 else (a, b)
        total = total + (a + b) / (2 * i["T"])
        a, b = a - gamma * f(a), b - gamma * g(b)
    return total


def all_functions(_: Statement, i: Mapping[str, Any]) -> WorstCase:
    from PEPit import PEP, Expression, Point
    from PEPit.functions import SmoothConvexFunction

    problem, star, gamma = PEP(), Point(is_leaf=False, decomposition_dict={}), float(Fraction(i["gamma L"]))
    f, g = (problem.declare_function(SmoothConvexFunction, L=1.0) for _ in range(2))
    slope, start = f.gradient(star), problem.set_initial_point()
    g.add_point((star, -slope, Expression()))  # the origin is x*: the two gradients add up to nothing
    mean = mean_point(start, f.gradient, g.gradient, gamma, i)
    known = {"gamma": gamma, "L": 1, "H": i["H"], "T": i["T"], "M": 2, "D^2": start**2, "sigma^2": slope**2}
    return WorstCase(problem, {**known, "gap": (f(mean) + g(mean) - f(star) - g(star)) / 2})


def quadratics(_: Statement, i: Mapping[str, Any]) -> Iterator[Values]:
    """f_m(x) = a_m (x - b_m)^2/2 on the line, from x = 3, with minimiser 0 of their mean."""
    for a, b in (((1, 1), (1, -1)), ((1, Fraction(1, 4)), (Fraction(1, 4), -1)), ((1, 1), (0, 0))):
        known = {"gamma": Fraction(i["gamma L"]), "L": 1, "H": i["H"], "T": i["T"], "M": 2, "D": 3}
        f, g = (lambda x, a=a_m, b=b_m: a * (x - b) for a_m, b_m in zip(a, b))
        gap = Fraction(a[0] + a[1]) / 4 * mean_point(Fraction(3), f, g, known["gamma"], i) ** 2
        yield Values({**known, "sigma": abs(a[0] * b[0]), "gap": gap}, {"a": a, "b": b})


STEPS = {1: (1, "1/4"), 4: (2, "1/8"), 2: (2, "8/63")}  # T: H and gamma L, the last just too long
RUNS, OUT = {f"T = {T}": {"H": H, "T": T, "gamma L": g} for T, (H, g) in STEPS.items()}, {"T = 2": "not-applicable"}
THEOREM = Statement(
    id="outside.local-gradient-descent",
    kind="theorem",
    title="Local gradient descent",
    source=Source("outside", "after Khaled, Mishchenko, Richtarik (2020)", provenance="derived"),
    text="The mean of the clients' points over T steps satisfies the bound.",
    symbols=(
        Symbol("gamma", "step", (-1, 2), latex=r"\gamma"),
        Symbol("L", "smoothness", (1, -2)),
        Symbol("sigma", "deviation of the gradients at x*", (1, -1), "nonnegative", r"\sigma"),
        Symbol("D", "||x_0 - x*||", (0, 1), "nonnegative"),
        *(Symbol(name, meaning, domain="integer") for name, meaning in zip("HTM", ("period", "steps", "clients"))),
        Symbol("gap", "f(xbar_T) - f*", (1, 0), "nonnegative", r"f(\bar x_T) - f^*"),
    ),
    assumptions=(Assumption("gamma <= min{1/(4L), 1/(8L(H-1))}", short_step),),
    sides=sides,
    checks=checks("worst-case", all_functions, RUNS, OUT) + checks("exact", quadratics, RUNS, OUT),
)

STATEMENTS = (THEOREM,)
