"""The parts of dp-fedavg's privacy level, and the releases of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpfl_theory.recommend.base import Document, quote_option

if TYPE_CHECKING:
    from dpfl_theory.privacy import Mechanism
    from dpfl_theory.recommend.algorithms.dp_fedavg import Das2022

__all__ = ["lacking", "released"]


def lacking(given: Mapping[str, Any]) -> list[str]:
    """The missing inputs of a privacy level."""
    paper = given.get("calibration") == "paper"
    needed = ("epsilon", "delta", *(("constant",) if paper else ()))
    missing = [name for name in needed if given.get(name) is None]
    if given.get("rho") is not None or not missing:
        return []
    *first, last = map(quote_option, needed)
    every = f"{', '.join(first)} and {last}"
    if len(missing) == len(needed):
        return [f"a privacy level: give `rho`, or {every}"]
    return [
        f"{' and '.join(map(quote_option, missing))}, since rho is computed from {every}: give all of them, or `rho`"
    ]


def released(setting: Das2022, found: Document, printed: bool) -> Mechanism:
    """The releases. For random cohorts noise is certified if the server adds it, for any cohort; in the paper the
    clients add it."""
    from dpfl_theory.privacy.mechanisms import get

    kind: Any = get(setting.name)
    some = setting.cohort < setting.clients
    run = kind(
        clients=setting.clients,
        cohort=setting.cohort if some else None,
        sampling="poisson" if some else "full",
        noise="average" if setting.noise_by_server() and not printed else "per-client",
        relation=setting.relation,
        view=setting.view,
        rounds=found["rounds"],
    )
    return run.with_(noise_multiplier=run.multiplier(found["noise"]["sigma"], found["C"]))  # type: ignore[no-any-return]
