"""The statements of zhang2021."""

from dpfl_theory.core.paper import Paper

REFERENCE = Paper(
    "zhang2021",
    authors="Zhang, Chen, Hong, Wu, Yi",
    title="Understanding Clipping for Federated Learning: Convergence and Client-Level Differential Privacy",
    year="2021",
    copy="the version dated June 28, 2021, with its appendix",
    contents={
        "Section 2.1": "claim2.1 claim2.2a claim2.2b eq7 table1",
        "Section 3.1": "theorem3.1 alpha-bound",
        "Section 3.2": "theorem3.2 corollary3.2.1",
        "Appendix A.1": "eq13 eq14 eq15 eq16 eq17 eq18 eq19 eq20 eq21 eq22",
    },
)
