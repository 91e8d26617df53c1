"""The papers that have statements. A paper is a package here, which holds its `Paper` as ``REFERENCE``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path

from dpfl_theory.core.paper import Paper


@cache
def known() -> dict[str, Paper]:
    """Every paper by its id. Imports none of their statements.

    >>> known()["das2022"].title
    'Differentially Private Federated Learning with Normalized Updates'
    """
    package = str(Path(__file__).parent)
    names = [m.name for m in pkgutil.iter_modules([package]) if m.ispkg]
    return {name: importlib.import_module(f"dpfl_theory.statements.{name}").REFERENCE for name in names}
