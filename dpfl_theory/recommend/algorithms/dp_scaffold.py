"""DP-SCAFFOLD-warm: noble2022 Theorem C.1, repaired, for steps, weights and bound, with the printed or the certified
noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dpfl_theory.recommend.algorithms._noble2022 import Noble2022
from dpfl_theory.recommend.base import Document, parameter, quote_option

if TYPE_CHECKING:
    from dpfl_theory.recommend.bound_minimizers import Optimum

__all__ = ["SETTINGS", "Noble2022Scaffold"]


@dataclass(frozen=True, kw_only=True)
class Noble2022Scaffold(Noble2022):
    r"""DP-SCAFFOLD-warm for M users with R records each; strongly convex if ``strong_convexity`` is given, else convex.

    The step sizes depend on the noise, which is chosen first. The bound is for the mean of :math:`x^0, ...,
    x^{T-1}` with weights ``weight_ratio`` :math:`^{-t} = (1 - \mu K \eta_l \eta_g/2)^{-t}`, which are equal if convex.

    >>> setting = Noble2022Scaffold(users=100, records=4000, user_rate=0.25, record_rate=0.2, dim=10, smoothness=1.0,
    ...                      distance=3.0, clip=1.0, gradient_variance=0.0, local_steps=10, rounds=500, epsilon=0.5,
    ...                      delta=1e-6)
    >>> found = setting.printed()
    >>> found["eta_g"], found["weight_ratio"], found["certificate"]["applies"]
    (5.0, 1.0, True)
    """

    name = "dp-scaffold"
    title = "DP-SCAFFOLD-warm"
    source = "noble2022 Theorem C.1, repaired"
    speaks_of_noise: ClassVar[str] = (
        "Sigma, computed from sigma_g, is a symbol of Theorem C.1: its bound is that of this noise"
    )
    bounded = "E F(xbar) - F(x*), xbar the mean of x^0, ..., x^{T-1} with weights weight_ratio^(-t) [F]"

    strong_convexity: float | None = parameter(
        "strong convexity constant mu of every user's objective [F/X^2]",
        "positive",
        optional=True,
        measured="strong convexity",
        symbol="mu",
    )

    def contradictions(self) -> Iterator[str]:
        if self.strong_convexity is not None and self.strong_convexity > self.smoothness:
            yield self.refused(
                "strong_convexity",
                f"it exceeds `smoothness={self.smoothness!r}`",
                "no function allows that: give mu <= nu",
            )
        yield from super().contradictions()

    def printed(self) -> Document:
        from dpfl_theory.statements import get

        case, number = ("convex", "2, convex") if self.strong_convexity is None else _STRONG
        return self.with_printed(get(f"noble2022.theoremC.1.{case}"), f"Theorem C.1 ({number})")

    def at(self, choice: Document) -> dict[str, float]:
        """The values of all symbols of the choice's statement, with the steps that it may prescribe."""
        if "eta_l" not in choice:
            return super().at(choice)
        T, K = int(choice["rounds"]), int(choice["local_steps"])
        known = {**self.symbols(), "T": T, "K": K, "Sigma": self.sigma(T, K)}
        known.pop("mu", None)  # of the convex case
        eta_g, eta_l = choice["eta_g"], choice["eta_l"]
        return {**known, "eta_g": eta_g, "eta_l": eta_l, "eta": K * eta_l * eta_g}

    def unmet(self, choice: Document) -> list[str]:
        return [*super().unmet(choice), *self.clipped()]

    def weights(self, choice: Document, known: dict[str, float]) -> Document:
        mu = self.strong_convexity if choice["statement"].startswith("noble2022.theoremC.1.strongly-convex") else None
        return {"weight_ratio": 1 - (mu or 0.0) * known["K"] * known["eta_l"] * known["eta_g"] / 2}

    def chosen(self, document: Document) -> Document:
        """The choice; it includes the steps if the first cited statement leaves them free."""
        from dpfl_theory.statements import get

        statement = document["certificate"]["statements"][0]["id"]
        free = () if get(statement).prescription is not None else ("eta_g", "eta_l")
        return {"statement": statement, **{name: document[name] for name in ("rounds", "local_steps", *free)}}

    def optimum(self) -> Optimum:
        from dpfl_theory.recommend.bound_minimizers.scaffold import minimize_bound

        return minimize_bound(self)

    def bound_infimum(self) -> float:
        from dpfl_theory.recommend.bound_minimizers.scaffold import bound_infimum

        return bound_infimum(self)

    def clipped(self) -> list[str]:
        """The reason why clipping acts at x^0: ||grad F(x^0)|| >= mu D_0, and the longest gradient of a record is at
        least as long."""
        least = (self.strong_convexity or 0.0) * self.distance
        if least <= self.clip:
            return []
        return [
            f"clipping acts at x^0, where some record's gradient is no shorter than mu D_0 = {least:.6g}, above "
            f"{quote_option('clip')} {self.clip:g}"
        ]

    def besides(self, known: dict[str, float], bound: float | None) -> list[str]:
        """The result of the convex case for a strongly convex problem."""
        from dpfl_theory.recommend.evaluate import failures, terms
        from dpfl_theory.statements import get

        convex = get("noble2022.theoremC.1.convex.repaired")
        if self.strong_convexity is None or [*failures(convex, known), *self.clipped()]:
            return []
        other = math.fsum(terms(convex, known).values())
        if bound is not None and other >= bound:
            return []
        smaller = "a bound" if bound is None else "a smaller bound"
        return [f"Without `strong_convexity` the convex case applies too, with {smaller}: {other:.6g}."]

    def said(self) -> list[str]:
        never = "" if self.strong_convexity is None else "; under Gaussian noise no threshold can promise this here"
        covered = (
            "the noise is for T rounds, so it covers all of these"
            if self.user_rate == 1
            else (
                "the noise is for T rounds of a share l of the users each: add to their budget the cost of one round "
                "with `user_rate=1` (dpfl-theory privacy account)"
            )
        )
        return [
            self.never_clipped(never),
            "The theorem starts from control variates that all users have set with noisy gradients at x^0. So xbar "
            "takes one such round, which releases as much as any other (4/l rounds of drawn users may miss a user), "
            f"and T - 1 rounds after it; {covered}.",
            *self.order(),
        ]


_STRONG = ("strongly-convex", "1, strongly convex")
SETTINGS: tuple[Any, ...] = (Noble2022Scaffold,)
