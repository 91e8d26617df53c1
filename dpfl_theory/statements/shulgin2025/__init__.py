"""The statements of shulgin2025."""

from dpfl_theory.core.paper import Paper

REFERENCE = Paper(
    "shulgin2025",
    authors="Shulgin, Khirirat, Richtárik",
    title="Smoothed Normalization for Efficient Distributed Private Optimization",
    year="2025",
    copy=(
        "the text with Appendices A to I, in a copy that bears neither date nor version number and has lost "
        "its displayed formulas"
    ),
    contents={
        "Section 3.3": "lemma1",
        "Section 3.4": "example1 table1",
        "Section 4": "theorem1 corollary1 eq12",
        "Section 5": "noise theorem2 corollary2",
        "Appendix C": "appendixC.clipping appendixC.normalization",
        "Appendix D": "lemma2 descent",
        "Appendix F": "clip21.descent clip21.inactive clip21.residual",
        "Appendix G": "lemma3",
    },
)
