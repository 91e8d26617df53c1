"""das2022 Appendix E: Lemmas 8, 9 and 10 on a client's gradient steps, Facts 1 and 2, and Lemma 10's repair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from dpfl_theory.statements.das2022 import _letters as das
from dpfl_theory.statements.model import Check, Erratum, Sides, Source, Statement, Symbol, sympy_symbols

if TYPE_CHECKING:
    from dpfl_theory.checks.algebra import Outcome
    from dpfl_theory.checks.exact import Case
    from dpfl_theory.checks.worst_case import Performance

_CLASSES = ("convex", "non-convex")

_STEP = Symbol("eta_k", "local step size of the round", (-1, 2), "positive", r"\eta_k")
_TAU = Symbol("tau", "number of local steps taken", (0, 0), "integer", r"\tau")
_BEFORE = Symbol("distance_before", "||w_k - w*||", (0, 1), "nonnegative", r"\|w_k - w^*\|")
_AFTER = Symbol("distance_after", "||w_{k,E}^{(i)} - w*||", (0, 1), "nonnegative", r"\|w_{k,E}^{(i)} - w^*\|")
_SQUARES = Symbol(
    "sum_gradients_squared", "sum over the local steps of ||grad f_i(w_{k,tau}^{(i)})||^2", (2, -2), "nonnegative",
    r"\sum_{\tau=0}^{E-1} \|\nabla f_i(w_{k,\tau}^{(i)})\|^2",
)  # fmt: skip
_DELTA = Symbol("Delta_i", "the client's heterogeneity f_i(w*) - min f_i", (1, 0), "nonnegative", r"\Delta_i^*")
_MOVED = Symbol("displacement", "||w_k - w_{k,tau}^{(i)}||", (0, 1), "nonnegative", r"\|w_k - w_{k,\tau}^{(i)}\|")
_UPDATE = Symbol("update", "||u_k^{(i)}||", (1, -1), "nonnegative", r"\|u_k^{(i)}\|")
_GAP = Symbol("gap_i", "f_i(w_k) - f_i^*", (1, 0), "nonnegative", r"(f_i(w_k) - f_i^*)")
_NOW = Symbol("gradient", "||grad f_i(w_{k,tau}^{(i)})||", (1, -1), "nonnegative", r"\|\nabla f_i(w_{k,\tau}^{(i)})\|")
_NEXT = Symbol(
    "next_gradient", "||grad f_i(w_{k,tau+1}^{(i)})||", (1, -1), "nonnegative", r"\|\nabla f_i(w_{k,\tau+1}^{(i)})\|"
)
_CHANGE = Symbol(
    "gradient_change", "||grad f_i(w_{k,tau+1}^{(i)}) - grad f_i(w_{k,tau}^{(i)})||", (1, -1), "nonnegative",
    r"\|\nabla f_i(w_{k,\tau+1}^{(i)}) - \nabla f_i(w_{k,\tau}^{(i)})\|",
)  # fmt: skip
_SLOPE = Symbol("slope", "||grad h(x)||", (1, -1), "nonnegative", r"\|\nabla h(x)\|")
_HEIGHT = Symbol("height", "h(x) - h*", (1, 0), "nonnegative", r"(h(x) - h^*)")
_COUNT = Symbol("p", "number of vectors", (0, 0), "integer", "p")
_SUM = Symbol("norm_of_sum", "||y_1 + ... + y_p||", (1, -1), "nonnegative", r"\left\|\sum_{i=1}^p y_i\right\|")
_NORMS = Symbol(
    "sum_of_squared_norms", "||y_1||^2 + ... + ||y_p||^2", (2, -2), "nonnegative", r"\sum_{i=1}^p \|y_i\|^2"
)

_INTERPOLATION = (
    "In the class of smooth functions with a minimum, which need not be convex, ||g||^2 <= 2L(f - f*) at every point "
    "together with the interpolation conditions is necessary and sufficient (Drori, Shamir 2020, Theorem 7)"
)


class _LocalPhase:
    """Gradient steps from w_k on one function of a class, whose minimum is 0 and attained at the origin.

    points[t], gradients[t]: PEPit points; value(t) and value_at(point): expressions. Placing a minimiser at the origin
    and the minimum at 0 loses nothing (shifts change neither class nor method) and makes the problem better
    conditioned.
    """

    def __init__(self, convexity: str, smoothness: float, step: float, steps: int, assume_fact1: bool = True) -> None:
        from PEPit import PEP, Expression, Point
        from PEPit.functions import SmoothConvexFunction, SmoothFunction

        kind = {"convex": SmoothConvexFunction, "non-convex": SmoothFunction}[convexity]
        self.problem = PEP()
        self.function = self.problem.declare_function(kind, L=smoothness)
        zero = [Point(is_leaf=False, decomposition_dict={}) for _ in range(2)]
        self.minimum = Expression(is_leaf=False, decomposition_dict={})
        self.function.add_point((zero[0], zero[1], self.minimum))
        self.points = [self.problem.set_initial_point()]
        self.gradients: list[Any] = []
        # Interpolation with the minimiser bounds convex functions from below, but no others: see _INTERPOLATION.
        self._add_fact1 = assume_fact1 and convexity == "non-convex"
        self._smoothness = smoothness
        for _ in range(steps):
            self.points.append(self.points[-1] - step * self.gradient(len(self.gradients)))

    def gradient(self, t: int) -> Any:
        """The gradient at points[t], sampled when first asked for."""
        if t == len(self.gradients):
            g = self.function.gradient(self.points[t])
            self.gradients.append(g)
            if self._add_fact1:
                self.problem.add_constraint(g**2 / (2 * self._smoothness) <= self.function(self.points[t]))
        return self.gradients[t]

    def value(self, t: int) -> Any:
        """f(points[t]) - min f."""
        return self.function(self.points[t])


def _number(instance: Mapping[str, Any], name: str) -> float:
    return float(Fraction(str(instance[name])))


def _step_size(instance: Mapping[str, Any]) -> tuple[float, float]:
    """(L, eta) of an instance that gives L and the product eta L."""
    smoothness = _number(instance, "L")
    return smoothness, _number(instance, "eta L") / smoothness


def _grid(**axes: tuple[Any, ...]) -> dict[str, dict[str, Any]]:
    """All combinations of the axes' values, named by them."""
    instances: list[dict[str, Any]] = [{}]
    for axis, values in axes.items():
        instances = [{**known, axis: value} for known in instances for value in values]
    return {", ".join(f"{k} = {v}" if k != "class" else str(v) for k, v in i.items() if k != "L"): i for i in instances}


# Lemma 8


def lemma8_performance(
    instance: Mapping[str, Any], coefficient: Callable[[float, float], float] | None = None
) -> Performance:
    """coefficient(eta, L) sum ||grad||^2 <= ||w_k - w*||^2 - ||w_{k,E} - w*||^2 + 2 eta E Delta_i; eta/(2L) is printed.

    w* is any point, not a minimiser of f_i.
    """
    from dpfl_theory.checks.worst_case import Performance

    smoothness, step = _step_size(instance)
    steps = int(instance["E"])
    phase = _LocalPhase("convex", smoothness, step, steps)
    target = phase.problem.set_initial_point()
    squares = sum(g**2 for g in phase.gradients)
    delta = phase.function(target) - phase.minimum
    factor = step / (2 * smoothness) if coefficient is None else coefficient(step, smoothness)
    return Performance(
        phase.problem,
        left=factor * squares,
        right=(phase.points[0] - target) ** 2 - (phase.points[-1] - target) ** 2 + 2 * step * steps * delta,
        what=f"{factor:.6g} sum ||grad||^2 against the decrease of ||w - w*||^2 plus 2 eta E Delta_i",
    )


def _lemma8(instance: Mapping[str, Any]) -> Performance:
    """The printed inequality; for information also the coefficient eta(1/L - eta), and steps above 1/(2L)."""
    also: dict[str, Callable[[], Performance]] = {
        "coefficient eta(1/L - eta)": lambda: lemma8_performance(instance, lambda step, L: step * (1 / L - step))
    }
    if instance["eta L"] == "1/2":
        for product in ("33/64", "3/4", "1"):
            beyond = {**instance, "eta L": product}
            also[f"eta L = {product}, outside the hypotheses"] = partial(lemma8_performance, beyond)
    return replace(lemma8_performance(instance), also=also)


def _lemma8_sides() -> Sides:
    s = sympy_symbols(LEMMA8)
    return Sides(
        lhs={"distance after": s["distance_after"] ** 2},
        rhs={
            "distance before": s["distance_before"] ** 2,
            "gradients": -s["eta_k"] / (2 * s["L"]) * s["sum_gradients_squared"],
            "heterogeneity": 2 * s["eta_k"] * s["E"] * s["Delta_i"],
        },
    )


LEMMA8 = Statement(
    id="das2022.lemma8",
    kind="lemma",
    title="A local phase moves towards w*, up to the client's heterogeneity",
    source=Source(das.PAPER, "Lemma 8, Appendix E", note="w* minimises f, not f_i: here it may be any point"),
    text="If f_i is convex and L-smooth and eta_k <= 1/(2L), then the local phase of Algorithm 1 satisfies the bound.",
    symbols=(_AFTER, _BEFORE, _STEP, _SQUARES, *das.letters("L", "E"), _DELTA),
    assumptions=(das.CONVEX, das.SMOOTH),
    sides=_lemma8_sides,
    checks=(
        *(
            Check("worst-case", name, _lemma8, instance)
            for name, instance in _grid(**{"E": (1, 2, 3, 4), "eta L": ("1/2", "1/4", "1/16"), "L": ("1",)}).items()
        ),
        Check("worst-case", "E = 2, eta L = 1/2, L = 4", _lemma8, {"E": 2, "eta L": "1/2", "L": "4"}),
    ),
    uses=("das2022.fact1",),
)

# Lemma 9


def lemma9_performance(instance: Mapping[str, Any], power: int = 2) -> Performance:
    """||w_k - w_{k,tau}||^2 <= 2 eta^2 L tau^power (f_i(w_k) - f_i^*), or conclusion 2 on u_k = (w_k - w_{k,E})/eta."""
    from dpfl_theory.checks.worst_case import Performance

    smoothness, step = _step_size(instance)
    steps = int(instance["tau"])
    phase = _LocalPhase(str(instance["class"]), smoothness, step, steps)
    if instance["conclusion"] == 1:
        left, factor, name = (phase.points[0] - phase.points[-1]) ** 2, 2 * step**2 * smoothness, "||w_k - w_k,tau||^2"
    else:
        left, factor, name = sum(phase.gradients[1:], phase.gradients[0]) ** 2, 2 * smoothness, "||u_k||^2"
    right = factor * steps**power * phase.value(0)
    return Performance(phase.problem, left, right, f"{name} against {factor * steps**power:.6g} (f_i(w_k) - f_i*)")


def _second_conclusion(_: Mapping[str, Any]) -> Outcome:
    """u_k = (w_k - w_{k,E})/eta_k turns the first conclusion at tau = E into the second."""
    from dpfl_theory.checks.algebra import equal

    s = sympy_symbols(LEMMA9)
    first = _lemma9_sides().rhs["smoothness"].subs(s["tau"], s["E"]) / s["eta_k"] ** 2
    return equal(
        first,
        2 * s["L"] * s["E"] ** 2 * s["gap_i"],
        "the first conclusion at tau = E, over eta_k^2, against the second",
    )


def _lemma9_sides() -> Sides:
    s = sympy_symbols(LEMMA9)
    return Sides(
        lhs={"displacement": s["displacement"] ** 2},
        rhs={"smoothness": 2 * s["eta_k"] ** 2 * s["L"] * s["tau"] ** 2 * s["gap_i"]},
    )


_LEMMA9_NOTE = (
    "the paper applies it to convex f_i only, but states and proves it for all L-smooth f_i; at eta = 1/L the worst "
    "ratio found is (tau + 1)/(2 tau^2) for convex and (2 tau + 1)/(3 tau^2) for smooth f_i (tau <= 4), and it tends "
    "to 1 as eta tends to 0"
)

LEMMA9 = Statement(
    id="das2022.lemma9",
    kind="lemma",
    title="How far local steps move, by the suboptimality of the start",
    source=Source(das.PAPER, "Lemma 9, Appendix E", note=f"{_LEMMA9_NOTE}. {_INTERPOLATION}"),
    text=(
        "If f_i is L-smooth (convex or not) with minimum f_i^* and eta_k <= 1/L, then for all tau >= 1 the bound "
        "holds; thus ||u_k^{(i)}||^2 <= 2 L E^2 (f_i(w_k) - f_i^*)."
    ),
    symbols=(_MOVED, _UPDATE, _STEP, _TAU, *das.letters("L", "E"), _GAP),
    assumptions=(das.SMOOTH,),
    sides=_lemma9_sides,
    checks=(
        Check("algebra", "second conclusion", _second_conclusion),
        *(
            Check(
                "worst-case",
                f"conclusion {conclusion}, {name}",
                lemma9_performance,
                {**instance, "conclusion": conclusion},
            )
            for conclusion, products in ((1, ("1", "1/2", "1/8")), (2, ("1", "1/2")))
            for name, instance in _grid(
                **{"class": _CLASSES, "tau": (1, 2, 3, 4), "eta L": products, "L": ("1",)}
            ).items()
        ),
    ),
    uses=("das2022.fact1", "das2022.fact2"),
)

# Lemma 10


def lemma10_performance(instance: Mapping[str, Any], extra: float = 0.0) -> Performance:
    """||g_1||^2 + (2/(eta L) - 1 + extra) ||g_1 - g_0||^2 <= ||g_0||^2, a negative coefficient on the right."""
    from dpfl_theory.checks.worst_case import Performance

    smoothness, step = _step_size(instance)
    phase = _LocalPhase(str(instance["class"]), smoothness, step, 1)
    now, after = phase.gradient(0), phase.gradient(1)
    coefficient = 2 / (step * smoothness) - 1 + extra
    return Performance(
        phase.problem,
        left=after**2 + max(coefficient, 0.0) * (after - now) ** 2,
        right=now**2 + max(-coefficient, 0.0) * (after - now) ** 2,
        what=f"||g_1||^2 against ||g_0||^2 - ({coefficient:.6g}) ||g_1 - g_0||^2",
    )


def concave_quadratic(instance: Mapping[str, Any]) -> list[Case]:
    """f(w) = -L w^2/2 from w = 1: g_0 = -L, g_1 = -(1 + eta L)L."""

    cases = []
    for text in instance["eta L"]:
        product, smoothness = Fraction(str(text)), Fraction(str(instance["L"]))
        now, after = -smoothness, -(1 + product) * smoothness
        values = {"f": "-L w^2/2", "w": 1, "L": smoothness, "eta L": product}
        cases.append(_lemma10_case(values, now, after, product))
    return cases


def smooth_well(instance: Mapping[str, Any]) -> list[Case]:
    """f' = -w on |w| <= 1, w - 2 for w >= 1, w + 2 for w <= -1: smooth with L = 1 and minimum -1 at w = 2 and w = -2.

    From w = 1/(2(1 + eta)), so that the step ends at 1/2, still inside the concave part.
    """

    cases = []
    for text in instance["eta L"]:
        step = Fraction(str(text))
        start = 1 / (2 * (1 + step))
        after = start - step * _well_slope(start)
        values = {"f'": "-w, then w - 2 from w = 1 on", "w": start, "L": 1, "eta L": step}
        cases.append(_lemma10_case(values, _well_slope(start), _well_slope(after), step))
    return cases


def _well_slope(w: Fraction) -> Fraction:
    return -w if abs(w) <= 1 else (w - 2 if w > 0 else w + 2)


def _lemma10_case(values: Mapping[str, Any], now: Fraction, after: Fraction, product: Fraction) -> Case:
    from dpfl_theory.checks.exact import Case

    return Case(values, after**2, now**2 - (2 / product - 1) * (after - now) ** 2)


def _convex_quadratic(instance: Mapping[str, Any]) -> list[Case]:
    """f(w) = L w^2/2 from w = 1, where Lemma 10 is an equality: g_1 = (1 - eta L) g_0."""
    smoothness = Fraction(str(instance["L"]))
    return [
        _lemma10_case({"f": "L w^2/2", "eta L": product}, smoothness, (1 - product) * smoothness, product)
        for product in (Fraction(str(text)) for text in instance["eta L"])
    ]


def _cocoercivity(_: Mapping[str, Any]) -> Outcome:
    """The bound's slack is (2/eta) times the slack of co-coercivity between the two iterates, for every eta > 0."""
    import sympy as sp

    from dpfl_theory.checks.algebra import equal

    eta, L = sp.symbols("eta L", positive=True)
    now, inner, change = sp.symbols("now inner change", real=True)  # ||g_0||^2, <g_0, g_1 - g_0>, ||g_1 - g_0||^2
    after = now + 2 * inner + change
    cocoercive = -eta * inner - change / L  # <g_1 - g_0, w_1 - w_0> - ||g_1 - g_0||^2/L >= 0
    return equal(
        now - (2 / (eta * L) - 1) * change - after,
        2 / eta * cocoercive,
        "the slack of Lemma 10 against that of co-coercivity",
    )


def _lemma10_sides() -> Sides:
    s = sympy_symbols(LEMMA10)
    return Sides(
        lhs={"next gradient": s["next_gradient"] ** 2},
        rhs={
            "gradient": s["gradient"] ** 2,
            "change": -(2 / (s["eta_k"] * s["L"]) - 1) * s["gradient_change"] ** 2,
        },
    )


_PRODUCTS = ("1", "1/8", "1/2", "2", "4")

LEMMA10 = Statement(
    id="das2022.lemma10",
    kind="lemma",
    title="Gradient norms along local steps",
    source=Source(das.PAPER, "Lemma 10, Appendix E", note=f"any step size is allowed. {_INTERPOLATION}"),
    text="If f_i is L-smooth, then consecutive local gradients in Algorithm 1 satisfy the bound.",
    symbols=(_NEXT, _NOW, _CHANGE, _STEP, *das.letters("L")),
    assumptions=(das.SMOOTH,),
    sides=_lemma10_sides,
    checks=(
        Check("exact", "concave quadratic", concave_quadratic, {"L": "1", "eta L": list(_PRODUCTS)}, "violated"),
        Check("exact", "non-convex with a minimum", smooth_well, {"eta L": list(_PRODUCTS)}, "violated"),
        *(
            Check(
                "worst-case",
                name,
                lemma10_performance,
                instance,
                "violated" if instance["class"] == "non-convex" else "holds",
            )
            for name, instance in _grid(**{"class": _CLASSES, "eta L": _PRODUCTS, "L": ("1",)}).items()
        ),
    ),
    expected="violated",
    erratum=Erratum(
        printed="Lemma 10 supposes only that each f_i is L-smooth.",
        true=(
            "It holds, for every step size eta_k > 0, when f_i is also convex; for smooth f_i in general it fails at "
            "every step size."
        ),
        cause=(
            "Eq. (59), co-coercivity of the gradient, is derived from L-smoothness alone, but needs convexity. Lemma 8 "
            "says 'convex and L-smooth', Lemmas 9 and 10 say 'L-smooth' only, and no standing assumption of the paper "
            "makes every f_i convex: each theorem states convexity for itself. No printed result uses Lemma 10."
        ),
        counterexample=(
            "f_i(w) = -w^2/2 (L = 1), eta_k = 1, w = 1: gradients -1 and then -2, and 4 <= 1 - (2 - 1) 1 = 0 is false. "
            "Also with a minimum: f_i' = -w on |w| <= 1 and w - 2 beyond, from w = 1/4: 1/4 <= 0 is false."
        ),
        repaired="das2022.lemma10.repaired",
    ),
)

LEMMA10_REPAIRED = Statement(
    id="das2022.lemma10.repaired",
    kind="lemma",
    title="Gradient norms along local steps, convex f_i",
    source=Source(
        das.PAPER, "Lemma 10, Appendix E", note="repaired: f_i is assumed convex; equality on f_i(w) = L w^2/2"
    ),
    text="If f_i is convex and L-smooth, then consecutive local gradients satisfy the bound, for every eta_k > 0.",
    symbols=LEMMA10.symbols,
    assumptions=(das.CONVEX, das.SMOOTH),
    sides=_lemma10_sides,
    checks=(
        Check("algebra", "equivalent to co-coercivity", _cocoercivity),
        Check("exact", "equality on a quadratic", _convex_quadratic, {"L": "1", "eta L": list(_PRODUCTS)}),
        *(
            Check(
                "worst-case",
                name,
                lambda i: replace(
                    lemma10_performance(i), also={"coefficient larger by 1/64": lambda: lemma10_performance(i, 1 / 64)}
                ),
                instance,
            )
            for name, instance in _grid(**{"class": ("convex",), "eta L": _PRODUCTS, "L": ("1",)}).items()
        ),
    ),
)

# Facts


def fact1_performance(instance: Mapping[str, Any], factor: float = 2.0) -> Performance:
    """||grad h(x)||^2 <= factor L (h(x) - h*).

    The class is told only that h* is not above h at the sampled points, one of which is x - grad h(x)/L, so that
    nothing it is told contains the claim.
    """
    from dpfl_theory.checks.worst_case import Performance

    smoothness = _number(instance, "L")
    phase = _LocalPhase(str(instance["class"]), smoothness, 1 / smoothness, 1, assume_fact1=False)
    phase.problem.add_constraint(phase.minimum <= phase.value(1))
    right = factor * smoothness * phase.value(0)
    return Performance(
        phase.problem, phase.gradient(0) ** 2, right, f"||grad h||^2 against {factor * smoothness:.6g} (h - h*)"
    )


def _fact1_quadratic(instance: Mapping[str, Any]) -> list[Case]:
    """h(x) = L x^2/2, where Fact 1 is an equality."""
    from dpfl_theory.checks.exact import Case

    cases = []
    for text in instance["x"]:
        x, smoothness = Fraction(str(text)), Fraction(str(instance["L"]))
        cases.append(Case({"h": "L x^2/2", "x": x}, (smoothness * x) ** 2, 2 * smoothness * (smoothness * x**2 / 2)))
    return cases


def _fact1_sides() -> Sides:
    s = sympy_symbols(FACT1)
    return Sides(lhs={"slope": s["slope"] ** 2}, rhs={"height": 2 * s["L"] * s["height"]})


FACT1 = Statement(
    id="das2022.fact1",
    kind="fact",
    title="Gradient norm of a smooth function, by its suboptimality",
    source=Source(das.PAPER, "Fact 1, Appendix E"),
    text="If h is L-smooth (convex or not) with minimum h*, then the bound holds everywhere.",
    symbols=(_SLOPE, _HEIGHT, *das.letters("L")),
    assumptions=(das.SMOOTH,),
    sides=_fact1_sides,
    checks=(
        Check("exact", "equality on a quadratic", _fact1_quadratic, {"L": "3", "x": ["-2", "1/7", "5"]}),
        *(
            Check("worst-case", name, fact1_performance, instance)
            for name, instance in (
                *_grid(**{"class": _CLASSES, "L": ("1",)}).items(),
                ("non-convex, L = 1/8", {"class": "non-convex", "L": "1/8"}),
            )
        ),
    ),
)


def _sum_of_squares(instance: Mapping[str, Any]) -> Outcome:
    """p sum y_i^2 - (sum y_i)^2 = sum over pairs of (y_i - y_j)^2, coordinate by coordinate."""
    from itertools import combinations

    import sympy as sp

    from dpfl_theory.checks.algebra import equal

    p = int(instance["p"])
    y = sp.symbols(f"y1:{p + 1}", real=True)
    left = p * sum(v**2 for v in y) - sum(y) ** 2
    right = sum((a - b) ** 2 for a, b in combinations(y, 2))
    return equal(
        sp.expand(left),
        sp.expand(right),
        f"the slack of Fact 2 for p = {p} against the squared differences of all pairs",
    )


def _every_count(_: Mapping[str, Any]) -> Outcome:
    """With J the p x p matrix of ones, J^2 = p J, so p I - J = (p I - J)^T (p I - J)/p is semidefinite, for every p."""
    import sympy as sp

    from dpfl_theory.checks.algebra import equal

    p, J = sp.symbols("p J")
    square = sp.rem(sp.expand((p - J) ** 2), J**2 - p * J, J)  # polynomials in J and the identity, where J^2 = p J
    return equal(square / p, p - J, "the square of p I - J over p, with J^2 = p J, against p I - J (for every p)")


def fact2_cases(instance: Mapping[str, Any], factor: Callable[[int], Fraction] = Fraction) -> list[Case]:
    """||sum y_i||^2 <= p sum ||y_i||^2 for equal vectors, then for integer vectors of a seeded sequence."""
    import random

    from dpfl_theory.checks.exact import Case

    draws = random.Random(int(instance["seed"]))
    cases = []
    for p in instance["p"]:
        equal_vectors = [(1, 2, -3)] * p
        drawn = [tuple(draws.randint(-9, 9) for _ in range(3)) for _ in range(p)]
        for name, vectors in (("equal", equal_vectors), ("drawn", drawn)):
            total = [sum(v[k] for v in vectors) for k in range(3)]
            squares = sum(x * x for v in vectors for x in v)
            cases.append(Case({"p": p, "vectors": name}, Fraction(sum(x * x for x in total)), factor(p) * squares))
    return cases


def _fact2_sides() -> Sides:
    s = sympy_symbols(FACT2)
    return Sides(lhs={"sum": s["norm_of_sum"] ** 2}, rhs={"squares": s["p"] * s["sum_of_squared_norms"]})


FACT2 = Statement(
    id="das2022.fact2",
    kind="fact",
    title="Squared norm of a sum",
    source=Source(
        das.PAPER, "Fact 2, Appendix E", note="equality exactly when all vectors are equal; p = 1 is an equality too"
    ),
    text="For any p > 1 vectors the bound holds.",
    symbols=(_SUM, _COUNT, _NORMS),
    sides=_fact2_sides,
    checks=(
        Check("algebra", "every p", _every_count),
        *(Check("algebra", f"sum of squares, p = {p}", _sum_of_squares, {"p": p}) for p in (2, 3, 4, 5)),
        Check("exact", "equal and drawn vectors", fact2_cases, {"p": [2, 3, 4, 5, 12], "seed": 1}),
    ),
)

STATEMENTS = (LEMMA8, LEMMA9, LEMMA10, LEMMA10_REPAIRED, FACT1, FACT2)
