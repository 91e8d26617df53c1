"""The statements of das2022."""

from dpfl_theory.core.paper import Paper

REFERENCE = Paper(
    "das2022",
    authors="Das, Hashemi, Sanghavi, Dhillon",
    title="Differentially Private Federated Learning with Normalized Updates",
    year="2022",
    copy="the full text with Appendices A to H, in a copy that bears neither date nor version number",
    contents={
        "Section 2": "definition2",
        "Section 3": "theorem3",
        "Section 3.1": "clow snr",
        "Section 4": "theorem4a theorem4b",
        "Section 4.1": "eq4 eq5 section4.1",
        "Appendix A": "definition5",
        "Appendix C": "theorem6",
        "Appendix C.1": "eq12 eq18 eq22 eq23 eq31 eq32 eq34 eq35 eq36 eq37 eq39",
        "Appendix D": "theorem7",
        "Appendix D.1": "eq41 eq45 eq46 eq47",
        "Appendix E": "fact1 fact2 lemma8 eq51 lemma9 eq57 lemma10",
    },
)
