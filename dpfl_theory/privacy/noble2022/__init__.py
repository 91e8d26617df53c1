"""The privacy formulas of Noble, Bellet, Dieuleveut, "Differentially Private Federated Learning on Heterogeneous Data".

* `lemmas`: Lemmas B.1, B.2, B.7, Theorem 9 of Wang et al., and equations (7) and (8).
* `recipe`: the accounting of the paper's experiments (Appendix B.4, Implementation).
* `theorem`: the three steps of Appendix B.4 without approximation.

They are the printed formulas, whether or not these hold. One caveat is known: with K > 1 the factor lM of Step 1 does
not follow from Lemma B.5, since a user's second gradient is taken at a point that has only this user's noise.
"""

from dpfl_theory.privacy.noble2022.inputs import PrivacyBound
from dpfl_theory.privacy.noble2022.lemmas import eq7, eq8, lemma_b1, lemma_b2, lemma_b7, wang_theorem9
from dpfl_theory.privacy.noble2022.recipe import epsilon_recipe, rounds_recipe
from dpfl_theory.privacy.noble2022.theorem import epsilon_theorem, rounds_theorem

__all__ = [
    "PrivacyBound",
    "epsilon_recipe",
    "epsilon_theorem",
    "eq7",
    "eq8",
    "lemma_b1",
    "lemma_b2",
    "lemma_b7",
    "rounds_recipe",
    "rounds_theorem",
    "wang_theorem9",
]
