"""Planted faults in the algorithms, their parts, the kernels and the array engine: each must be detected.

A fault is a change of the source text. The changed module is compiled outside of the package, and the comparison with
the oracles, the laws of tests/laws and the reductions of tests/simulation run on it. The end of the test run prints a
table of the checks that detected each fault.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from kernels import test_linear_records as records
from kernels import test_subsets as subsets
from laws.test_algorithm_laws import EXAMPLES, LAWS, ragged
from mutants.planting import mutated, plant
from oracles.compare import ARRAY, CPU, disagreements, play, problem_of, starting_points
from simulation import test_metrics as metrics
from simulation.faults import (
    FAULTS,
    FEDAVG_FAULTS,
    Cases,
    Place,
    fedavg_cases,
    gradient_cases,
    two_sided_cases,
)
from simulation.reductions import REDUCTIONS, Zoo, zoo

from dpfl_theory.algorithms.fedavg import DPFedAvg, DPNormFedAvg
from dpfl_theory.algorithms.scaffnew import ScaffNew
from dpfl_theory.problems.quadratic import Quadratic
from dpfl_theory.simulation import batched


def against_oracles(cases: Cases, engine: Any = ARRAY, wrap: Callable[[Any], Any] = lambda problem: problem) -> Any:
    """The comparison with the oracles, as a check."""
    return lambda: [
        sentence
        for algorithm, names in cases
        for name in names
        for sentence in disagreements(algorithm, wrap(problem_of(name)), 8, engine=engine)
    ]


def classes(module: Any, names: Sequence[str]) -> dict[str, Any]:
    """The classes of these names in a module."""
    return {name: getattr(module, name) for name in names}


def suite(faulty: dict[str, Any], cases: Callable[[Zoo], Cases]) -> list[str]:
    """The names of the comparisons that detect a fault; a crash counts.

    faulty: the faulty classes by name; the first example of an algorithm runs through the laws.
    """
    a, names = zoo(**faulty), list(faulty)
    checks = {"oracle": against_oracles(cases(a))}
    for cls, kinds in EXAMPLES.items():
        if cls.__name__ in names:
            example, mine = next(iter(kinds.values())), getattr(a, cls.__name__)
            for law in LAWS:
                if law.__name__ not in example.exempt:
                    checks[law.__name__] = lambda law=law, mine=mine, example=example: law(mine, example)
    for reduction in REDUCTIONS:
        if any(re.search(rf"\ba\.{name}\(", inspect.getsource(reduction)) for name in names):
            checks[reduction.__name__] = lambda reduction=reduction: reduction(a)
    return [found for name, check in checks.items() if (found := noticed(name, check))]


def noticing(monkeypatch: pytest.MonkeyPatch, place: Place, old: str, new: str) -> list[str]:
    """The names of the comparisons that detect a fault: in a copy of a module with these classes, and elsewhere in the
    module itself."""
    module, names, cases = place
    original = importlib.import_module(f"dpfl_theory.{module}")
    if all(getattr(getattr(original, name, None), "__module__", "") == original.__name__ for name in names):
        return suite(classes(mutated(module, old, new), names), cases)
    if old != new:
        plant(monkeypatch, module, old, new)
    return suite(classes(zoo(), names), cases)


def noticed(name: str, check: Callable[[], list[str]]) -> str:
    """The name of the check when it detects a fault, with the error when the faulty code could not run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return name if check() else ""
        except Exception as error:
            return f"{name} ({type(error).__name__})"


ARRAY_ENGINE, QUADRATIC = ("kernels.array", "ArrayEngine"), ("problems.quadratic", "QuadraticKernels")
ARRAY_CASES = fedavg_cases(zoo()) + gradient_cases(zoo()) + two_sided_cases(zoo())[:1]
LENGTHS = "xp.sqrt((updates * updates).sum(axis=2))"
KERNEL_FAULTS = [
    ("clipped by the squared norm", ARRAY_ENGINE, LENGTHS, "(updates * updates).sum(axis=2)"),
    ("clipped by the largest coordinate", ARRAY_ENGINE, LENGTHS, "abs(updates).max(axis=2)"),
    ("small updates clipped", ARRAY_ENGINE, "norms > threshold[:, None]", "norms < threshold[:, None]"),
    ("first replicate forgotten", ARRAY_ENGINE, "(replicates.first, replicates.first + replicates.count",
     "(0, replicates.count"),
    ("sine for cosine", ARRAY_ENGINE, "xp.cos(angle)", "xp.sin(angle)"),
    ("nine rounds of Philox", ARRAY_ENGINE, "range(10)", "range(9)"),
    ("normals of the slots", ARRAY_ENGINE, "round_, clients, blocks", "round_, 0 * clients, blocks"),
    ("subsets of the slots", ARRAY_ENGINE, "round_, clients, (most", "round_, 0 * clients, (most"),
    ("padding among the records", ARRAY_ENGINE, "xp.where(number < size, keys, 2.0)", "keys"),
    ("one record too many", ARRAY_ENGINE, "[None, None, :] < count", "[None, None, :] <= count"),
    ("segments one column off", ARRAY_ENGINE, 'side="right") - 1', 'side="left") - 1'),
    ("steps of another replicate", QUADRATIC, "xp.asarray(rows))", "xp.asarray(rows[::-1].copy()))"),
    ("eigenvalues squared", QUADRATIC, "self.eigenvalues * total", "self.eigenvalues**2 * total"),
    ("q = 1 + eta lambda", QUADRATIC, "q = 1.0 - self", "q = 1.0 + self"),
    ("doubling without the last step", QUADRATIC, 'if bit == "1"', "if False"),
    ("centre forgotten", QUADRATIC, "self.basis_t - self.shift", "self.basis_t"),
    ("updates normalised when short", QUADRATIC, "shrink = (lengths > bound)", "shrink = (lengths < bound)"),
    ("gradients of the other clients", QUADRATIC, "xp.nonzero(clients == i)", "xp.nonzero(clients == 5 - i)"),
    ("gradients of a slot in another replicate", QUADRATIC, "out[slots, replicates] = (",
     "out[slots, replicates[::-1]] = ("),
    ("old step sizes kept", QUADRATIC, "known[:2] != (key, steps)", "False"),
]  # fmt: skip


RECORD_SUMS, ARRAY_SUMS, PHILOX = "kernels.linear_records", "kernels.linear_array", "kernels.philox"
RECORD_FAULTS = [
    ("no ridge in the length", RECORD_SUMS, "ridge * ridge * square", "0.0 * square"),
    ("no cross term in the length", RECORD_SUMS, "2.0 * ridge * along", "0.0 * along"),
    ("ridge of clipped records in full", RECORD_SUMS, "weight += factor[j]", "weight += 1.0"),
    ("records of the first client", RECORD_SUMS, "row = first + chosen", "row = chosen"),
    ("short gradients stretched", RECORD_SUMS, "if length[j] > bound else 1.0", "if length[j] > 0.0 else 1.0"),
    ("threshold of another replicate", RECORD_SUMS, "bound = threshold[s]", "bound = threshold[0]"),
    ("lengths of other records", RECORD_SUMS, "qs[j] = squares[row]", "qs[j] = squares[first + j]"),
    ("no ridge in the length", ARRAY_SUMS, "data.ridge**2 * square", "0.0 * square"),
    ("no cross term in the length", ARRAY_SUMS, "2.0 * data.ridge *", "0.0 *"),
    ("ridge of clipped records in full", ARRAY_SUMS, "data.ridge * factor.sum", "data.ridge * mask.sum"),
    ("padding has a ridge", ARRAY_SUMS, "1.0), 1.0) * mask", "1.0), 1.0)"),
    ("padding in the median", ARRAY_SUMS, "xp.where(mask, length, xp.nan)", "xp.where(mask, length, 0.0)"),
    ("records of the first client", ARRAY_SUMS, "records = first + xp", "records = xp"),
    ("threshold of another replicate", ARRAY_SUMS, "broadcast_to(limits[None]", "broadcast_to(limits[None, ::-1]"),
    ("largest keys", PHILOX, "keys[j] <= bound", "keys[j] >= bound"),
    ("largest key off by one", PHILOX, "_smallest(keys[:size], count,", "_smallest(keys[:size], count + 1,"),
    ("pairs of records share a key", PHILOX, "keys[2 * block + 1] = v", "keys[2 * block + 1] = u"),
    ("first replicate forgotten in subsets", PHILOX, "(first_replicate + s)", "(s)"),
    ("slots for clients in normals", PHILOX, "clients[a // replicates, s] if clients.size > 0 else i", "i"),
    ("one subset for all rounds", PHILOX, "np.int64(0), blocks, round_, w", "np.int64(0), blocks, 0, w"),
]  # fmt: skip

ACCURACY_FAULTS = [
    ("records pooled", "np.repeat(1.0 / (len(sizes) * sizes), sizes)", "np.full(sizes.sum(), 1.0 / sizes.sum())"),
    ("ties are -1", "logits[:, 0] >= 0.0", "logits[:, 0] > 0.0"),
    ("smallest logit", "xp.argmax", "xp.argmin"),
    ("weights of the first batch in all", "@ share[cut]", "@ share[: cut.stop - cut.start][: len(y[cut])]"),
]  # fmt: skip


def interpreted(module: str, old: str, new: str) -> Any:
    """An engine with the operations of a faulty module."""
    if module == ARRAY_SUMS:
        faulty = mutated(module, old, new)
        return types.SimpleNamespace(linear_record_sums=lambda *x: faulty.linear_record_sums(np, *x))
    faulty = mutated(module, old, new, interpreted=True)
    if module == RECORD_SUMS:
        return types.SimpleNamespace(linear_record_sums=faulty.linear_record_sums)

    def draw(out: Any, fill: Any, replicates: Any, round_: int, *rest: Any) -> Any:
        fill(out, *rest[:-2], np.uint64(replicates.seed), replicates.first, round_, *rest[-2:])
        return out

    def subsets_of(replicates: Any, round_: int, clients: Any, sizes: Any, counts: Any, step: int = 0) -> Any:
        counts = np.minimum(counts, sizes)
        out = np.empty((*clients.shape, int(counts.max())), dtype=np.int64)
        return draw(out, faulty.fill_subsets, replicates, round_, clients, sizes, counts, step, subsets.RECORDS)

    def normal_of(replicates: Any, round_: int, clients: Any, d: int, stream: int, step: int = 0) -> Any:
        out, everywhere = np.empty((*clients.shape, d)), np.empty(0)
        return draw(out, faulty.fill_normal, replicates, round_, clients, everywhere, step, stream)

    return types.SimpleNamespace(subsets=subsets_of, normal_of=normal_of)


def record_suite(module: str, old: str, new: str) -> list[str]:
    """The comparisons that detect a fault in the sums of records or in the draws of their subsets."""
    engine = interpreted(module, old, new)
    checks: dict[str, Callable[[], list[str]]] = {
        "formed gradients": lambda: [
            sentence
            for seed, loss in enumerate(("logistic", "softmax"))
            for sentence in records.all_disagreements(engine, loss, seed, 0.3, 1.0)
        ]
    }
    if module == PHILOX:
        replicates, who = subsets.Replicates(2**40 + 3, 5, 3), np.array([[2, 0, 1], [1, 1, 4]])
        own = engine.normal_of(replicates, 7, who, 3, 4, 2)
        checks = {
            "definition of subsets": lambda: subsets.disagreements(engine, 2**40 + 3, 5, 7, 2, 7, 3),
            "normals of all clients": lambda: (
                [] if np.array_equal(own, CPU.normal(replicates, 7, 5, 3, 4, 2)[who, np.arange(3)]) else ["differ"]
            ),
        }
    return [found for name, check in checks.items() if (found := noticed(name, check))]


@pytest.mark.exhaustive(keep=5)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f[1][1][0]} {f[0].strip()}")
def test_fault_in_an_algorithm_is_noticed(fault: Any, record_property: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    name, place, old, new = fault
    module = place[0]
    killers = noticing(monkeypatch, place, old, new)
    record_property("kill", (f"{module.split('.')[1]}: {name.strip()}", ", ".join(killers)))
    assert killers


def replaced(parts: dict[str, Any]) -> dict[str, Any]:
    """The private forms of FedAvg with some parts of their round replaced."""
    return {kind.__name__: kind.with_parts(parts) for kind in (DPFedAvg, DPNormFedAvg)}


@pytest.mark.exhaustive(keep=5)
@pytest.mark.parametrize("name", FEDAVG_FAULTS)
def test_fault_in_a_part_is_noticed(name: str, record_property: Any) -> None:
    killers = suite(replaced(FEDAVG_FAULTS[name]), fedavg_cases)
    record_property("kill", (f"fedavg: {name}", ", ".join(killers)))
    assert killers


def test_the_suite_passes_a_part_replaced_by_itself() -> None:
    assert suite(replaced({"steps": lambda a, o, i: a.local_steps}), fedavg_cases) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("fault", KERNEL_FAULTS, ids=lambda f: f[0])
def test_fault_in_a_kernel_is_noticed(fault: Any, record_property: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    name, (module, cls), old, new = fault
    monkeypatch.setattr(batched, "small", lambda _: False)  # so that only the cohort's clients are run
    faulty = getattr(mutated(module, old, new), cls)
    if cls == "ArrayEngine":
        check = against_oracles(ARRAY_CASES, faulty(np, "array", "with a fault"))
    else:
        check = against_oracles(
            fedavg_cases(zoo()) + two_sided_cases(zoo()), wrap=lambda problem: with_kernels(problem, faulty)
        )
    killer = noticed("oracle", check)
    record_property("kill", (f"{cls}: {name}", killer))
    assert killer


@pytest.mark.parametrize("fault", RECORD_FAULTS, ids=lambda f: f"{f[1].split('.')[1]} {f[0]}")
def test_fault_in_the_records_kernels_is_noticed(fault: Any, record_property: Any) -> None:
    name, module, old, new = fault
    killers = record_suite(module, old, new)
    record_property("kill", (f"{module.split('.')[1]}: {name}", ", ".join(killers)))
    assert killers


@pytest.mark.parametrize("fault", ACCURACY_FAULTS, ids=lambda f: f[0])
def test_fault_in_the_accuracy_is_noticed(fault: Any, record_property: Any) -> None:
    name, old, new = fault
    faulty = mutated("simulation.metrics", old, new)
    killer = noticed("definition", lambda: metrics.disagreements(faulty))
    record_property("kill", (f"metrics: {name}", killer))
    assert killer


def with_kernels(problem: Any, kernels: type) -> Any:
    """The quadratic with other kernels."""
    if not isinstance(problem, Quadratic):
        return problem

    class Faulty(Quadratic):
        def kernels(self, engine: Any) -> Any:
            return kernels(self, engine)

    return Faulty(**{field.name: getattr(problem, field.name) for field in dataclasses.fields(problem)})


PLACES = list(dict.fromkeys(fault[1] for fault in FAULTS))


@pytest.mark.exhaustive
@pytest.mark.parametrize("place", PLACES, ids=lambda p: p[0])
def test_the_suite_passes_what_is_sound(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a fault, the recompiled code gives no alarm; so the tests above detect the fault itself."""
    assert noticing(monkeypatch, place, "return", "return") == []


def test_the_kernels_checks_pass_what_is_sound() -> None:
    engine = mutated(ARRAY_ENGINE[0], "xp", "xp").ArrayEngine(np, "array", "")
    assert against_oracles(ARRAY_CASES, engine)() == []
    faulty = mutated(QUADRATIC[0], "return", "return").QuadraticKernels
    assert (
        against_oracles(
            fedavg_cases(zoo()) + two_sided_cases(zoo()), wrap=lambda problem: with_kernels(problem, faulty)
        )()
        == []
    )
    for module in (RECORD_SUMS, ARRAY_SUMS, PHILOX):
        assert record_suite(module, "import", "import") == []
    assert metrics.disagreements(mutated("simulation.metrics", "return", "return")) == []


WITNESSES = {
    "one_client_is_gradient_descent": "ascent",
    "the_order_of_clients_is_immaterial": "clients weighted by their number",
    "rotations_rotate_the_run": "noise on one coordinate",
    "the_unit_of_the_objective_is_immaterial": "model difference, not update",
    "the_unit_of_the_parameters_is_immaterial": "noise not multiplied by beta",
    "translations_translate_the_run": "weight decay",
    "a_shared_minimiser_is_a_fixed_point": "weight decay",
    "replicates_do_not_see_each_other": "one noise for all replicates",
}


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_every_law_notices_some_fault(law: Any) -> None:
    faulty = DPFedAvg.with_parts(FEDAVG_FAULTS[WITNESSES[law.__name__]])
    assert any(law(faulty, example) for example in EXAMPLES[DPFedAvg].values())
    assert not any(law(DPFedAvg, example) for example in EXAMPLES[DPFedAvg].values())


def test_every_new_module_has_faults() -> None:
    """Each has at least three, and no two have the same name."""
    names = [f"{fault[1][0]} {fault[0]}" for fault in (*FAULTS, *KERNEL_FAULTS)]
    names += [f"{fault[1]} {fault[0]}" for fault in RECORD_FAULTS]
    names += [f"simulation.metrics {fault[0]}" for fault in ACCURACY_FAULTS]
    assert len(names) == len(set(names))
    counts = {module: sum(name.startswith(module + " ") for name in names) for module in {n.split()[0] for n in names}}
    assert min(counts.values()) >= 3, counts
    assert len(counts) >= 16


def test_the_cases_reach_what_the_faults_change() -> None:
    """Runs in the suite clip some updates and not others, and at least one cohort is empty."""
    algorithm = fedavg_cases(zoo())[0][0]
    problem = problem_of("dense")
    run = play(algorithm, problem, 8, starting_points(problem, 3), 11, 4)
    share = np.mean([h.update_norms > h.threshold[:, None] for h in run.rounds])
    assert 0.05 < share < 0.95
    assert len({int(s) for h in run.rounds for s in h.cohort.sum(axis=1)}) >= 3
    assert len({ScaffNew, DPFedAvg} & set(EXAMPLES)) == 2
    assert ragged().n == 4
