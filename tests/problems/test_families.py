"""The catalogue of families, their constructors' errors, and what their instances are known to be."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

from dpfl_theory import problems
from dpfl_theory.errors import EnvironmentFault, InputError
from dpfl_theory.problems import make
from dpfl_theory.problems.linear_model import LinearModel, linear_data

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("hubber", {}, "unknown problem family 'hubber': did you mean 'huber'?"),
    ("huber", {"client": 3}, "no parameter 'client': did you mean 'clients'?"),
    ("huber", {"xyz": 3}, "it takes clients, dimension"),
    ("huber", {"clients": 0}, "clients is 0: a whole number of at least 1 is needed"),
    ("huber", {"clients": 2.5}, "clients is 2.5"),
    ("huber", {"dimension": -1}, "dimension is -1"),
    ("huber", {"records": "many"}, "records is 'many'"),
    ("huber", {"threshold": 0.0}, "threshold is 0.0"),
    ("huber", {"threshold": -1.0}, "threshold is -1.0"),
    ("huber", {"threshold": float("nan")}, "threshold is nan"),
    ("huber", {"threshold": "wide"}, "threshold is 'wide'"),
    ("huber", {"threshold": [1.0, 2.0, 3.0]}, "one for each of the 10 clients"),
    ("huber", {"heterogeneity": -1.0}, "heterogeneity is -1.0"),
    ("huber", {"heterogeneity": float("inf")}, "heterogeneity is inf"),
    ("huber", {"noise": -0.5}, "noise is -0.5"),
    ("huber", {"ridge": -0.5}, "ridge is -0.5"),
    ("huber", {"seed": 1.5}, "seed is 1.5"),
    ("huber-scalar", {"minimisers": [0.0, 1.0], "thresholds": [1.0]}, "thresholds has 1 entries: 2 are needed"),
    ("huber-scalar", {"minimisers": [], "thresholds": []}, "at least one number"),
    ("huber-scalar", {"minimisers": [0.0], "thresholds": [0.0]}, "threshold is 0.0"),
    ("huber-scalar", {"minimisers": [float("nan")], "thresholds": [1.0]}, "minimisers is nan at [0]"),
    ("huber-scalar", {"minimisers": 3.0, "thresholds": [1.0]}, "minimisers has 0 dimension(s): 1 are needed"),
    ("huber-scalar", {"minimisers": ["a"], "thresholds": [1.0]}, "not a number"),
    ("least-squares", {"records": 0}, "records is 0"),
    ("logistic-synthetic", {"label_noise": -0.1}, "label_noise is -0.1"),
    ("softmax-synthetic", {"classes": 1}, "classes is 1: a whole number of at least 2 is needed"),
]


@pytest.mark.parametrize(("kind", "parameters", "sentence"), WRONG)
def test_wrong_parameters_are_named(kind: str, parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        make(kind, **parameters)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_parameter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def needs(size: int) -> None: ...

    monkeypatch.setattr(problems, "families", lambda: {"needs": needs})
    with pytest.raises(InputError, match="'needs' needs the parameter 'size': add it"):
        make("needs")


BAD_DATA: list[tuple[dict[str, Any], str]] = [
    ({"x": [1.0, 2.0]}, "the features x has 1 dimension(s): 2 are needed"),
    ({"x": [[1.0], [math.inf]]}, "the features x is inf at [1, 0]"),
    ({"y": [1.0]}, "the labels y has 1 entries: 2 are needed"),
    ({"y": [1.0, 0.0]}, "label 0.0 is not allowed: logistic labels are -1 and +1"),
    ({"loss": "hinge"}, "loss is 'hinge': choose one of squared, huber, logistic, softmax"),
    ({"loss": "softmax", "classes": 2}, "label -1.0 is not allowed: softmax labels are 0 to 1"),
    ({"loss": "softmax", "classes": 1}, "classes is 1"),
    ({"clients": [np.array([0, 1]), np.array([], dtype=np.int64)]}, "client 1 has no records"),
    ({"clients": []}, "has no records"),
    ({"clients": [np.array([0, 2])]}, "owns record 2 of 2"),
    ({"ridge": math.nan}, "ridge is nan"),
]


@pytest.mark.parametrize(("change", "sentence"), BAD_DATA)
def test_bad_records_are_named(change: dict[str, Any], sentence: str) -> None:
    good: dict[str, Any] = {"x": [[1.0], [2.0]], "y": [1.0, -1.0], "clients": [np.array([0, 1])], "loss": "logistic"}
    assert linear_data(**good).clients == 1
    with pytest.raises(InputError) as caught:
        linear_data(**{**good, **change})
    assert sentence in str(caught.value)


@pytest.mark.parametrize("kind", ["huber", "least-squares"])
def test_heterogeneity_zero_interpolates_exactly(kind: str) -> None:
    for records in (2, 12):
        c = make(kind, clients=6, dimension=5, records=records, heterogeneity=0.0, seed=3).constants
        assert c.f_star == 0.0
        assert np.all(c.delta_i_star == 0.0)
        assert c.interpolates


@pytest.mark.parametrize("kind", ["huber", "least-squares"])
def test_heterogeneity_scales_the_distance_between_the_clients_optima(kind: str) -> None:
    def spread(heterogeneity: float) -> float:
        optima = make(kind, clients=6, dimension=3, records=9, heterogeneity=heterogeneity).constants.w_i_star
        assert optima is not None
        return float(np.max(np.linalg.norm(optima - optima[0], axis=1)))

    assert spread(2.0) == pytest.approx(2.0 * spread(1.0), rel=1e-9)
    assert spread(1.0) > 0.1
    assert not make(kind, heterogeneity=1.0).constants.interpolates


def test_huber_scalar_constants_are_exact() -> None:
    c = make("huber-scalar", minimisers=[0.0, 1.0, 5.0], thresholds=[1.0, 0.25, 3.0]).constants
    assert c.L_i.tolist() == [1.0, 1.0, 1.0]
    assert c.L_f == 1.0
    assert c.mu_f == 0.0
    assert c.G_i.tolist() == [1.0, 0.25, 3.0]
    assert c.G_record == 3.0
    assert c.f_i_star.tolist() == [0.0, 0.0, 0.0]
    # 1 + 1/4 + (w - 5) = 0 at w = 3.75: both left clients are in their linear parts.
    assert c.w_star == pytest.approx([3.75], rel=1e-14)
    assert c.f_i_at_star == pytest.approx([3.25, 0.25 * 2.75 - 0.03125, 0.78125], rel=1e-14)


def test_huber_with_a_flat_valley_says_so() -> None:
    c = make("huber-scalar", minimisers=[-10.0, 10.0], thresholds=[1.0, 1.0]).constants
    assert c.w_star is not None
    assert not c.unique
    assert c.f_star == 9.5
    assert c.certificates["f_star"].kind == "duality-gap"


def test_huber_with_huge_thresholds_is_least_squares() -> None:
    parameters = {"clients": 4, "dimension": 3, "records": 8, "noise": 0.5, "seed": 2}
    square, huber = make("least-squares", **parameters).constants, make("huber", threshold=1e6, **parameters).constants
    np.testing.assert_allclose(square.w_star, huber.w_star, rtol=1e-12)
    assert square.f_star == pytest.approx(huber.f_star, rel=1e-13)
    assert math.isinf(square.G_max)
    assert math.isfinite(huber.G_max)


@pytest.mark.parametrize("kind", ["huber", "logistic-synthetic", "softmax-synthetic"])
def test_single_records_bound_the_record_constant(kind: str) -> None:
    model = make(kind, clients=3, dimension=3, records=5)
    assert isinstance(model, LinearModel)
    d = model.data
    each = [np.array([j]) for j in range(len(d.x))]
    alone = LinearModel(linear_data(d.x, d.y, each, d.loss, threshold=d.threshold, classes=d.classes)).constants
    assert model.constants.G_record == pytest.approx(alone.G_max, rel=1e-14)
    assert math.isinf(make(kind, clients=3, dimension=3, records=5, ridge=0.1).constants.G_max)


def test_scaling_the_data_scales_the_constants() -> None:
    model = make("huber", clients=3, dimension=3, records=9, noise=0.5)
    assert isinstance(model, LinearModel)
    d = model.data
    parts = np.split(np.arange(27), 3)
    c = model.constants
    s = LinearModel(linear_data(4.0 * d.x, d.y, parts, "huber", threshold=d.threshold)).constants
    np.testing.assert_allclose(s.L_i, 16.0 * c.L_i, rtol=1e-12)
    np.testing.assert_allclose(s.G_i, 4.0 * c.G_i, rtol=1e-12)
    np.testing.assert_allclose(s.w_star, c.w_star / 4.0, rtol=1e-9)
    np.testing.assert_allclose(s.f_star, c.f_star, rtol=1e-12)


def test_badly_scaled_columns_are_no_trouble() -> None:
    model = make("logistic-synthetic", clients=4, dimension=3, records=30, label_noise=0.2)
    assert isinstance(model, LinearModel)
    d = model.data
    scaled = linear_data(d.x * np.array([1e-6, 1.0, 1e6]), d.y, np.split(np.arange(120), 4), "logistic")
    c, s = model.constants, LinearModel(scaled).constants
    assert s.f_star == pytest.approx(c.f_star, rel=1e-10)
    assert s.certificates["f_star"].error < 1e-8


def test_problems_travel_between_processes() -> None:
    model = make("softmax-synthetic", clients=2, dimension=2, records=20)
    again = pickle.loads(pickle.dumps(model))
    assert again.constants.f_star == model.constants.f_star


def test_loading_the_catalogue_is_lazy_and_complete() -> None:
    known = problems.families()
    wanted = {"huber", "huber-scalar", "least-squares", "logistic-synthetic", "logistic-data"}
    assert wanted | {"softmax-synthetic", "softmax-data"} <= set(known)
    for constructor in known.values():
        assert constructor.__doc__


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("huber", {"dimension": 10**15}),
        ("logistic-synthetic", {"clients": 10**16}),
        ("quadratic", {"dimension": 10**23}),
        ("huber", {"records": 10**11}),
    ],
)
def test_a_problem_that_no_memory_has_room_for_is_refused(name: str, size: dict[str, int]) -> None:
    with pytest.raises(
        EnvironmentFault, match=rf"{next(iter(size))} = \d+.* needs more memory than available: take fewer"
    ):
        make(name, **size)
