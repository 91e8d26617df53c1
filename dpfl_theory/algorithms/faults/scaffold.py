"""Mistakes in rounds with SCAFFOLD's control variates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dpfl_theory.algorithms.averaging import weighted_difference
from dpfl_theory.algorithms.faults import average_fault, cohort_fault, control_fault, step_fault
from dpfl_theory.algorithms.faults.averaging import ADDED, STEPS, Part, by_records, one_message
from dpfl_theory.algorithms.faults.carried import KEPT
from dpfl_theory.core.algorithm import Extends, Fault, with_number

NO_C = "c is missing in the new control variate"
DAMPING = (0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.99)
"""Shares of c_i^+ that are tried for a damped control variate."""


def taking(mean: Callable[[Any, Any, Any], Any]) -> Part:
    """c_i - c plus another mean of gradients."""
    return lambda a, o, t: t.own - t.c + mean(a, o, t)


REPLACED = control_fault(
    "the server's control variate is replaced",
    "c is 1/n of the last round's differences alone: add these to c",
    controls=Extends(lambda inner, a, o, w, c, own, trained: last_alone(c, *inner(o, w, c, own, trained))),
)


def last_alone(before: Any, after: Any, own: Any) -> tuple[Any, Any]:
    """The change of c in place of c, and the clients' control variates."""
    return after - before, own


def c_moves(a: Any, o: Any, w: Any, c: Any, own: Any) -> Any:
    """Clients one after the other, each of which reads c as the one before has left it."""
    found: list[Any] = []
    for i in o.cohort:
        found.append(a.train(o, w, i, own[i], c))
        c = c + a.control_weight(o) * a.sent(o, found[-1])
    return found


def c_i_moves(a: Any, o: Any, w: Any, c: Any, own: Any) -> Any:
    """Clients one after the other, each of which reads the c_i that the one before has written."""
    found: list[Any] = []
    for i in o.cohort:
        found.append(a.train(o, w, i, found[-1].new if found else own[i], c))
    return found


AT_ONCE: tuple[dict[str, Any], ...] = ({"trained": c_i_moves}, {})
"""Whether a client reads the c_i that another client has written in the same round."""


def steps_in_control() -> Iterator[Fault]:
    """c_i^+ divides by another number of steps."""
    name = "another number of steps in the control variate"
    for more in (1, -1):
        yield control_fault(
            name,
            f"c_i^+ divides w - y by (K {'+' if more > 0 else '-'} 1) eta_l, for example where a loop's counter is "
            "read after its end or counts from another number: divide by K eta_l, where K counts the gradients taken",
            control=taking(lambda a, o, t, more=more: a.mean_gradient(t) * a.local_steps / (a.local_steps + more)),  # type: ignore[misc]
        )
    yield with_number(
        "in c_i^+ the mean of the gradients has a factor",
        (2.0, 0.5),
        lambda times: control_fault(
            "a factor in the control variate",
            f"in c_i^+ the mean of the gradients of the client's steps has the factor {times:.4g}: it is "
            "(w - y)/(K eta_l) itself",
            control=taking(lambda a, o, t: times * a.mean_gradient(t)),
        ),
    )


def all_move(change: Callable[..., Any], hears: bool) -> Part:
    """Also the control variates of clients that take no part change. hears: whether these changes enter c."""

    def controls(a: Any, o: Any, w: Any, c: Any, own: Any, trained: Any) -> tuple[Any, Any]:
        total = o.sum(o.cohort, [a.sent(o, t) for t in trained])
        kept = a.keep(o, own, trained)
        for i in sorted({*o.everyone} - {*o.cohort}):
            kept[i] = change(a, o, w, i, own[i], c)
            total = total + (kept[i] - own[i] if hears else 0.0)
        return c + a.control_weight(o) * total, kept

    return controls


def absent() -> Iterator[Fault]:
    for hears in (False, True):
        yield cohort_fault(
            "clients that take no part train",
            "all clients train and write their control variates, whoever is in the cohort: c_i must not change for a "
            "client that takes no part, else the amplification by sampling is claimed but does not exist",
            private=True,
            plain=(
                "all clients train and write their control variates, whoever is in the cohort: c_i must not change for "
                "a client that takes no part"
            ),
            controls=all_move(lambda a, o, w, i, own, c: a.train(o, w, i, own, c).new, hears),
        )
        yield control_fault(
            "control variates of absent clients move",
            "c_i^+ = c_i - c + (w - y)/(K eta_l) is formed with y = w for clients that take no part, which subtracts c "
            "from their control variates in every round: change only those of the cohort",
            equivalent_to=NO_C if hears else "",
            controls=all_move(lambda a, o, w, i, own, c: own - c, hears),
        )


def damped() -> Iterator[Fault]:
    for x in DAMPING:
        said = (
            f"c_i becomes {1 - x:.4g} c_i + {x:.4g} c_i^+, a moving average that the algorithm does not have: replace "
            "c_i by c_i^+"
        )
        yield control_fault(
            "a damped control variate",
            said,
            control=lambda a, o, t, x=x: (1 - x) * t.own + x * (t.own - t.c + a.mean_gradient(t)),
        )
        yield control_fault(
            "a damped control variate",
            f"{said}, so that c_i is the value that the server got",
            keep=lambda a, o, own, trained, x=x: o.put(own, o.cohort, [(1 - x) * t.own + x * t.new for t in trained]),
        )


def first_controls(c: bool, own: bool) -> Part:
    """Control variates that start at the server's vector: the server's, and those of all clients."""
    return lambda a, o, w: (w if c else o.zero, o.each(o.everyone, lambda i: w if own else o.zero))


def first_gradients(o: Any, w: Any) -> tuple[Any, Any]:
    """Control variates that are the clients' gradients at the server's first vector, and their mean."""
    own = o.each(o.everyone, lambda i: o.gradient(i, w))
    return o.sum(o.everyone, own) / o.n, own


def when_first_met(a: Any, o: Any, w: Any, state: Any) -> tuple[Any, Any]:
    """A round in which a client's control variate starts at the server's vector when the client first takes part."""
    (c, own), met = a.initial(o, w) if state is None else state
    own = [w if i in o.cohort and i not in met else own[i] for i in o.everyone]
    w, inner = a.exchange(o, w, c, own)
    return w, (inner, met | {*o.cohort})


def last_gradients(a: Any, o: Any, w: Any, c: Any, own: Any) -> Any:
    """Clients whose control variates are the gradients of their last local steps."""
    seen: list[Any] = []

    def direction(_: Any, o: Any, i: Any, y: Any, w: Any) -> Any:
        seen.append(a.direction(o, i, y, w))
        return seen[-1]

    noting = a.replaced(direction=direction, control=lambda _, o, t: seen[-1] if seen else o.zero)
    return o.each(o.cohort, lambda i: noting.train(o, w, i, own[i], c))


NEW = (
    *KEPT,
    *(
        control_fault(
            "the server's control variate moves within the round",
            f"c is updated (by 1/{of} of a client's difference) inside the loop over the clients, so that a client's "
            "steps depend on the clients before it: add the differences and move c once, by 1/n of their sum, after "
            "the loop",
            trained=c_moves,
            control_weight=weight,
        )
        for of, weight in (("n", lambda a, o: 1.0 / o.n), ("|S|", lambda a, o: 1.0 / max(o.count(o.cohort), 1)))
    ),
    *(
        control_fault(
            "the global step in the control variate",
            f"in c_i^+ the difference w - y {words} the server's step eta_g: a control variate is a mean of gradients, "
            "(w - y)/(K eta_l), whatever the server's step is",
            control=taking(lambda a, o, t, factor=factor: factor(a) * a.mean_gradient(t)),  # type: ignore[misc]
        )
        for words, factor in (
            ("is multiplied by", lambda a: a.global_step),
            ("is divided by K eta_l and", lambda a: 1.0 / a.global_step),
            ("is divided by K and, in place of eta_l, by", lambda a: a.local_step / a.global_step),
        )
    ),
    *steps_in_control(),
    control_fault(
        "weights by numbers of records in the server's control variate",
        "c moves by the differences c_i^+ - c_i with weights by the clients' shares of the cohort's records: c is the "
        "plain mean of all c_i, so add their sum over n",
        sent=Extends(weighted_difference),
    ),
    *absent(),
    control_fault(
        "the control variate is the gradient at the end",
        "c_i^+ is the gradient at the end of the client's steps: it should be the mean of the gradients of its steps, "
        "c_i - c + (w - y)/(K eta_l), or (option I) the gradient at the server's parameters",
        control=lambda a, o, t: a.gradient(o, t.i, t.y),
    ),
    control_fault(
        "the control variate is the last gradient",
        "c_i^+ is only the gradient of the last local step: it should be the mean of those of all K steps, c_i - c + "
        "(w - y)/(K eta_l)",
        trained=last_gradients,
    ),
    control_fault(
        "the global step in the server's control variate",
        "the change of c is multiplied by the server's step eta_g. Add the differences c_i^+ - c_i over n without it, "
        "so that c stays the mean of all c_i",
        control_weight=lambda a, o: a.global_step / o.n,
    ),
    control_fault(
        "the server's control variate moves by the sum",
        "c moves by the sum of the differences c_i^+ - c_i: divide it by the number n of all clients, so that c stays "
        "the mean of all c_i",
        control_weight=lambda a, o: 1.0,
    ),
)
FAULTS = (
    REPLACED,
    control_fault(
        "control variate sent whole",
        "a client sends its new control variate c_i^+ and the server adds it to c: send the difference c_i^+ - c_i",
        seen="Plato, issue 382",
        sent=lambda a, o, t: t.new,
    ),
    control_fault(
        "control variate scaled by epochs",
        "c_i^+ divides w - y only by the number of local steps (or of epochs): divide it by K eta_l",
        seen="Plato, pull request 386",
        control=taking(lambda a, o, t: (t.w - t.y) / a.local_steps),
    ),
    control_fault(
        "control variate without the number of local steps",
        "c_i^+ divides w - y only by eta_l (or by the batches of one epoch): divide it by K eta_l, where K counts all "
        "local steps of the round",
        seen="PFLlib, issue 160; ki-ljl/Scaffold-Federated-Learning, issue 1",
        control=taking(lambda a, o, t: (t.w - t.y) / a.local_step),
    ),
    control_fault(
        "server's control variate over the cohort",
        "c moves by the mean over the cohort: it should move by the sum over the cohort divided by n, so that c stays "
        "the mean of all c_i",
        seen="NIID-Bench, issue 12",
        control_weight=lambda a, o: 1.0 / max(o.count(o.cohort), 1),
    ),
    control_fault(
        "control variates that do not start at zero",
        "the control variates start at the model's parameters (or at random numbers): start them at zero, or with warm "
        "rounds",
        seen="NIID-Bench, issue 8",
        initial=first_controls(c=True, own=True),
    ),
    *(
        control_fault(
            "control variates that do not start at zero",
            f"a client's control variate starts at the model's parameters when it first takes part{words}: start it at "
            "zero, or with warm rounds",
            initial=lambda a, o, w, begin=begin: (begin(a, o, w), frozenset()),
            round=when_first_met,
        )
        for words, begin in (
            ("", first_controls(c=False, own=False)),
            (", and the server's at those of the first round", first_controls(c=True, own=False)),
        )
    ),
    control_fault(
        "control variates that start at the first gradients",
        "before the first round all clients set their control variates to their gradients at w, and c is their mean: "
        "start them at zero",
        private=True,
        unaccounted=True,
        initial=lambda a, o, w: first_gradients(o, w),
    ),
    control_fault(
        "the server's control variate never moves",
        "c keeps its first value: add the sum of the differences c_i^+ - c_i over n. One cause is that the server does "
        "not update c, another that c_i is overwritten before the difference is taken, which then is zero",
        seen="KarhouTam/SCAFFOLD-PyTorch, issue 1",
        sent=lambda a, o, t: o.zero,
    ),
    control_fault(
        "the correction has the wrong sign",
        "the local step adds c_i - c to the gradient: it should add c - c_i",
        seen="Fed-BioMed, issue 734",
        correction=lambda a, o, own, c: own - c,
    ),
    control_fault(
        "control variate with the number of records",
        "c_i^+ divides w - y by the number of the client's records (times the epochs): K should be the number of "
        "gradients taken",
        seen="FL4Health, pull request 64",
        control=taking(lambda a, o, t: a.mean_gradient(t) / o.records(t.i)),
    ),
    *(
        control_fault(
            "one control variate for all clients",
            "all clients write one control variate: keep one for each client",
            seen="YanshiShield, issue 91",
            keep=lambda a, o, own, trained: [trained[-1].new] * o.n if trained else own,
            **at_once,
        )
        for at_once in AT_ONCE
    ),
    control_fault(
        "no correction",
        "control variates have no effect in the local steps: add c - c_i to each gradient",
        correction=lambda a, o, own, c: o.zero,
    ),
    control_fault(
        "the correction without the server's part",
        "local steps subtract c_i but do not add c",
        correction=lambda a, o, own, c: -own,
    ),
    control_fault(
        "the correction without the client's part",
        "local steps add c but do not subtract c_i",
        correction=lambda a, o, own, c: c,
    ),
    control_fault(
        NO_C, "c_i^+ = c_i + (w - y)/(K eta_l) lacks the term - c", control=lambda a, o, t: t.own + a.mean_gradient(t)
    ),
    control_fault(
        "c_i and c are missing in the new control variate",
        "c_i^+ is (w - y)/(K eta_l) alone, a mean of corrected gradients: add c_i - c, which takes out the correction",
        control=lambda a, o, t: a.mean_gradient(t),
    ),
    control_fault(
        "the new control variate has the wrong sign",
        "c_i^+ has (y - w)/(K eta_l): it should have (w - y)/(K eta_l), the mean of the gradients of its steps",
        equivalent_to="the correction has the wrong sign",
        control=taking(lambda a, o, t: -a.mean_gradient(t)),
    ),
    control_fault(
        "the clients' control variates are not kept",
        "c_i keeps its first value: keep c_i^+ for the next round",
        keep=lambda a, o, own, trained: own,
    ),
    average_fault(
        "division by n in place of the cohort",
        "the model moves by the sum over the cohort divided by n: divide by the number of clients that take part",
        divisor=lambda a, o, members: o.n,
    ),
    average_fault("no division", "the differences are summed, not averaged", divisor=lambda a, o, members: 1.0),
    average_fault(
        "weights by numbers of records",
        "clients are weighted by their records, while the control variates give all clients the same weight",
        weight=by_records,
        divisor=lambda a, o, members: 1.0,
    ),
    step_fault("no global step size", "the average is added without a factor", move=lambda a, o, w, step: w + step),
    step_fault(
        "the step has the wrong sign", "the server moves in the opposite direction", move=lambda a, o, w, step: w - step
    ),
    *one_message(),
    *STEPS,
    *NEW,
    *ADDED,
    *damped(),
)
"""All of them; those of the average, the step and the local steps also occur without control variates."""
