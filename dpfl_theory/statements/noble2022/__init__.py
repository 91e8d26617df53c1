"""The statements of noble2022."""

from dpfl_theory.core.paper import Paper

REFERENCE = Paper(
    "noble2022",
    authors="Noble, Bellet, Dieuleveut",
    title="Differentially Private Federated Learning on Heterogeneous Data",
    year="AISTATS 2022",
    copy="the version hal-03905078v1, submitted on December 17, 2022, with its appendices",
    contents={
        "Section 4.1": "claim4.1.server claim4.1.third-party theorem4.1.third-party theorem4.1.server",
        "Section 4.2": "theorem4.2.fedavg theorem4.2.scaffold",
        "Section 5": "table1.rounds",
        "Appendix B.1": "lemmaB.1 lemmaB.2",
        "Appendix B.2": "lemmaB.3 lemmaB.4 lemmaB.5 lemmaB.6 lemmaB.7 eq5 eq6 eq7",
        "Appendix B.4": "eq8",
        "Appendix C.1": "lemmaC.1 lemmaC.2 lemmaC.3 corollaryC.1",
        "Appendix C.2": "theoremC.1.strongly-convex theoremC.1.convex theoremC.1.non-convex",
        "Appendix C.3": "lemmaC.4 lemmaC.5 lemmaC.6 lemmaC.7 theoremC.1.explicit lemmaC.8",
        "Appendix C.4": "lemmaC.9",
        "Appendix C.5": "theoremC.2.strongly-convex theoremC.2.convex theoremC.2.non-convex",
    },
)
