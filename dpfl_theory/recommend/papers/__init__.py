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
    from dpfl_theory.recommend.papers.das2022 import Das2022, Das2022Normalised
    from dpfl_theory.recommend.papers.hou2023 import Hou2023
    from dpfl_theory.recommend.papers.noble2022 import Noble2022FedAvg
    from dpfl_theory.recommend.papers.noble2022_scaffold import Noble2022Scaffold
    from dpfl_theory.recommend.papers.shulgin2025 import Shulgin2025
    from dpfl_theory.recommend.papers.zhang2021 import Zhang2021

    known = (Das2022, Noble2022FedAvg, Zhang2021, Shulgin2025, Das2022Normalised, Hou2023, Noble2022Scaffold)
    return {kind.name: kind for kind in known}


def get(name: str) -> type[Setting]:
    """The inputs of one algorithm; InputError for an unknown one, with the nearest name.

    >>> get("dp-norm-ec").title
    'DP-alpha-NormEC'
    """
    known = settings()
    if name not in known:
        raise unknown_name("algorithm", name, known)
    return known[name]
