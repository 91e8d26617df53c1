"""The statements of li2020."""

from dpfl_theory.core.paper import Paper

REFERENCE = Paper(
    "li2020",
    authors="Li, Huang, Yang, Wang, Zhang",
    title="On the Convergence of FedAvg on Non-IID Data",
    year="2020",
    copy="notes with the formulas of Theorems 1 to 4; the paper itself was not at hand",
    contents={"Theorems": "theorem1 theorem2 theorem3 theorem4"},
)
