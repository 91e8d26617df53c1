"""Conformance test: compare the implementation of a round with an algorithm as its paper prints it."""

from dpfl_theory.conform.result import Conformance, Finding

__all__ = ["Conformance", "Finding"]
