"""The cost of a round of a small problem: played from a tape, compared with the written code.

Run ``python benchmarks/rounds.py``. Each row is one algorithm on one problem, observed in every round; both ways take
the same rounds in one process, in turn. The table gives medians over repetitions of microseconds a round, and the
median of the ratios within a repetition.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

from dpfl_theory.algorithms.error_feedback import NormEC
from dpfl_theory.algorithms.fedavg import DPFedAvg
from dpfl_theory.algorithms.scaffnew import DPScaffNew
from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg
from dpfl_theory.problems import make
from dpfl_theory.simulation import Cohort, Simulation, simulate

LOOP: Any = sys.modules[simulate.__module__]
ROUNDS, REPETITIONS = 600, 7
POISSON = Cohort("poisson", 2)
CASES = {
    "FedAvg, E = 1": Simulation(DPFedAvg(eta=0.1, C=1.0, sigma=0.3)),
    "FedAvg, E = 4, Poisson": Simulation(DPFedAvg(eta=0.1, E=4, C=1.0, sigma=0.3), POISSON),
    "two-sided, E = 3": Simulation(DPTwoSidedFedAvg(eta_l=0.1, eta_g=1.5, Q=3, c=0.5, sigma=0.1)),
    "alpha-NormEC": Simulation(NormEC(gamma=0.1, alpha=0.5, beta=0.2, sigma=0.1)),
    "ScaffNew": Simulation(DPScaffNew(eta=0.5, p=0.3, C=1.0, sigma=0.1)),
}
PROBLEMS = {
    "3 Huber, d = 1": make("huber-scalar"),
    "3 quadratics, d = 1": make("quadratic", clients=3, dimension=1, seed=1),
    "2 planes, d = 2": make("huber-planes"),
    "8 quadratics, d = 6": make("quadratic", clients=8, dimension=6, seed=1),
    "10 Huber, d = 5": make("huber", clients=10, dimension=5, records=4, seed=1),
}
WIDTHS = (64, 512)


def seconds(algorithm: Any, problem: Any, replicates: int) -> float:
    started = time.perf_counter()
    simulate(algorithm, problem, ROUNDS, replicates, device="cpu")
    return time.perf_counter() - started


def main() -> None:
    worthwhile = LOOP.worthwhile
    print(f"{'':24s} {'':22s} {'replicates':>5s} {'played':>8s} {'written':>8s} {'ratio':>6s}   microseconds a round")
    for name, problem in PROBLEMS.items():
        for label, algorithm in CASES.items():
            for replicates in WIDTHS:
                seen: dict[bool, list[float]] = {True: [], False: []}
                for repetition in range(REPETITIONS + 1):
                    for played in (True, False):
                        LOOP.worthwhile = worthwhile if played else lambda *_: False
                        spent = seconds(algorithm, problem, replicates)
                        if repetition:  # the first one compiles
                            seen[played].append(1e6 * spent / ROUNDS)
                LOOP.worthwhile = worthwhile
                ratio = statistics.median(b / a for a, b in zip(seen[True], seen[False]))
                cells = " ".join(f"{statistics.median(seen[way]):8.1f}" for way in (True, False))
                print(f"{name:22s} {label:24s} {replicates:5d} {cells} {ratio:6.1f}")


if __name__ == "__main__":
    main()
