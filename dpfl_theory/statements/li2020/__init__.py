"""The statements of li2020."""

from dpfl_theory.core.paper import Paper

REFERENCE = Paper(
    "li2020",
    authors="Li, Huang, Yang, Wang, Zhang",
    title="On the Convergence of FedAvg on Non-IID Data",
    year="2020",
    copy="notes with the formulas of Theorems 1 to 4; the paper itself was not at hand",
    contents={f"Theorem {n}": f"theorem{n}" for n in (1, 2, 3, 4)},
)
