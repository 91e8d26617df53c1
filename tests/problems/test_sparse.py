"""Sparse records: the constants of the same records as an array, certificates, what cannot be done, and growth."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles.sparse import FAULTS, LOSSES, faulty, pair
from scipy import sparse

from dpfl_theory.errors import InputError
from dpfl_theory.problems import files, minimise, smoothness, whitened
from dpfl_theory.problems.base import Constants
from dpfl_theory.problems.certificates import linear_constants
from dpfl_theory.problems.data import load
from dpfl_theory.problems.heterogeneity import sigma_global, sigma_local
from dpfl_theory.problems.linear_model import LinearModel, from_dataset, linear_data
from dpfl_theory.problems.risk import Rounding
from dpfl_theory.problems.smoothness import extremes

SIZES = (10, 13, 17)
VALUES = ("L_i", "L_f", "mu_i", "mu_f", "G_i", "G_record", "f_star", "f_i_star", "f_i_at_star", "w_star", "w_i_star")


def error_of(c: Constants, name: str) -> float:
    known = c.certificates.get({"f_i_at_star": "f_i_star", "w_i_star": "f_i_star", "G_record": "G_i"}.get(name, name))
    return 0.0 if known is None else known.error


def differing(a: Constants, b: Constants) -> set[str]:
    """The constants that differ by more than what both certificates and rounding allow; points by 1e-7."""
    wrong = {"unique"} if a.unique != b.unique else set()
    for name in VALUES:
        x, y = getattr(a, name), getattr(b, name)
        if (x is None) != (y is None):
            wrong.add(name)
        elif x is not None:
            room = 1e-7 if name in ("w_star", "w_i_star") else error_of(a, name) + error_of(b, name) + 1e-13
            close = np.isclose(x, y, rtol=1e-12, atol=room)  # infinities are equal
            wrong |= set() if close.all() else {name}
    kinds = {name for name in b.certificates if a.certificates[name].kind != b.certificates[name].kind}
    return wrong | {f"certificate of {name}" for name in kinds}


@pytest.fixture(params=["arrays of few columns", "Gram matrices"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records are small enough for arrays of the columns that they touch, or not."""
    if request.param == "Gram matrices":
        monkeypatch.setattr(minimise, "_DENSE", 0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("features", [9, 60])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("loss", LOSSES)
def test_constants_are_those_of_dense_records(way: None, loss: str, ridge: float, features: int) -> None:
    """60 features are more than records: some infima are not attained, others not unique."""
    dense, thin = pair(loss, ridge, features, SIZES, share=0.4 if features == 9 else 0.1)
    assert differing(dense.constants, thin.constants) == set()


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_change_the_constants(way: None, fault: str) -> None:
    dense, thin = pair("logistic", 0.3, 9, SIZES)
    named = set() if fault == "a column too far to the left" else {"f_star", "f_i_star"}  # infima do not name columns
    assert {"w_star", "w_i_star"} | named <= differing(dense.constants, faulty(thin, fault).constants)


def test_a_direction_that_is_left_out_shows_in_the_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    """A basis that lacks a direction of the records: f(w) is larger than the minimum, and the error says so."""
    monkeypatch.setattr(minimise, "_DENSE", 0)
    dense, thin = pair("logistic", 0.3, 9, SIZES)
    right = whitened.Spanned._factors.func  # type: ignore[attr-defined]

    def fewer(self: Any) -> Any:
        vectors, s = right(self)
        return vectors[:, 1:], s[1:]

    monkeypatch.setattr(whitened.Spanned, "_factors", property(fewer))
    found, true = linear_constants(thin.data), dense.constants.f_star
    above = found.f_star - true
    assert above > 1e-3
    assert above <= found.certificates["f_star"].error


def test_separable_parts_and_coinciding_records() -> None:
    """Records that coincide, with labels that differ, and some that vanish at infinity."""
    x = np.array([[-1.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [2.0, 0.0, 1.0]] * 3)
    y = np.array([-1.0, -1.0, 1.0, 1.0] * 3)
    parts = [np.arange(4), np.arange(4, 12)]
    for large in (0, 1 << 22):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(minimise, "_DENSE", large)
            dense, thin = (
                LinearModel(linear_data(form, y, parts, "logistic")).constants for form in (x, sparse.csr_array(x))
            )
        assert differing(dense, thin) == set()
        assert thin.w_star is None
        assert thin.f_star == pytest.approx(0.5 * np.log(2.0), abs=1e-12)


def test_bounds_of_collatz_and_wielandt_enclose_the_eigenvalue(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    weight = rng.uniform(0.0, 1.0, 40)
    for seed in range(5):
        x = sparse.random_array((40, 30), density=0.2, rng=seed)
        for signed in (False, True):
            if signed:
                x = x.multiply(rng.choice([-1.0, 1.0], (40, 30)))
            x = sparse.csr_array(x)
            exact = extremes(x, weight)
            assert exact.gap == 0.0
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(smoothness, "_ORDER", 5)
                found = extremes(x, weight)
            assert exact.largest <= found.largest * (1.0 + 1e-12)
            assert found.largest - found.gap <= exact.largest * (1.0 + 1e-12)
            if not signed:
                assert found.largest == pytest.approx(exact.largest, rel=1e-8)
    monkeypatch.setattr(smoothness, "_STEPS", 0)  # a planted fault: no power iteration, no bound
    monkeypatch.setattr(smoothness, "_ORDER", 5)
    assert not np.isfinite(extremes(x, weight).largest)


def test_records_without_limit_need_a_ridge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the largest Gram matrix: conjugate gradients with a ridge, one sentence without."""
    for module in (whitened, smoothness):
        monkeypatch.setattr(module, "_ORDER", 5)
    monkeypatch.setattr(minimise, "_DENSE", 0)
    for loss in LOSSES:
        dense, thin = pair(loss, 0.3, 9, SIZES)
        a, b = dense.constants, linear_constants(thin.data)
        assert abs(a.f_star - b.f_star) <= a.certificates["f_star"].error + b.certificates["f_star"].error
        assert b.certificates["f_star"].error < 1e-12
        assert b.certificates["L_i"].kind == "norm-bound"
        assert (b.L_i >= a.L_i * (1.0 - 1e-12)).all()
        assert b.L_f >= a.L_f * (1.0 - 1e-12)
        assert (b.mu_i <= a.mu_i).all()
    with pytest.raises(InputError, match="too many to find the infimum without ridge: give `ridge`"):
        linear_constants(pair("logistic", 0.0, 9, SIZES)[1].data)


@pytest.mark.exhaustive
@pytest.mark.parametrize("loss", LOSSES)
def test_heterogeneity_is_that_of_dense_records(loss: str) -> None:
    for measure in (sigma_global, sigma_local):
        a, b = (measure(p, tries=1) for p in pair(loss, 0.3, 9, SIZES))
        np.testing.assert_allclose([b.low, b.high], [a.low, a.high], rtol=1e-6)


def test_heterogeneity_of_wide_least_squares_is_refused() -> None:
    with pytest.raises(InputError, match="5000 times 5000 for sparse records: list at most 4096 `features`"):
        sigma_global(pair("squared", 0.3, 5000)[1])


@pytest.mark.parametrize("loss", LOSSES)
def test_rounding_is_bounded_by_the_entries_of_a_record(loss: str) -> None:
    dense, thin = (p.data for p in pair(loss, 0.1))
    most = int((dense.x != 0.0).sum(axis=1).max())
    assert Rounding.from_records(thin) == dataclasses.replace(Rounding.from_records(dense), features=most)


def test_values_and_gradients_on_the_host() -> None:
    for loss in LOSSES:
        dense, thin = pair(loss, 0.1)
        w = np.random.default_rng(0).standard_normal(dense.d)
        for i in range(dense.n):
            assert thin.client_value(i, w) == pytest.approx(dense.client_value(i, w), rel=1e-13)
            np.testing.assert_allclose(thin.client_gradient(i, w), dense.client_gradient(i, w), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("x", "sentence"),
    [
        (sparse.csr_array([[1.0, np.nan], [0.0, 1.0]]), r"the features x is nan at \[0, 1\]"),
        (sparse.csr_array((0, 2)), r"shape \(0, 2\)"),
        (sparse.csr_array([[1j], [0.0]]), "complex128: give a matrix of real numbers"),
    ],
)
def test_what_is_no_matrix_of_numbers_is_refused(x: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        linear_data(x, [1.0, -1.0], [np.arange(2)], "logistic")


def test_entries_given_twice_are_added_up_and_the_callers_matrix_stays() -> None:
    x = sparse.csr_array((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    data = linear_data(x, [1.0, -1.0], [np.array([1]), np.array([0])], "logistic")
    assert data.x.toarray().tolist() == [[0.0, 5.0], [3.0, 0.0]]
    assert x.nnz == 3


def test_a_wide_file_stays_sparse_from_the_reader_to_the_constants(tmp_path: Path) -> None:
    """200 records with 1 000 000 features: an array would have 1.6 gigabytes."""
    rng = np.random.default_rng(0)
    lines = [
        f"{i % 2} qid:{i % 5} "
        + " ".join(f"{k}:{rng.random():.3f}" for k in sorted({*rng.integers(1, 10**6, 9), 10**6}))
        for i in range(200)
    ]
    (tmp_path / "wide.svm").write_text("\n".join(lines))
    found = load(str(tmp_path / "wide.svm"))
    assert sparse.issparse(found.x)
    assert found.x.shape == (200, 10**6 + 1)
    problem = from_dataset(found, [np.flatnonzero(found.clients == i) for i in range(5)], "logistic", ridge=0.01)
    assert problem.sparse
    c = problem.constants
    assert c.certificates["f_star"].error < 1e-12
    assert problem.value(c.w_star) == pytest.approx(c.f_star, rel=1e-12)
    own = files.read(tmp_path / "wide.svm").x
    assert own.nnz < 2001
