"""The statements of hou2023."""

from dpfl_theory.core.paper import Paper

REFERENCE = Paper(
    "hou2023",
    authors="Anonymous authors",
    title="Balancing Privacy and Performance for Private Federated Learning Algorithms",
    year="2023",
    copy="the anonymous version under double-blind review, with its appendices",
    contents={
        "Section 2": "clip-inactive overparameterised lemma1 theorem1 corollary1",
        "Section 3.1": "observation1 observation2 observation3 observation4",
        "Appendix B.1": "contraction eq3 nonexpansive",
    },
)
