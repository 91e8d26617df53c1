"""References for implementations: a round in its parts, its hyper-parameters, and the known faults.

A *reference* is a printed algorithm whose round is composed of parts. The parts are the client's computation, the bound
on its message, the average, the noise and the step. A *fault* is the same round with some parts replaced. A *reading*
is another round that the same words allow. Reference, reading, fault and the user's function are all called in the same
way. So a comparison finds the one that explains what the user's function does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dpfl_theory.conform.world import Client, World
from dpfl_theory.core.algorithm import Fault, Reading
from dpfl_theory.core.algorithm import fault as faulty
from dpfl_theory.core.algorithm import with_number as sized
from dpfl_theory.problems.base import Array

__all__ = ["Fault", "Hyperparameter", "Player", "Reading", "Reference", "Values", "calibrated", "faulty", "sized"]

Values = Mapping[str, Any]
"""Hyper-parameters by name, with n (clients) and d (parameters)."""

Player = Callable[..., tuple[Array, Any]]
"""(w, state, clients, cohort, rng, values) -> (w, state)."""


@dataclass(frozen=True)
class Hyperparameter:
    """A hyper-parameter.

    name: its name;  meaning: in words, with its unit;  usual: two values to try where none is given (or functions of
    the hyper-parameters before it);  kind: ``positive``, ``nonnegative``, ``count`` or ``share``;  also: other names
    under which a function may ask for it.
    """

    name: str
    meaning: str
    usual: tuple[Any, Any]
    kind: str = "positive"
    also: tuple[str, ...] = ()


class Reference(ABC):
    """A printed algorithm. Its fields are the parts of a round."""

    name: ClassVar[str]
    source: ClassVar[str]
    parameters: ClassVar[tuple[Hyperparameter, ...]]
    scheme: ClassVar[str] = "full"
    """The default sampling of a round's clients: ``poisson``, ``fixed`` or ``full``."""
    unit: ClassVar[str] = ""
    """The unit of privacy, ``client`` or ``record``; empty without noise."""
    relation: ClassVar[str] = "zero-out"
    """The default neighbouring relation."""
    level: ClassVar[str] = ""
    """The name of the clipping threshold; empty without clipping."""
    readings: ClassVar[tuple[Reading, ...]] = (Reading("as printed"),)

    def with_parts(self, parts: Mapping[str, Any]) -> Reference:
        """The reference with some parts of its round replaced."""
        return replace(self, **parts)  # type: ignore[type-var]

    @abstractmethod
    def round(
        self, w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, v: Values
    ) -> tuple[Array, Any]:
        """The server's parameters after a round, and the state for the next one."""

    @classmethod
    @abstractmethod
    def faults(cls) -> Sequence[Fault]:
        """The known mistakes."""

    def length(self, client: Client, world: World, v: Values) -> float:
        """The length of the client's message from the start without a bound."""
        raise NotImplementedError

    def with_defaults(self, v: dict[str, Any]) -> dict[str, Any]:
        """The hyper-parameters with those that follow from others (sigma from the noise multiplier, and back)."""
        return v

    def sensitivity(self, v: Values) -> float | None:
        """The allowed distance of a round's w from that of a neighbouring data set, by the hyper-parameters; None
        without noise."""
        return None


def calibrated(v: dict[str, Any], unit: float) -> dict[str, Any]:
    """The hyper-parameters with sigma = noise_multiplier * unit. sigma follows from the multiplier, or if sigma is
    given, the multiplier follows from sigma."""
    if v.get("sigma") is None:
        v["sigma"] = v["noise_multiplier"] * unit
    else:
        v["noise_multiplier"] = v["sigma"] / unit
    return v


def generic(v: dict[str, Any], **parameters: str) -> dict[str, Any]:
    """The hyper-parameters with the names that the parts of all algorithms use."""
    return {**v, **{name: v[parameter] for name, parameter in parameters.items()}}


Z = Hyperparameter("noise_multiplier", "standard deviation over sensitivity", (1.3, 0.6), "nonnegative", ("z",))
ETA_L = Hyperparameter("eta_l", "local step [X^2/F]", (0.1, 0.25), also=("local_step", "lr", "learning_rate", "eta"))
ETA_G = Hyperparameter("eta_g", "global step", (1.0, 1.5), also=("global_step", "server_lr", "beta"))
