"""Compile the kernels before many processes need them.

A new machine has no compiled kernels, and processes that start at the same time would wait for the same ones.
One process compiles them here, while others do work without kernels. Later all find the kernels on disk.
"""

from __future__ import annotations

from typing import Any

from dpfl_theory.kernels import select
from dpfl_theory.runtime.executor import one_thread


def compile_kernels(device: str) -> None:
    """Run, on problems of two clients, the algorithms whose kernels take long to compile; do nothing where runs are on
    a GPU."""
    if select(device).name != "cpu":
        return
    from dpfl_theory.algorithms.fedavg import DPFedAvg
    from dpfl_theory.algorithms.record_level import DPScaffold, RecordLevelFedAvg
    from dpfl_theory.algorithms.two_step_sizes import TwoSidedFedAvg
    from dpfl_theory.problems import make
    from dpfl_theory.simulation import Cohort, RecordGradient, Simulation, simulate

    huber = make("huber", clients=2, dimension=2, records=4, seed=0)
    quadratic = make("quadratic", clients=2, dimension=2, seed=0)
    private = DPFedAvg(eta=0.1, E=2, C=1.0, sigma=0.1)
    records: Any = {"eta_l": 0.1, "eta_g": 1.0, "s": 0.5, "C": 1.0, "sigma_g": 0.1}
    with one_thread():
        for cohort in (Cohort(), Cohort("fixed", 1)):
            for problem in (huber, quadratic):
                clipped = Simulation(private, cohort)
                for rounds in (2, 64):  # in the second run most rounds are played from a tape
                    simulate(clipped, problem, rounds, 2, observe=["suboptimality", "unclipped-gap"], device=device)
            for run in (
                Simulation(RecordLevelFedAvg(K=2, **records), cohort),
                Simulation(TwoSidedFedAvg(eta_l=0.1, eta_g=1.0, Q=2), cohort, RecordGradient()),
            ):
                simulate(run, huber, 2, 2, device=device)
        data = {"clients": 2, "dimension": 2, "records": 4, "ridge": 0.1}
        for problem in (make("logistic-synthetic", **data), make("softmax-synthetic", classes=3, **data)):
            simulate(private, problem, 2, 2, device=device)
            simulate(DPScaffold(K=1, **records), problem, 2, 2, device=device)
