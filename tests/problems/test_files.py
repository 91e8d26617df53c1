"""Records from files of every format: what is read, and the sentence for each way in which a file can be wrong."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from scipy import sparse

from dpfl_theory.errors import InputError
from dpfl_theory.problems import files
from dpfl_theory.problems.data import load
from dpfl_theory.problems.preparation import prepared
from dpfl_theory.problems.sparse import lengths
from dpfl_theory.recommend.data import DataSource

TABLE = "x1,x2,label,client\n1,2,yes,berlin\n3,4,no,paris\n5,9,yes,berlin\n1,2,no,paris\n"


def a_csv(folder: Path) -> Path:
    (folder / "a.csv").write_text(TABLE)
    return folder / "a.csv"


def a_compressed_csv(folder: Path) -> Path:
    (folder / "a.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    return folder / "a.csv.gz"


def a_tsv(folder: Path) -> Path:
    (folder / "a.tsv").write_text(TABLE.replace(",", "\t"))
    return folder / "a.tsv"


def a_parquet(folder: Path) -> Path:
    columns = {"x1": [1, 3, 5, 1], "x2": [2.0, 4.0, 9.0, 2.0], "label": ["yes", "no", "yes", "no"]}
    parquet.write_table(pa.table({**columns, "client": ["berlin", "paris"] * 2}), folder / "a.parquet")
    return folder / "a.parquet"


def an_npz(folder: Path) -> Path:
    x = np.array([[1, 2], [3, 4], [5, 9], [1, 2]])
    np.savez(folder / "a.npz", x=x, y=["yes", "no", "yes", "no"], client=["berlin", "paris"] * 2)
    return folder / "a.npz"


def a_libsvm(folder: Path) -> Path:
    (folder / "a.svm").write_text("2 qid:8 1:1 2:2\n1 qid:9 1:3 2:4\n2 qid:8 1:5 2:9\n1 qid:9 1:1 2:2\n")
    return folder / "a.svm"


FORMATS = [a_csv, a_compressed_csv, a_tsv, a_parquet, an_npz, a_libsvm]


@pytest.mark.parametrize("written", FORMATS, ids=lambda f: f.__name__)
def test_all_formats_give_the_same_records_and_clients(written: Callable[[Path], Path], tmp_path: Path) -> None:
    data = load(str(written(tmp_path)), standardise=False, bias=False)
    assert data.x.tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 9.0], [1.0, 2.0]]
    assert data.y.tolist() == [1.0, 0.0, 1.0, 0.0]
    assert data.clients is not None
    assert data.clients.tolist() == [0, 1, 0, 1]
    assert len(data.client_names) == len(data.labels) == len(data.features) == 2


def test_columns_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("city,outcome,age\nrome,1,30\noslo,0,40\nrome,0,50\n")
    data = load(str(tmp_path / "own.csv"), standardise=False, bias=False, label="outcome", client="city")
    assert (data.x.tolist(), data.client_names, data.features) == ([[30], [40], [50]], ("oslo", "rome"), ("age",))
    with pytest.raises(InputError, match=r"column 'city', record 1 of .* is 'rome', in a column of string"):
        load(str(tmp_path / "own.csv"), label="outcome")


def idx(values: list[Any], kind: int = 0x08, dtype: str = "u1") -> bytes:
    array = np.array(values, dtype)
    return bytes([0, 0, kind, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(
    ("kind", "dtype"), [(8, "u1"), (9, "i1"), (0xB, ">i2"), (0xC, ">i4"), (0xD, ">f4"), (0xE, ">f8")]
)
def test_images_come_with_the_labels_beside_them(kind: int, dtype: str, compressed: bool, tmp_path: Path) -> None:
    images = idx([[[1, 2], [3, 4]], [[5, 6], [7, 9]], [[0, 0], [1, 0]]], kind, dtype)
    name = "train-images-idx3-ubyte" + ".gz" * compressed
    (tmp_path / name).write_bytes(gzip.compress(images) if compressed else images)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx([7, 3, 7]))
    data = load(str(tmp_path / name), standardise=False, bias=False)
    assert data.x.tolist() == [[1, 2, 3, 4], [5, 6, 7, 9], [0, 0, 1, 0]]
    assert (data.y.tolist(), data.labels) == ([1.0, 0.0, 1.0], ("3", "7"))
    assert data.features == ("pixel 0, 0", "pixel 0, 1", "pixel 1, 0", "pixel 1, 1")


@pytest.mark.parametrize(
    ("images", "labels", "sentence"),
    [
        (idx([[1, 2], [3, 4]]), None, "put 'b-labels.idx' into the same folder"),
        (idx([[1, 2], [3, 4]]), idx([1, 2, 3]), "one label for each of the 2 records"),
        (idx([[1, 2], [3, 4]])[:-1], idx([1, 2]), r"its sizes \(2, 2\) make 4 bytes, and it has 3"),
        (b"PNG...", idx([1, 2]), "it starts with 504e472e"),
        (b"", idx([1, 2]), "cannot be read as IDX"),
        (idx([1, 2]), idx([1, 2]), "give records times features"),
        (idx([[np.nan], [1]], 0xE, ">f8"), idx([1, 2]), "column 'pixel 0', record 1 of .* is nan"),
    ],
)
def test_a_bad_idx_file_is_told(images: bytes, labels: bytes | None, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "b-images.idx").write_bytes(images)
    if labels is not None:
        (tmp_path / "b-labels.idx").write_bytes(labels)
    with pytest.raises(InputError, match=sentence) as caught:
        load(str(tmp_path / "b-images.idx"))
    assert "\n" not in str(caught.value)


BAD = {
    "empty.csv": ("", "cannot be read as CSV"),
    "header.csv": ("x,y\n", "has no records"),
    "numbers.csv": ("1,2,3\n4,5,6\n", "starts with numbers"),
    "ragged.csv": ("x1,x2,y\n1,2\n3,4,0\n", "Expected 3 columns, got 2"),
    "twice.csv": ("x1,x1,y\n1,2,0\n", "column 'x1' occurs 2 times"),
    "gap.csv": ("x1,x2,y\n1,2,0\n3,,1\n", "column 'x2', record 2 of"),
    "bytes.csv": ("x1,x2,y\n1,2,\udc80\n3,4,1\n", "column 'y', record 1 of .* in a column of binary"),
    "names.csv": ("x\udc80,x2,y\n1,2,3\n3,4,1\n", "cannot be read as CSV"),
    "words.csv": ("x1,x2,y\n1,2,0\n3,four,1\n", "column 'x2', record 2 of .* is 'four'"),
    "complex.csv": ("x1,x2,y\n1,2,0\n3,4+1j,1\n", "column 'x2', record 2 of .* is '4\\+1j'"),
    "complex.svm": ("1 1:2 2:3\n0 1:1 2:1+2j\n", r"record 2 has '2:1\+2j'"),
    "unnamed.svm": ("1 1:2\n0 a:1\n", "record 2 has 'a:1'"),
    "digits.csv": (
        "x1,x2,y\n1,5e12,0\n3,5e12,1\n2,5000000000000.5,1\n",
        "column 'x2', record 3 .* too little for double",
    ),
    "huge.csv": ("x1,x2,y\n1,1e200,0\n3,4,1\n", "record 1 of .* is 1e\\+200: not a finite number"),
    "infinite.csv": ("x1,x2,y\n1,2,0\n3,-inf,1\n", "record 2 of .* is -inf"),
    "long.csv": ("x1,x2,y\n1,9007199254740995,0\n3,4,1\n", "a whole number that loses digits"),
    "lonely.csv": ("y,client\n1,2\n", "add at least one feature"),
    "semicolons.csv": ("x1;x2;y\n1;2;0\n", "add at least one feature"),
    "torn.svm.gz": ("no gzip", "cannot be read as LIBSVM"),
    "some.svm": ("1 qid:1 1:2\n0 1:1\n", "1 of 2 records of .* have a qid"),
    "wide.svm": ("1 1:2\n0 400000000:1\n", "400000000 features, and at most 16777216"),
    "none.svm": ("# nothing\n", "has no records"),
    "torn.parquet": ("PAR1", "cannot be read as Parquet"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_told_in_one_sentence(name: str, tmp_path: Path) -> None:
    text, sentence = BAD[name]
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=sentence) as caught:
        load(str(tmp_path / name))
    assert "\n" not in str(caught.value)


def test_truncated_and_complex_data_are_refused(tmp_path: Path) -> None:
    (tmp_path / "torn.svm.gz").write_bytes(gzip.compress(b"1 1:2\n0 1:3\n" * 1000)[:30])
    with pytest.raises(InputError, match="cannot be read as LIBSVM"):
        load(str(tmp_path / "torn.svm.gz"))
    np.savez(tmp_path / "c.npz", x=np.ones((3, 2)) * 1j, y=[0, 1, 0])
    with pytest.raises(InputError, match=r"column 'x\[:, 0\]', record 1 of .* is 1j: a complex number"):
        load(str(tmp_path / "c.npz"))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"label": "labl"}, "did you mean 'label'"), ({"client": "clint"}, "did you mean 'client'")],
)
def test_a_misspelt_column_is_named(options: dict[str, str], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=sentence):
        load(str(a_csv(tmp_path)), **options)  # type: ignore[arg-type]


def test_sparse_features_stay_sparse(tmp_path: Path) -> None:
    lines = [f"{i % 2} {i + 1}:2 {900_000 + i}:1" for i in range(40)]
    (tmp_path / "wide.svm").write_text("\n".join(lines))
    read = files.read(tmp_path / "wide.svm")
    assert sparse.issparse(read.x)
    assert read.x.shape == (40, 900_039)
    x = load(str(tmp_path / "wide.svm"), row_norm=3.0).x
    assert sparse.issparse(x)
    assert x.nnz == 120  # two columns and the bias
    assert lengths(x).max() == pytest.approx(3.0)


def test_sparse_and_dense_features_are_prepared_alike_but_for_the_shift() -> None:
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((30, 4)) * (rng.random((30, 4)) < 0.5)
    dense -= dense.mean(axis=0)  # nothing is left to shift
    thin, full = (prepared(x, True, [2, 0], True, 2.0) for x in (sparse.csr_array(dense), dense))
    np.testing.assert_allclose(thin.toarray(), full, rtol=1e-12, atol=1e-15)
    with pytest.raises(InputError, match="are not sparse"):
        prepared(sparse.csr_array(dense), True, 2, True, None)


def test_a_column_that_never_varies_loses_nothing_and_is_told(tmp_path: Path) -> None:
    rows = "".join(f"{k},{0.1 + 1e17!r},{k % 2}\n" for k in range(40))
    (tmp_path / "same.csv").write_text("x1,x2,y\n" + rows)
    source = DataSource(str(tmp_path / "same.csv"))
    assert source.constant == ["x2"]
    assert not source.dataset.x[:, 1].any()
    reported = source.report(source.problem(4))
    assert reported["constant_features"] == ["x2"]
    assert DataSource("breast-cancer").constant == []
    assert len(DataSource("digits").constant) == 3
