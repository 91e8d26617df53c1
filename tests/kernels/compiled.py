"""Compiles the kernels into Numba's cache, once for all processes of a test run: a fresh checkout has none of them.

`tests/conftest.py` runs this file beside the workers of pytest-xdist; the rest is compiled where it is needed.
"""

from __future__ import annotations

from dpfl_theory.algorithms.bounding import Clip


def compile_all() -> None:
    """Short runs that need the kernels that take long: rounds that are played, and rounds of records."""
    from dpfl_theory.algorithms import Cohort, FedAvg, RecordGradient, Scaffold, TwoSidedFedAvg, simulate
    from dpfl_theory.problems import make

    records = {"clients": 3, "dimension": 2, "records": 5, "ridge": 0.1}
    seen = ["suboptimality", "gradient-norm-squared"]
    played = FedAvg(0.1, 4, cohort=Cohort("poisson", 2), sigma=0.1)
    simulate(played, make("quadratic", clients=3, dimension=2), 60, 2, 0, seen, device="cpu")
    for problem in (make("logistic-synthetic", **records), make("softmax-synthetic", classes=3, **records)):
        simulate(FedAvg(0.1, 2, bounding=Clip(1.0), sigma=0.1), problem, 2, 2, 0, seen, device="cpu")
        for gradient in (RecordGradient(0.5), RecordGradient(0.5, 1.0, 0.1), RecordGradient(1.0, 1.0)):
            for algorithm in (TwoSidedFedAvg, Scaffold):
                own = algorithm(0.1, cohort=Cohort("fixed", 2), gradient=gradient)
                simulate(own, problem, 2, 2, 0, seen, device="cpu")


if __name__ == "__main__":
    compile_all()
