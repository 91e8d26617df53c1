"""The interface of a problem: n convex client objectives with certified constants, and the kernels that evaluate them.

The objective is the mean of the clients' objectives, ``f = (1/n) sum_i f_i`` on R^d. Parameters are always flat
vectors of length d; a batch of them, one row per replicate, is an array ``w`` of shape (replicates, d).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.errors import InputError

if TYPE_CHECKING:
    from dpfl_theory.kernels.engine import Engine

Array = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Certificate:
    """The justification of a constant.

    kind: how it was obtained: ``closed-form``, ``eigenvalue``, ``norm-bound`` (an upper bound, perhaps not the
        smallest), ``strong-convexity`` or ``duality-gap`` (for minimal values), ``self-concordance`` (for minimisers of
        logistic losses), ``linear-program``, ``not-attained``.
    error: a bound on ``|stated - true|`` in the constant's own unit; for ``norm-bound`` 0, since any upper bound is
    valid. text: one sentence that a reader can check.
    """

    kind: str
    error: float
    text: str


@dataclass(frozen=True)
class Constants:
    """The certified constants of a problem (F: unit of the objective, X: unit of the parameters).

    L_i (n,), L_f: smoothness of the f_i and of f [F/X^2];  mu_i (n,), mu_f: strong convexity [F/X^2].
    G_i (n,), G_record: Lipschitz constants of the f_i and the largest of single records [F/X], inf when unbounded.
    w_star (d,): a minimiser of f, or None when the infimum is not attained; f_star: the infimum of f [F].
    f_i_star (n,): the infima of the f_i [F];  f_i_at_star (n,): f_i(w_star) [F].
    w_i_star: per-client minimisers (n, d), or None where not computed or not attained.
    unique: whether w_star is the only minimiser.
    certificates: name of constant -> Certificate.
    """

    L_i: Array
    L_f: float
    mu_i: Array
    mu_f: float
    G_i: Array
    G_record: float
    w_star: Array | None
    f_star: float
    f_i_star: Array
    f_i_at_star: Array | None
    w_i_star: Array | None = None
    unique: bool = True
    certificates: Mapping[str, Certificate] = field(default_factory=dict)

    @property
    def L_max(self) -> float:
        """The largest smoothness constant of the clients [F/X^2]."""
        return float(np.max(self.L_i))

    @property
    def mu_min(self) -> float:
        """The smallest strong-convexity constant of the clients [F/X^2]."""
        return float(np.min(self.mu_i))

    @property
    def G_max(self) -> float:
        """The largest Lipschitz constant of the clients [F/X]."""
        return float(np.max(self.G_i))

    @property
    def delta_i_star(self) -> Array:
        """Heterogeneity ``Delta_i* = f_i(w*) - inf f_i >= 0`` [F], shape (n,) (das2022 Definition 1).

        Raises InputError where a value at w* is farther below its infimum than the certificate's error explains.
        """
        if self.f_i_at_star is None:
            raise ValueError("Delta_i* is not defined: the infimum of f is not attained, so there is no w*")
        found = self.f_i_at_star - self.f_i_star
        certificate = self.certificates.get("f_i_star")
        slack = 1e-12 * np.abs(self.f_i_star) + (0.0 if certificate is None else certificate.error)
        if bool(np.any(found < -slack)):
            i = int(np.argmin(found + slack))
            raise InputError(
                f"f_{i}(w*) = {self.f_i_at_star[i]:.6g} lies {-found[i]:.3g} below the stated infimum of f_{i}, "
                f"farther than its certificate's error explains: correct f_i_star"
            )
        return np.asarray(np.maximum(found, 0.0))

    @property
    def delta_max(self) -> float:
        """max_i Delta_i* [F]."""
        return float(self.delta_i_star.max())

    @property
    def interpolates(self) -> bool:
        """Whether all clients share the minimiser w* (over-parameterised): Delta_i* = 0 for all i."""
        if self.w_star is None:
            return False
        scale = max(1e-300, float(np.max(np.abs(self.f_i_at_star))), float(np.max(np.abs(self.f_i_star))))  # type: ignore[arg-type]
        return bool(np.max(self.delta_i_star) <= 1e-12 * scale)


class LocalPhase(Protocol):
    """The result of E local gradient steps of every client from the replicates' common parameters.

    ``lengths`` (replicates, n) are those of the updates ``u_i = (w - w_{i,E})/eta`` [F/X], the same bit for bit with a
    tape and without. ``combine(weights)`` returns ``sum_i weights[s, i] u_i[s]`` (replicates, d) for weights
    (replicates, n). ``bounded_combine`` does the same with each update clipped to the threshold (replicates,) or
    normalised to it (zero stays zero). It does not form the updates where that is cheaper. ``updates()`` forms them,
    (n, replicates, d). ``only(weights)`` is the phase of the clients that have a weight: what it gives for the others
    has no meaning.
    """

    def combine(self, weights: Any) -> Any: ...

    def bounded_combine(self, weights: Any, threshold: Any, normalise: bool) -> Any: ...

    def updates(self) -> Any: ...

    @property
    def lengths(self) -> Any: ...

    def only(self, weights: Any) -> LocalPhase: ...


class Kernels(Protocol):
    """A problem's numerical side on one device. Arrays belong to that device; rows of ``w`` (replicates, d) are
    replicates."""

    def local_phase(self, w: Any, step: Any, steps: int) -> LocalPhase:
        """E = steps local gradient steps ``w <- w - step grad f_i(w)``, step (replicates,) [X^2/F]."""
        ...

    def client_gradients(self, w: Any) -> Any:
        """grad f_i(w_i) for per-client parameters w (n, replicates, d): shape (n, replicates, d) [F/X]."""
        ...

    def gradients_of(self, w: Any, clients: Any) -> Any:
        """grad f_i(w) of clients i = clients[a, s] at their own parameters w (A, replicates, d): (A, replicates, d)
        [F/X]."""
        ...

    def gradient(self, w: Any) -> Any:
        """grad f(w), shape (replicates, d) [F/X]."""
        ...

    def client_excess(self, w: Any) -> Any:
        """f_i(w) - inf f_i, shape (replicates, n) [F], never negative."""
        ...

    def suboptimality(self, w: Any) -> Any:
        """f(w) - inf f, shape (replicates,) [F], without cancellation where the family allows it."""
        ...


class Problem(ABC):
    """n convex client objectives with certified constants.

    Subclasses are frozen data. ``constants`` is computed once, on first use. ``kernels(engine)`` binds the
    numerical side to a device. The plain NumPy methods below are the reference for the tests of the kernels; they take
    one parameter vector ``w`` of shape (d,).
    """

    name: str
    n: int
    d: int
    sparse = False
    """Whether its records are CSR."""

    @property
    @abstractmethod
    def constants(self) -> Constants:
        """The certified constants."""

    @abstractmethod
    def kernels(self, engine: Engine) -> Kernels:
        """The numerical side of the problem on the engine's device."""

    @abstractmethod
    def client_value(self, i: int, w: Array) -> float:
        """f_i(w) [F]."""

    @abstractmethod
    def client_gradient(self, i: int, w: Array) -> Array:
        """grad f_i(w), shape (d,) [F/X]."""

    def value(self, w: Array) -> float:
        """f(w) = (1/n) sum_i f_i(w) [F]."""
        return math.fsum(self.client_value(i, w) for i in range(self.n)) / self.n

    def gradient(self, w: Array) -> Array:
        """grad f(w), shape (d,) [F/X]."""
        total = np.zeros(self.d)
        for i in range(self.n):
            total += self.client_gradient(i, w)
        return total / self.n

    @cached_property
    def gradients_at_star(self) -> Array:
        """grad f_i(w*) of every client, shape (n, d) [F/X]; ValueError when there is no w*."""
        w_star = self.constants.w_star
        if w_star is None:
            raise ValueError("the infimum of f is not attained, so there is no w*")
        return np.stack([self.client_gradient(i, w_star) for i in range(self.n)])

    def describe(self) -> dict[str, Any]:
        """The problem's name, sizes and constants as plain JSON data."""
        c = self.constants
        return {
            "name": self.name,
            "clients": self.n,
            "dimension": self.d,
            "L_f": c.L_f,
            "L_max": c.L_max,
            "mu_f": c.mu_f,
            "G_max": c.G_max if math.isfinite(c.G_max) else None,
            "f_star": c.f_star,
            "minimum_attained": c.w_star is not None,
            "mean_delta_star": float(np.mean(c.delta_i_star)) if c.w_star is not None else None,
            "certificates": {k: {"kind": v.kind, "error": v.error, "text": v.text} for k, v in c.certificates.items()},
        }


def no_records(problem: Problem, what: str) -> InputError:
    """The error of something that needs records, on a problem without them."""
    return InputError(f"problem {problem.name!r} has no records: {what} needs a linear model, such as least-squares")
