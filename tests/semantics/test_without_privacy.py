"""What the algorithms that people implement become in special cases, and their fixed points, in fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dpfl_theory.algorithms import get
from dpfl_theory.errors import InputError
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.operations import WorldOperations, run_round
from dpfl_theory.semantics.rational import Quadratics

F = Fraction
CURVATURES, OFFSETS = (F(1), F(1, 2), F(1, 4)), (F(1), F(-2), F(1, 3))
LOCAL = {"eta": F(1, 3), "eta_g": F(3, 2), "E": 4}
START = Vector(F(5))


def world(curvatures: Any = CURVATURES, offsets: Any = OFFSETS) -> Quadratics:
    return Quadratics(curvatures, offsets)


def path(run: Any, rounds: int = 3, size: int | None = None, x: Vector = START, on: Any = None) -> list[Fraction]:
    """The server's vectors, exactly."""
    now, found = (x, None), []
    for t in range(rounds):
        now = run_round(run, on or world(), *now, t=t, size=size).following
        found.append(now[0].known)
    return found


def unequal(a: Any, o: Any, i: Any) -> int:
    """Client i takes i + 1 steps."""
    return int(i) + 1


SAME = {
    "FedProx with mu = 0": get("fedprox")(**LOCAL, mu=F(0)),
    "FedNova with equal steps": get("fednova")(**LOCAL, rho=F(0)),
    "FedAvgM with beta = 0": get("fedavgm")(**LOCAL, beta=F(0)),
}


@pytest.mark.parametrize("name", SAME)
def test_special_cases_are_fedavg(name: str) -> None:
    """All clients of a world have equally many records, so that this is the mean."""
    expected = path(get("fedavg-mcmahan")(**LOCAL))
    assert all(isinstance(x, Fraction) for x in expected)
    assert path(SAME[name]) == expected
    assert path(get("fedavg-two-sided")(eta_l=F(1, 3), eta_g=F(3, 2), Q=4)) == expected


def test_fednova_with_equal_steps_and_momentum_is_fedavg_with_it() -> None:
    nova = get("fednova")(**LOCAL, rho=F(1, 2))
    plain = nova.replaced(normaliser=lambda a, o, i: 1, effective=lambda a, o, members: 1)
    assert path(nova) == path(plain)
    assert path(nova.replaced(steps=unequal)) != path(plain.replaced(steps=unequal))


def test_fednova_descends_on_the_objective_and_fedavg_on_another() -> None:
    """Wang et al. 2020, Theorem 1: for small steps a round moves along sum p_i grad f_i, and with FedAvg along
    sum p_i tau_i grad f_i. The slope in eta at 0 is exact, since a round is a polynomial in eta."""
    on = world()
    g = [on.gradient(i, START).known for i in range(3)]

    def slope(kind: str) -> Fraction:
        """The derivative of a round at eta = 0, of degree 3 in eta, from four points."""
        moved = []
        for k in (-2, -1, 1, 2):
            own = {"rho": F(0)} if kind == "fednova" else {}
            run = get(kind)(eta=F(k), eta_g=1, E=1, **own).replaced(steps=unequal)
            moved.append(path(run, 1)[0])
        return (moved[0] - 8 * moved[1] + 8 * moved[2] - moved[3]) / 12

    assert slope("fednova") == -2 * sum(g) / 3  # tau_eff = 2
    assert slope("fedavg-mcmahan") == -sum((i + 1) * g[i] for i in range(3)) / 3


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("fedavg-mcmahan", {}),
        ("fedprox", {"mu": F(1, 2)}),
        ("fednova", {"rho": F(1, 2)}),
        ("fedavgm", {"beta": F(1, 2)}),
        ("feddyn", {"alpha": F(1, 2)}),
    ],
)
def test_the_optimum_of_equal_clients_is_a_fixed_point(name: str, values: Any) -> None:
    on = world((F(1, 2),) * 3, (F(3),) * 3)
    own = {key: value for key, value in LOCAL.items() if key != "eta_g" or name != "feddyn"}
    assert path(get(name)(**own, **values), 3, 2, on.minimiser, on) == [on.minimiser.known] * 3


def optimal(on: Quadratics) -> tuple[Vector, Any]:
    """FedDyn's state at the optimum: h = 0, and lambda_k is the gradient of client k."""
    star = on.minimiser
    return star, (on.zero, tuple(on.gradient(i, star) for i in range(on.clients)))


FEDDYN = get("feddyn")(eta=F(1, 3), E=4, alpha=F(1, 2))


@pytest.mark.parametrize("size", [2, 3])
def test_the_optimum_is_a_fixed_point_of_feddyn(size: int) -> None:
    """Acar et al. 2021, Section 3: also with clients that differ, for any number of local steps and any cohort. With
    the reading whose h moves by the sum less a single w it is none."""
    on = world()
    star, state = optimal(on)
    after = run_round(FEDDYN, on, star, state, size=size)
    assert after.x == star
    assert after.state == state
    literal = FEDDYN.replaced(**FEDDYN.readings[2].parts)
    assert run_round(literal, on, star, state, size=size).x != star


@pytest.mark.parametrize("name", ["fedavg-mcmahan", "fedprox", "fednova"])
def test_the_optimum_is_no_fixed_point_of_the_others(name: str) -> None:
    on = world()
    own: dict[str, Any] = {"fedprox": {"mu": F(1, 2)}, "fednova": {"rho": F(0)}}.get(name, {})
    assert path(get(name)(**LOCAL, **own), 1, None, on.minimiser, on) != [on.minimiser.known]


def test_feddyn_approaches_the_optimum_where_fedprox_does_not() -> None:
    on = world()
    star = on.minimiser.known
    prox = path(get("fedprox")(eta=F(1, 3), eta_g=1, E=8, mu=F(1, 2)), 40)[-1]
    dyn = path(FEDDYN.with_values(local_steps=8), 40)[-1]
    assert abs(dyn - star) < F(1, 10**6) < F(1, 10) < abs(prox - star)


def test_the_first_round_of_feddyn_is_a_doubled_one_of_fedprox() -> None:
    """lambda = 0, so that clients minimise f_k + (alpha/2) ||. - w||^2; and -h/alpha is the mean move once more."""
    (dyn,) = path(FEDDYN, 1)
    (prox,) = path(get("fedprox")(eta=F(1, 3), eta_g=1, E=4, mu=F(1, 2)), 1)
    assert dyn - START.known == 2 * (prox - START.known)


def test_h_is_the_mean_of_the_clients_states() -> None:
    now: Any = START, None
    for t in range(4):
        now = run_round(FEDDYN, world(), *now, t=t, size=2).following
        h, duals = now[1]
        assert h.known == sum(one.known for one in duals) / 3


def test_what_needs_coordinates_or_records_is_refused() -> None:
    adam = get("fedadam")(eta_l=F(1, 3), E=1, eta=F(1), beta_1=F(0), beta_2=F(1, 2), tau=F(1))
    with pytest.raises(InputError, match="a world has no coordinates"):
        path(adam)
    with pytest.raises(InputError, match="batches of 2 records are given"):
        path(get("fedavg-mcmahan")(**LOCAL, B=2))
    assert WorldOperations(world()).batch_gradient(0, START) == world().gradient(0, START)
