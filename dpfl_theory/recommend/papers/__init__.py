"""The algorithms that hyper-parameters are recommended for by their papers' formulas, a module for each paper."""

from __future__ import annotations

from functools import cache

from dpfl_theory.errors import unknown_name
from dpfl_theory.recommend.setting import Setting

__all__ = ["get", "settings"]


@cache
def settings() -> dict[str, type[Setting]]:
    """The inputs of every algorithm, by the algorithm's name.

    >>> "dp-norm-ec" in settings()
    True
    """
    from dpfl_theory.recommend.papers import das2022, hou2023, noble2022, shulgin2025, zhang2021

    papers = (das2022, hou2023, noble2022, shulgin2025, zhang2021)
    return {kind.name: kind for kind in sorted((k for p in papers for k in p.SETTINGS), key=lambda kind: kind.name)}


def get(name: str) -> type[Setting]:
    """The inputs of one algorithm; InputError for an unknown one, with the nearest name.

    >>> get("dp-norm-ec").title
    'DP-alpha-NormEC'
    """
    known = settings()
    if name not in known:
        raise unknown_name("algorithm", name, known)
    return known[name]
