"""The wheel carries the folders `validations` and `examples` inside the package; all else stands in pyproject.toml."""

from setuptools import find_packages, setup

scripts = ["dpfl_theory.validations", *(f"dpfl_theory.validations.{name}" for name in find_packages("validations"))]
setup(
    packages=[*find_packages(include=["dpfl_theory*"]), *scripts, "dpfl_theory.examples"],
    package_dir={"dpfl_theory.validations": "validations", "dpfl_theory.examples": "examples"},
)
