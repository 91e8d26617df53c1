"""Data sets: bundled ones, files in both formats, preparation, and every way a file can be wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dpfl_theory import problems
from dpfl_theory.errors import InputError
from dpfl_theory.problems.data import Dataset, load
from dpfl_theory.problems.linear_model import from_dataset
from dpfl_theory.problems.partition import iid


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="ascii")
    return str(path)


def test_bundled_data_are_standardised_with_a_bias() -> None:
    data = load("breast-cancer")
    assert data.x.shape == (569, 31)
    np.testing.assert_allclose(data.x[:, :-1].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(data.x[:, :-1].std(axis=0), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(data.x[:, -1], 1.0)
    digits = load("digits", bias=False)
    assert digits.x.shape == (1797, 64)
    assert digits.classes == 10
    assert np.all(digits.x[:, 0] == 0.0)  # a constant pixel becomes zero, not NaN
    raw = load("digits", bias=False, standardise=False)
    assert raw.x.max() == 16.0
    targets = load("diabetes", regression=True)
    assert targets.classes == 1
    assert abs(float(targets.y.mean())) < 1e-12


def test_row_norm_scales_all_rows_by_one_factor() -> None:
    plain, scaled = load("breast-cancer"), load("breast-cancer", row_norm=2.0)
    ratio = scaled.x[0, -1]
    np.testing.assert_allclose(scaled.x, ratio * plain.x, rtol=1e-12)
    assert np.linalg.norm(scaled.x, axis=1).max() == pytest.approx(2.0, rel=1e-12)


def test_features_are_principal_components_or_columns() -> None:
    full, three = load("breast-cancer", bias=False), load("breast-cancer", bias=False, features=3)
    centred = full.x - full.x.mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False)
    np.testing.assert_allclose(np.linalg.norm(three.x, axis=0), values[:3], rtol=1e-10)
    chosen = load("breast-cancer", bias=False, features=[4, 1])
    np.testing.assert_array_equal(chosen.x, full.x[:, [4, 1]])


def test_label_noise_flips_the_stated_fraction() -> None:
    clean, noisy = load("breast-cancer"), load("breast-cancer", label_noise=0.2, seed=1)
    assert 0.13 < np.mean(clean.y != noisy.y) < 0.27
    digits, shuffled = load("digits"), load("digits", label_noise=1.0)
    assert not np.any(digits.y == shuffled.y)
    assert set(np.unique(shuffled.y)) == set(range(10))


@pytest.mark.parametrize("first", [0, 1])
def test_libsvm_indices_may_start_at_zero_or_one(tmp_path: Path, first: int) -> None:
    text = f"+1 {first}:2.5 {first + 2}:1\n-1 {first + 1}:3\n+1 {first}:1\n"
    data = load(write(tmp_path / "tiny.txt", text), standardise=False, bias=False)
    np.testing.assert_array_equal(data.x, [[2.5, 0, 1], [0, 3, 0], [1, 0, 0]])
    np.testing.assert_array_equal(data.y, [1, 0, 1])
    assert data.classes == 2


def test_an_npz_of_csr_parts_is_the_same_data(tmp_path: Path) -> None:
    """A wide one stays sparse; parts that are no matrix are refused in a sentence."""
    rng = np.random.default_rng(0)
    x = sparse.random_array((40, 6), density=0.5, format="csr", rng=rng)
    y = np.where(rng.random(40) < 0.5, -1, 1)
    parts = {"data": x.data, "indices": x.indices, "indptr": x.indptr, "shape": np.array(x.shape)}
    np.savez(tmp_path / "dense.npz", x=x.toarray(), y=y)
    np.savez(tmp_path / "parts.npz", y=y, **parts)
    dense, own = (load(str(tmp_path / f"{name}.npz"), standardise=False) for name in ("dense", "parts"))
    np.testing.assert_array_equal(dense.x, own.x if isinstance(own.x, np.ndarray) else own.x.toarray())
    wide = {**parts, "shape": np.array([40, 1_000_000])}
    np.savez(tmp_path / "wide.npz", y=y, **wide)
    assert sparse.issparse(load(str(tmp_path / "wide.npz")).x)
    for name, wrong, said in (
        ("ends", {"indptr": x.indptr[:-1]}, "are not a CSR matrix"),
        ("beyond", {"indices": x.indices + 6}, "are not a CSR matrix"),
        ("odd", {"shape": np.array(["a", "b"])}, "are not a CSR matrix"),
    ):
        np.savez(tmp_path / f"{name}.npz", y=y, **{**parts, **wrong})
        with pytest.raises(InputError, match=said):
            load(str(tmp_path / f"{name}.npz"))


def test_npz_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "tiny.npz"
    x, y = np.arange(12.0).reshape(6, 2), np.array([3, 7, 7, 3, 7, 3])
    np.savez(path, x=x, y=y)
    data = load(str(path), standardise=False, bias=False)
    np.testing.assert_array_equal(data.x, x)
    np.testing.assert_array_equal(data.y, [0, 1, 1, 0, 1, 0])
    problem = problems.make("logistic-data", data=str(path), clients=2, ridge=0.1)
    assert (problem.n, problem.d) == (2, 3)
    targets = load(str(path), regression=True)
    assert targets.y.std() == pytest.approx(1.0)
    assert targets.classes == 1


def test_mushrooms_when_they_are_there() -> None:
    path = os.environ.get("DPFL_MUSHROOM")
    if not path:
        pytest.skip("DPFL_MUSHROOM is not set to a LIBSVM file of the UCI mushroom data")
    problem = problems.make("logistic-data", data=path, clients=20, standardise=False, bias=False)
    assert problem.d == 126
    c = problem.constants
    assert c.w_star is None  # a hyperplane separates edible from poisonous
    assert c.f_star == 0.0


def save(path: Path, **arrays: Any) -> str:
    np.savez(path, **arrays)
    return str(path)


GOOD_X = np.arange(8.0).reshape(4, 2)


def bad_files(folder: Path) -> list[tuple[str, str]]:
    bare = folder / "bare.npz"
    with bare.open("wb") as file:
        np.save(file, GOOD_X)
    pickled = folder / "pickled.npz"
    np.savez(pickled, x=np.array([{}, {}], dtype=object), y=np.array([0, 1]))
    nan = GOOD_X.copy()
    nan[2, 1] = np.nan
    infinite = GOOD_X.copy()
    infinite[0, 0] = np.inf
    labels = np.array([0, 1, 0, 1])
    return [
        (str(folder / "none.npz"), "does not exist"),
        (str(folder / "none.txt"), "does not exist"),
        (str(folder), "is a directory"),
        (write(folder / "text.npz", "not a zip archive"), "cannot be read as NPZ"),
        (write(folder / "empty.npz", ""), "cannot be read as NPZ"),
        (str(bare), "one bare array"),
        (str(pickled), "cannot be read as NPZ"),
        (save(folder / "noy.npz", x=GOOD_X), "has no array 'y'"),
        (save(folder / "nan.npz", x=nan, y=labels), "column 'x[:, 1]', record 3 of"),
        (save(folder / "inf.npz", x=infinite, y=labels), "column 'x[:, 0]', record 1 of"),
        (save(folder / "flat.npz", x=np.arange(4.0), y=labels), "give records times features"),
        (save(folder / "short.npz", x=GOOD_X, y=labels[:3]), "one entry for each of the 4 records"),
        (save(folder / "words.npz", x=np.full((4, 2), "a"), y=labels), "values of type <U1: give real numbers"),
        (save(folder / "one.npz", x=GOOD_X, y=np.ones(4)), "all 4 labels of one are 1"),
        (save(folder / "nolabel.npz", x=GOOD_X, y=np.array([0.1, 0.2, 0.3, 0.4])), "use a regression family"),
        (save(folder / "rows.npz", x=np.zeros((0, 2)), y=np.zeros(0)), "give records times features"),
        (write(folder / "words.txt", "one two three\n"), "cannot be read as LIBSVM"),
        (write(folder / "colon.txt", "1 1:2 3\n"), "cannot be read as LIBSVM"),
        (write(folder / "order.txt", "1 3:1 2:1\n0 1:1\n"), "cannot be read as LIBSVM"),
        (write(folder / "nan.txt", "1 1:nan\n0 1:2\n"), "column 'index 0', record 1 of"),
        (write(folder / "empty.txt", ""), "has no records"),
    ]


@pytest.mark.parametrize("which", range(21))
def test_bad_files_are_named(tmp_path: Path, which: int) -> None:
    cases = bad_files(tmp_path)
    assert len(cases) == 21
    path, sentence = cases[which]
    with pytest.raises(InputError) as caught:
        problems.make("logistic-data", data=path, clients=2)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"data": "breast-cancr"}, "did you mean 'breast-cancer'?"),
    ({"data": "diabetes"}, "does not fit this family"),
    ({"features": 31}, "only 30 principal components"),
    ({"features": 0}, "features is 0"),
    ({"features": []}, "empty list"),
    ({"features": [30]}, "names column 30"),
    ({"features": [-1]}, "a column in features is -1"),
    ({"features": [0.5]}, "a column in features is 0.5"),
    ({"label_noise": 1.5}, "label_noise is 1.5"),
    ({"label_noise": float("nan")}, "label_noise is nan"),
    ({"row_norm": 0.0}, "row_norm is 0.0"),
    ({"row_norm": float("inf")}, "row_norm is inf"),
    ({"seed": -1}, "seed is -1"),
    ({"clients": 570}, "570 clients are more than the 569 records"),
    ({"clients": 2.0}, "clients is 2.0"),
    ({"ridge": -0.1}, "ridge is -0.1"),
    ({"ridge": "small"}, "ridge is 'small'"),
    ({"partition": "random"}, "choose one of"),
]


@pytest.mark.parametrize(("options", "sentence"), OPTIONS)
def test_bad_options_are_named(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        problems.make("logistic-data", **options)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_families_refuse_data_of_the_wrong_kind() -> None:
    three = Dataset("three", np.ones((6, 1)), np.array([0.0, 1.0, 2.0] * 2), 3)
    with pytest.raises(InputError, match="'three' has 3 classes"):
        from_dataset(three, iid(6, 2), "logistic")
    targets = Dataset("targets", np.ones((6, 1)), np.linspace(0, 1, 6), 1)
    with pytest.raises(InputError, match="no class labels"):
        from_dataset(targets, iid(6, 2), "softmax")
    with pytest.raises(InputError, match="does not fit this family"):
        problems.make("huber-data", data="digits")
