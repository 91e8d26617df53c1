"""Your own theorem, stated and checked: gradient descent with Gaussian noise on the averaged gradient.

For convex, L-smooth, G-Lipschitz f_i and w_{k+1} = w_k - eta (grad f(w_k) + N(0, sigma^2 I)), eta <= 1/L:

    (2 - 2 eta L) E[f(w_k) - f(w*)]  <=  ||w_0 - w*||^2/(eta K)  +  eta d sigma^2     (k uniform over K rounds)

Proof: expand ||w_{k+1} - w*||^2, use <grad f(w), w - w*> >= f(w) - f(w*) and ||grad f(w)||^2 <= 2 L (f(w) - f(w*)),
sum over k and divide by eta K.

Run it with

    dpfl-theory check --file examples/my_statements.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.core import Expected, Hypothesis, Sides, Source, Statement, Symbol, Symbols, checks

# 1. The symbols: name in formulas, meaning, unit (exponents of F, the objective, and X, the parameters), domain, LaTeX.
SYMBOLS = (
    Symbol("K", "rounds", (0, 0), "integer", "K"),
    Symbol("d", "dimension", (0, 0), "integer", "d"),
    Symbol("L", "smoothness constant of every $f_i$", (1, -2), "positive", "L"),
    Symbol("G", "Lipschitz constant of every $f_i$", (1, -1), "positive", "G"),
    Symbol("sigma", "standard deviation of the noise, per coordinate", (1, -1), "nonnegative", r"\sigma"),
    Symbol("eta", "step size", (-1, 2), "positive", r"\eta"),
    Symbol("D", r"initial distance $\|w_0 - w^*\|$", (0, 1), "nonnegative", r"\|w_0 - w^*\|"),
)

# 2. The bounded quantity: a mean over rounds and replicates of one of the package's observables.
GAP = Expected("E_gap", (("suboptimality", 1),), (1, 0), r"\mathbb{E}[f(w_k) - f(w^*)]", "expected suboptimality")


# 3. The two sides, as named terms. Units are checked automatically.
def sides(s: Symbols) -> Sides:
    return Sides(
        lhs={"gap": (2 - 2 * s.eta * s.L) * s.E_gap},
        rhs={"initialisation": s.D**2 / (s.eta * s.K), "noise": s.eta * s.d * s.sigma**2},
    )


# 4. The run: a problem with certified constants, the algorithm, and the values of the symbols.
def experiment(_: Statement, instance: Mapping[str, Any]) -> Any:
    import numpy as np

    from dpfl_theory import problems
    from dpfl_theory.algorithms.fedavg import DPFedAvg, server_noise
    from dpfl_theory.core import Experiment
    from dpfl_theory.simulation import Simulation
    from dpfl_theory.statements.travel_bound import fedavg_reach

    problem = problems.make("huber", clients=5, dimension=10, heterogeneity=0.5, seed=1)
    c = problem.constants
    eta, rounds, start = float(instance["eta L"]) / c.L_max, int(instance["rounds"]), np.zeros(problem.d)
    sigma = float(instance["sigma/G"]) * c.G_max
    # With one local step no gradient is longer than the threshold G, so clipping changes nothing. It bounds how far
    # the run can travel, on which finite-sample confidence limits depend.
    run = DPFedAvg(eta=eta, C=c.G_max * (1 + 1e-9), sigma=sigma).replaced(noise=server_noise)
    algorithm = Simulation(run)
    assert c.w_star is not None
    distance = float(np.linalg.norm(start - c.w_star))
    values = {"K": rounds, "d": problem.d, "L": c.L_max, "G": c.G_max, "sigma": sigma, "eta": eta, "D": distance}
    reach = fedavg_reach(algorithm, problem, rounds, start)
    return Experiment(problem, algorithm, rounds, start, values, replicates=512, reach=reach)


THEOREM = Statement(
    id="mine.noisy-gradient-descent",
    kind="theorem",
    title="Gradient descent with Gaussian noise: convex and smooth",
    source=Source("mine", "notebook, page 1"),
    text=r"With $\eta \le 1/L$, the iterate of a uniformly random round satisfies the bound.",
    symbols=SYMBOLS,
    expectations=(GAP,),
    # The hypotheses: relations between symbols s, or between these and the certified constants c of the problem.
    hypotheses=(
        Hypothesis(lambda s: s.eta <= 1 / s.L),
        Hypothesis(lambda s, c: c.G_max <= s.G, "each $f_i$ is $G$-Lipschitz"),
    ),
    sides=sides,
    checks=checks(
        "monte-carlo",
        experiment,
        {
            "the start dominates": {"eta L": 0.5, "rounds": 20, "sigma/G": 0.05},
            "the noise dominates": {"eta L": 0.1, "rounds": 2000, "sigma/G": 1.0},
        },
    ),
)

STATEMENTS = (THEOREM,)
