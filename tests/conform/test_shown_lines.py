"""The lines that a finding shows have the cause among them."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.conform.planted import BUILT_IN, CORRECT, IMPLEMENTATIONS, PLANTED, Plant, function_of
from dpfl_theory.conform.case import Case
from dpfl_theory.conform.probes import Plan
from dpfl_theory.conform.references import references
from dpfl_theory.conform.settings import settings
from dpfl_theory.conform.source_location import SEVERAL
from dpfl_theory.conform.user_function import Subject

HERE = "# here"
"""Marks the line that must be shown."""


def shown(function: Callable[..., Any], as_: str, role: str, **given: float) -> list[int]:
    """The numbers of the lines that are shown for a role."""
    reference = references()[as_]
    subject = Subject(function, reference)
    values = settings(reference, given, {*subject.taken.values()}, clients=7, cohort=3, scheme="fixed", relation=None)
    return [line for _, line in Case(reference, subject, Plan(reference, values), 0, 1e-6, 0).lines(role)]


def scaffold(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, eta_l: Any, eta_g: Any, K: Any) -> Any:
    if state is None:
        state = (np.zeros_like(w), np.zeros((len(clients), w.size)))
    c, own = state[0], state[1].copy()
    moved, change = np.zeros_like(w), np.zeros_like(w)
    for i in cohort:
        y = w.copy()
        for _ in range(K):
            y = y - eta_l * (clients[i].gradient(y) - own[i] + c)
        new = own[i] - c + (w - y) / (K * eta_l)
        moved += (y - w) / len(cohort)
        change += (new - own[i]) / len(cohort)  # here
        own[i] = new
    return w + eta_g * moved, (c + change, own)  # here


def error_feedback(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, eta_l: Any, eta_g: Any, K: Any) -> Any:
    """Memories that are changed in place."""
    if state is None:
        state = (np.zeros((len(clients), w.size)), np.zeros(w.size))
    g, average = state[0].copy(), state[1]
    sent = []
    for i, client in enumerate(clients):
        difference = client.gradient(w) - g[i]
        c = difference * min(1.0, 1.0 / max(np.linalg.norm(difference), 1e-30))
        g[i] += difference  # here
        sent.append(c)
    average = average + np.mean(sent, axis=0)
    return w - eta_l * average, (g, average)


def several_memories(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, eta_l: Any, eta_g: Any, K: Any) -> Any:
    """Memories that a list gathers."""
    memory = np.zeros((len(clients), w.size)) if state is None else state
    kept = []
    for i, client in enumerate(clients):
        kept.append(memory[i] + client.gradient(w) - 0.5 * memory[i])  # here
    return w - eta_l * np.mean(kept, axis=0), kept


def adagrad(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, client_lr: Any, server_lr: Any, E: Any) -> Any:
    m, v = state if state is not None else (0.0 * w, 0.0 * w + 1e-6)
    updates = [-client_lr * E * clients[k].gradient(w) for k in cohort]
    d = np.mean(updates, axis=0)
    m, v = 0.9 * m + d, v + d * d  # here
    return w + server_lr * m / (np.sqrt(v) + 1e-3), (m, v)


def first_moved(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, E: Any, alpha: Any) -> Any:
    h = np.zeros_like(w) if state is None else state
    ends = []
    for i in cohort:
        y = w.copy()
        for _ in range(E):
            y = y - lr * clients[i].gradient(y)
        ends.append(y)
    new = np.mean(ends, axis=0) - h / alpha  # here
    h = h - alpha * np.sum([y - w for y in ends], axis=0)  # here
    return new, h


def proximal(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, E: Any, mu: Any) -> Any:
    """A term that the first step of a client does not have."""
    total = np.zeros_like(w)
    for i in cohort:
        net, buffer = w.copy(), np.zeros_like(w)
        for _ in range(E):  # here
            grad = clients[i].gradient(net)
            apart = net - w
            norm = np.linalg.norm(apart)
            if norm > 0:
                grad = grad + mu / 2 * apart / norm  # here
            buffer = 0.9 * buffer + grad
            net = net - lr * buffer
        total += net - w
    return w + total / len(cohort), state


@pytest.mark.parametrize(
    ("function", "as_", "role"),
    [
        (scaffold, "scaffold", "control"),
        (error_feedback, "scaffold", "control"),
        (several_memories, "scaffold", "control"),
        (adagrad, "fedadagrad", "step"),
        (first_moved, "feddyn", "step"),
        (proximal, "fedprox", "local"),
    ],
)
def test_the_cause_is_shown(function: Any, as_: str, role: str) -> None:
    lines = shown(function, as_, role)
    text, first = inspect.getsourcelines(function)
    assert {first + k for k, line in enumerate(text) if HERE in line} <= set(lines)
    assert len(lines) <= SEVERAL


def test_lines_of_a_first_round_and_loops_over_clients_come_last() -> None:
    text, first = inspect.getsourcelines(scaffold)
    control = [text[line - first] for line in shown(scaffold, "scaffold", "control")]
    assert not any("state is None" in line for line in control)
    local = [text[line - first] for line in shown(scaffold, "scaffold", "local")]
    assert not any("for i in cohort" in line for line in local)
    assert any("for _ in range(K)" in line for line in local)


def changed(plant: Plant) -> set[int]:
    """The numbers of the lines in which a fault is planted."""
    right = (IMPLEMENTATIONS / f"{plant.of}.py").read_text()
    wrong = right.replace(plant.old, plant.new)
    wrong = wrong.replace(plant.also_old, plant.also_new) if plant.also_old else wrong
    blocks = difflib.SequenceMatcher(None, right.splitlines(), wrong.splitlines(), autojunk=False).get_opcodes()
    return {
        line for tag, _, _, low, high in blocks if tag != "equal" for line in range(low + 1, max(high, low + 1) + 1)
    }


@pytest.mark.slow
def test_the_changed_line_of_most_planted_faults_is_shown() -> None:
    found, known = 0, references()
    for plant in PLANTED:
        reference = known[CORRECT[plant.of]]
        role = next((one.role for one in reference.faults() if one.name == plant.named), "noise")
        subject, given = Subject(function_of(plant.of, plant), reference), BUILT_IN.get(plant.of, {})
        taken = {*subject.taken.values()}
        values = settings(reference, given, taken, clients=7, cohort=None, scheme=None, relation=None)
        case = Case(reference, subject, Plan(reference, values), 0, 1e-6, 0)
        found += bool({line for _, line in case.lines(role)} & changed(plant))
    assert found >= 0.75 * len(PLANTED)
