"""The algorithms that configurations name, their hyper-parameters, and the commands that accept each."""

from __future__ import annotations

from collections.abc import Iterator

from docs.inserts import plain, table
from dpfl_theory.conform.references import parameter_names, references
from dpfl_theory.inventory import kinds
from dpfl_theory.recommend.papers import settings
from dpfl_theory.recommend.tuned import tuned

__all__ = ["insert"]

HEADS = ("name", "algorithm", "protects", "source", "best by runs", "printed rule", "conformance")


def insert() -> str:
    """A table of all algorithms, the names of their hyper-parameters in code, and a section for each algorithm."""
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    items = kinds()["algorithms"].items()
    yield table(
        HEADS,
        (
            [
                f"[`{item.name}`](#algorithm-{item.name})",
                plain(item.what),
                item.facts["protects"],
                plain(item.facts["source"]),
                *("yes" if item.name in known else "–" for known in (tuned(), settings(), references())),
            ]
            for item in items
        ),
    )
    yield "## Names of hyper-parameters in your code\n"
    yield "`dpfl-theory conform` matches the arguments of your function by these names.\n"
    yield table(
        ("symbol", "a function may also call it", "algorithms"),
        (
            [f"`{row.name}`", ", ".join(f"`{name}`" for name in row.also) or "–", ", ".join(row.algorithms)]
            for row in parameter_names()
        ),
    )
    yield "## Hyper-parameters by algorithm\n"
    yield "The unit of the objective is F, that of the parameters X. Give every hyper-parameter that has no default.\n"
    for item in items:
        yield f"(algorithm-{item.name})=\n### {item.name}\n\n{plain(item.what)}.\n"
        yield table(
            ("hyper-parameter", "meaning", "unit", "default"),
            (
                [f"`{p.name}`", plain(p.meaning), plain(p.unit), "–" if p.default is None else f"`{p.default}`"]
                for p in item.parameters
            ),
        )
