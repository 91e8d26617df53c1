"""das2022's six statements on sampled cohorts, read with exactly r clients in each round: they hold as printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dpfl_theory.core import Check, Statement
from dpfl_theory.statements.das2022 import _corner_instances as corners
from dpfl_theory.statements.das2022 import _instances as instances
from dpfl_theory.statements.das2022 import _one_round as rounds
from dpfl_theory.statements.das2022 import _sampling_moments as exact
from dpfl_theory.statements.das2022 import _step_instances as steps
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022 import eq12, eq35_to_39, eq47, theorem4, theorem7
from dpfl_theory.statements.das2022._experiments import general_experiment, runs


def _read(id_: str, printed: Statement, uses: tuple[str, ...], checks: tuple[Check, ...]) -> Statement:
    """The printed statement with exactly r clients; its algebra checks are the same under both readings."""
    return replace(
        printed,
        id=id_,
        reading_of=printed.id,
        hypotheses=(*printed.hypotheses, das.EXACT_COHORT),
        checks=checks,
        expected="holds",
        uses=uses,
    )


def _algebra(printed: Statement) -> tuple[Check, ...]:
    return tuple(c for c in printed.checks if c.method == "algebra")


def _exactly(found: Mapping[str, instances.Instance]) -> dict[str, instances.Instance]:
    """The literal reading's counterexamples with exactly r clients in each round."""
    return {
        name.replace("independent r =", "exactly r ="): {
            **i,
            "cohort": instances.fixed(int(i["cohort"]["size"])),
            "replicates": 1024,
        }
        for name, i in found.items()
    }


_JOINING = eq12.instance("equal", "independent", n=[2], r=["1"])

_OUT = "not-applicable"
_FEWER, _MIXED = {"r": "99/100"}, {"kappa": "+1/50"}
_OUTSIDE_ALPHA = {**corners.OUTSIDE_ALPHA, **corners.OUTSIDE_EXACTLY}
_OUTSIDE_STEP = {
    **corners.OUTSIDE_ROUNDS,
    **corners.OUTSIDE_COHORT,
    **corners.OUTSIDE_THRESHOLD,
    **corners.OUTSIDE_EXACTLY,
}
_OUTSIDE_NORM = {**_OUTSIDE_STEP, **corners.OUTSIDE_FINITE}

EQ12: Statement = _read(
    "das2022.eq12.fixed-size",
    eq12.EQ12,
    ("das2022.fact2",),
    (
        eq12.slack("fixed"),
        *(
            Check("exact", f"fixed size, {family} vectors", exact.moments, eq12.instance(family, "fixed"))
            for family in eq12.FAMILIES
        ),
        Check("exact", "outside exactly r clients", exact.moments, _JOINING, "not-applicable"),
        *(
            Check("exact", f"just outside {words}", exact.moments, eq12.instance("one-hot", "fixed", **of), _OUT)
            for words, of in (("r >= 1", {"r": ["1"], "stated": _FEWER}), ("exactly r clients", {"stated": _MIXED}))
        ),
        Check(
            "exact",
            "closed form, and (12) to (13)",
            exact.agreement,
            eq12.instance("drawn", "fixed"),
            part=eq12.AGREEMENT,
        ),
        *(
            Check("monte-carlo", name, eq12.cohort_experiment, i)
            for name, (i, _) in steps.COHORTS.items()
            if i["cohort"]["scheme"] == "fixed"
        ),
    ),
)
EQ35: Statement = _read(
    "das2022.eq35.fixed-size",
    eq35_to_39.EQ35,
    ("das2022.eq34", "das2022.eq12.fixed-size"),
    (
        *_algebra(eq35_to_39.EQ35),
        Check(
            "exact", "200 equal clients", exact.equal_clients,
            {**exact.EQUAL, "E": [1, 4, 8, 20], "sampling": "fixed"},
        ),
        Check(
            "exact", "outside exactly r clients", exact.equal_clients,
            {**exact.EQUAL, "E": [4], "sampling": "independent"}, "not-applicable",
        ),
        Check(
            "exact", "just outside exactly r clients", exact.equal_clients,
            {**exact.EQUAL, "E": [4], "sampling": "fixed", "stated": _MIXED}, "not-applicable",
        ),
        *rounds.outside("1/2", 1, "fixed"),
        *rounds.checks("dp-fedavg", ("fixed",)),
        *rounds.near_threshold("fixed"),
    ),
)  # fmt: skip
EQ47: Statement = _read(
    "das2022.eq47.fixed-size",
    eq47.EQ47,
    ("das2022.eq46", "das2022.eq12.fixed-size"),
    (
        *_algebra(eq47.EQ47),
        *rounds.checks("dp-normfedavg", ("fixed",)),
        *runs(
            "dp-normfedavg",
            {**instances.sampled(instances.GENERAL_NORM, "fixed"), **_exactly(instances.GENERAL_INDEPENDENT)},
            experiment=general_experiment,
        ),
        *runs("dp-normfedavg", _OUTSIDE_NORM, "not-applicable", general_experiment),
    ),
)
THEOREM7: Statement = _read(
    "das2022.theorem7.fixed-size",
    theorem7.GENERAL,
    ("das2022.eq47.fixed-size",),
    (
        *_algebra(theorem7.GENERAL),
        *runs(
            "dp-normfedavg",
            {**instances.sampled(instances.GENERAL_NORM, "fixed"), **_exactly(instances.GENERAL_INDEPENDENT)},
            experiment=general_experiment,
        ),
        *runs("dp-normfedavg", {**_OUTSIDE_NORM, **corners.OUTSIDE_RATIO}, "not-applicable", general_experiment),
    ),
)
THEOREM7_ALPHA: Statement = _read(
    "das2022.theorem7.alpha.fixed-size",
    theorem7.ALPHA,
    ("das2022.theorem7.fixed-size",),
    (
        *_algebra(theorem7.ALPHA),
        *runs(
            "dp-normfedavg",
            {**instances.sampled(instances.ALPHA_NORM, "fixed"), **_exactly(instances.ALPHA_INDEPENDENT)},
        ),
        *runs("dp-normfedavg", {**_OUTSIDE_ALPHA, **corners.OUTSIDE_THRESHOLD}, "not-applicable"),
        *runs("dp-normfedavg", corners.OUTSIDE_FINITE, "not-applicable"),
    ),
)
THEOREM4B: Statement = _read(
    "das2022.theorem4b.fixed-size",
    theorem4.B,
    ("das2022.theorem7.alpha.fixed-size",),
    (
        *_algebra(theorem4.B),
        *runs(
            "dp-normfedavg",
            {
                **instances.sampled(instances.LIPSCHITZ, "fixed"),
                **_exactly({**instances.INDEPENDENT, **corners.IN_RANGE}),
            },
        ),
        *runs("dp-normfedavg", {**_OUTSIDE_ALPHA, **corners.OUTSIDE_LIPSCHITZ}, "not-applicable"),
        *runs("dp-normfedavg", corners.APART, "not-applicable"),
    ),
)

STATEMENTS = (EQ12, EQ35, EQ47, THEOREM7, THEOREM7_ALPHA, THEOREM4B)
