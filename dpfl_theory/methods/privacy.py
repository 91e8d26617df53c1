"""privacy: the claim about a mechanism is compared with certified limits of epsilon and delta."""

from dpfl_theory.methods.base import Method

METHOD = Method(
    "privacy",
    "accounting of privacy",
    30,
    "dpfl_theory.checks.privacy",
    limits=True,
    builds=("GaussianClaim", "PrivacyClaim", "ConstantClaim"),
)
