"""The wheel carries the folder `validations` inside the package; everything else stands in pyproject.toml."""

from setuptools import find_packages, setup

scripts = ["dpfl_theory.validations", *(f"dpfl_theory.validations.{name}" for name in find_packages("validations"))]
setup(
    packages=[*find_packages(include=["dpfl_theory*"]), *scripts],
    package_dir={"dpfl_theory.validations": "validations"},
)
