"""Certificates as files: the script and a second reader decide alike, and a changed certificate is rejected."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from certificate_reader import verified
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import HANGS
from planted import PROBLEMS, TIGHT, certificate, changed, places

from dpfl_theory import verify_certificate as script
from dpfl_theory.checks import worst_case
from dpfl_theory.checks.certificate_file import FORMAT, SCRIPT, is_proof, of_evidence, text
from dpfl_theory.checks.settings import Settings
from dpfl_theory.statements import get


def by_reader(made: Mapping[str, Any]) -> bool:
    """The decision of the second reader."""
    try:
        return verified(made)
    except ValueError:
        return False


def accepted(made: dict[str, Any]) -> bool:
    """Whether it is a proof, on which the script and the second reader must agree."""
    found = is_proof(made)
    assert by_reader(made) == found
    return found


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_was_proved_is_verified_from_the_file_alone(name: str, tmp_path: Path) -> None:
    made = certificate(name)
    assert accepted(made)
    assert accepted(json.loads(text([made]))["certificates"][0])


def test_the_certificates_are_what_they_say() -> None:
    """Read by hand: each function's class, parameters and the pairs of points that the proof uses."""
    known = {name: certificate(name) for name in PROBLEMS}
    for kind in ("convex", "strongly convex", "smooth", "smooth convex", "smooth strongly convex"):
        assert [f["class"] for f in known[kind]["functions"]] == [kind]
        assert known[kind]["conditions"] == []
    assert [known[k]["functions"][0].get("L") for k in ("smooth", "smooth convex", "smooth strongly convex")] == [
        "2"
    ] * 3
    assert known["smooth strongly convex"]["functions"][0]["mu"] == "1"
    assert known["smooth convex"]["interpolation"] == [[0, 1, 0, "1"]]  # f(x) - f* from below
    [gradient] = [k for k, name in enumerate(known["smooth convex"]["vectors"]) if name.startswith("gradient of f0")]
    assert known["smooth convex"]["left"] == {"products": [[gradient, gradient, "1/4"]], "values": []}
    [first], [other] = known["equality"]["conditions"], known["other equality"]["conditions"]
    assert (first["relation"], first["name"]) == ("==", "equally long")
    assert {first["multiplier"], other["multiplier"]} == {"1", "-1"}
    [condition] = known["inequality"]["conditions"]
    assert condition["relation"] == "<="
    assert Fraction(condition["multiplier"]) > 0


# Tampering. The claims are tight, so that no weaker hypothesis and no smaller bound proves them.


@pytest.mark.parametrize("name", TIGHT)
@pytest.mark.parametrize("bound", ["999/1000", "999999999999/1000000000000", "0", "-1"])
def test_a_smaller_bound_is_rejected(name: str, bound: str) -> None:
    assert not accepted({**certificate(name), "bound": bound})


@pytest.mark.parametrize("name", [n for n in TIGHT if n != "inequality"])
def test_a_wrong_multiplier_is_rejected(name: str) -> None:
    made = certificate(name)
    paths = [p for p in places(made) if "multiplier" in p or (p[0] == "interpolation" and p[-1] == 3)]
    assert paths
    for path in paths:
        for factor in (Fraction(-1), Fraction(0), Fraction(999, 1000), Fraction(1001, 1000), 1 + Fraction(1, 2**60)):
            inner: Any = made
            for key in path:
                inner = inner[key]
            assert not accepted(changed(made, path, str(factor * Fraction(inner)))), (path, factor)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_missing_inequality_or_condition_is_rejected(name: str) -> None:
    made = certificate(name)
    removed = 0
    for key in ("interpolation", "conditions"):
        for k in range(len(made[key])):
            assert not accepted({**made, key: [*made[key][:k], *made[key][k + 1 :]]})
            removed += 1
    assert removed


WEAKER = [
    ("strongly convex", {"class": "convex", "mu": None}),
    ("strongly convex", {"mu": "499/1000"}),
    ("strongly convex", {"mu": "0"}),
    ("smooth", {"class": "convex", "L": None}),
    ("smooth", {"L": "2001/1000"}),
    ("smooth convex", {"class": "smooth"}),
    ("smooth convex", {"class": "convex", "L": None}),
    ("smooth convex", {"L": "2001/1000"}),
    ("smooth strongly convex", {"class": "smooth convex", "mu": None}),
    ("smooth strongly convex", {"class": "smooth", "mu": None}),
    ("smooth strongly convex", {"class": "strongly convex", "L": None}),
    ("smooth strongly convex", {"mu": "999/1000"}),
    ("convex", {"class": "smooth", "L": "1"}),
]


@pytest.mark.parametrize(("name", "change"), WEAKER)
def test_the_wrong_class_is_rejected(name: str, change: dict[str, str | None]) -> None:
    made = certificate(name)
    function = {k: v for k, v in {**made["functions"][0], **change}.items() if v is not None}
    assert not accepted({**made, "functions": [function]})


@pytest.mark.parametrize(
    "function",
    [
        {"class": "concave"},
        {"class": "convex", "L": "1"},
        {"class": "smooth"},
        {"class": "smooth", "L": "0"},
        {"class": "smooth", "L": "-2"},
        {"class": "smooth convex", "L": 2},
        {"class": "smooth convex", "L": "2.0"},
        {"class": "smooth strongly convex", "L": "2", "mu": "2"},
        {"class": "smooth strongly convex", "L": "2", "mu": "-1"},
        {"class": "strongly convex", "mu": "-1"},
    ],
)
def test_a_class_that_is_none_is_rejected(function: dict[str, Any]) -> None:
    made = certificate("smooth convex")
    points = made["functions"][0]["points"]
    assert not accepted({**made, "functions": [{**function, "points": points}]})
    assert not accepted({**made, "functions": [*made["functions"], {**function, "points": []}]})


def test_an_inequality_that_became_an_equality_or_the_reverse() -> None:
    """An equality that is read as ``<= 0`` serves with a positive multiplier alone."""
    verdicts = {}
    for name in ("equality", "other equality"):
        made = certificate(name)
        multiplier = made["conditions"][0]["multiplier"]
        verdicts[multiplier] = accepted(changed(made, ("conditions", 0, "relation"), "<="))
        assert not accepted(changed(made, ("conditions", 0, "relation"), ">="))
    assert verdicts == {"1": True, "-1": False}


def of_values(left: int, multiplier: str, pair: tuple[int, int]) -> dict[str, Any]:
    """f_left <= f_other for a convex function at a stationary point 0 and another point 1, by one inequality."""
    stationary = {"x": [[0, "1"]], "g": [], "f": [[0, "1"]]}
    other = {"x": [[1, "1"]], "g": [[2, "1"]], "f": [[1, "1"]]}
    return {
        "vectors": ["s", "x", "g"],
        "values": ["f at s", "f at x"],
        "functions": [{"class": "convex", "points": [stationary, other]}],
        "conditions": [],
        "left": {"products": [], "values": [[left, "1"]]},
        "right": {"products": [], "values": [[1 - left, "1"]]},
        "bound": "1",
        "interpolation": [[0, *pair, multiplier]],
    }


def test_an_inequality_the_other_way_round_is_rejected() -> None:
    """f* <= f(x) is proved by f(x) >= f* + <0, x - x*>; the reverse would need it with the multiplier -1."""
    assert accepted(of_values(0, "1", (1, 0)))
    assert not accepted(of_values(1, "-1", (1, 0)))
    assert not accepted(of_values(1, "1", (1, 0)))


@pytest.mark.parametrize("multiplier", ["0", "999/1000", "1001/1000", "2"])
def test_function_values_that_are_left_over_are_rejected(multiplier: str) -> None:
    """Nothing but function values is left over: the quadratic form is 0."""
    assert not accepted(of_values(0, multiplier, (1, 0)))
    assert not accepted(of_values(1, multiplier, (1, 0)))


@pytest.mark.parametrize("pair", [[0, 0], [0, 7], [-1, 0], [0, True], [0, "1"], [0, 1.0]])
def test_an_inequality_of_points_that_are_not_two_is_rejected(pair: list[Any]) -> None:
    made = certificate("smooth convex")
    assert not accepted({**made, "interpolation": [*made["interpolation"], [0, *pair, "0"]]})
    assert not accepted({**made, "interpolation": [*made["interpolation"], [pair[1], 0, 1, "0"]]}) or pair[1] == 0


@pytest.mark.parametrize("number", ["1.0", "1e3", "1/0", "nan", " 1", "1/-2", "+1", "", 1, 1.0, None, True, "١"])
def test_a_number_that_is_no_fraction_in_text_is_rejected(number: Any) -> None:
    for path in (("bound",), ("left", "products", 0, 2), ("interpolation", 0, 3), ("functions", 0, "L")):
        assert not accepted(changed(certificate("smooth convex"), path, number))


@pytest.mark.parametrize(
    "key", ["vectors", "values", "functions", "conditions", "left", "right", "bound", "interpolation"]
)
def test_a_missing_part_is_rejected(key: str) -> None:
    made = certificate("smooth convex")
    del made[key]
    assert not accepted(made)


def test_what_is_no_certificate_raises_a_sentence() -> None:
    with pytest.raises(ValueError, match="this is not a certificate"):
        verified({})


@settings(max_examples=150)
@given(st.data())
def test_the_script_and_the_second_reader_agree_on_any_change(data: st.DataObject) -> None:
    """One or two numbers are replaced, anywhere in a certificate."""
    made = certificate(data.draw(st.sampled_from(sorted(PROBLEMS))))
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(sorted(places(made), key=str)))
        if path[-1] in (0, 1) or (path[-1] == 2 and path[0] == "interpolation"):
            made = changed(made, path, data.draw(st.integers(-1, 4)))
        else:
            made = changed(made, path, str(data.draw(st.fractions(-3, 3, max_denominator=6))))
    accepted(made)


@settings(max_examples=60)
@given(st.data())
def test_a_change_that_weakens_a_tight_claim_is_rejected(data: st.DataObject) -> None:
    """The right side is made smaller, or the left one larger, on one square."""
    made = certificate(
        data.draw(st.sampled_from(["smooth convex", "smooth", "strongly convex", "smooth strongly convex"]))
    )
    off = data.draw(st.fractions(Fraction(1, 10**12), 2, max_denominator=10**12))
    k = data.draw(st.integers(0, 2))  # a stationary point, another point and its gradient
    side, sign = data.draw(st.sampled_from([("left", 1), ("right", -1)]))
    form = made[side]
    made[side] = {**form, "products": [*form["products"], [k, k, str(sign * off)]]}
    assert not accepted(made)


# The script by itself.


def run(file: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """The script, copied to where no package is, in an interpreter that finds the standard library alone."""
    alone = tmp_path / "elsewhere"
    alone.mkdir(exist_ok=True)
    shutil.copy(SCRIPT, alone / "verify.py")
    command = [sys.executable, "-I", "-S", "verify.py", str(file)]
    return subprocess.run(command, capture_output=True, text=True, cwd=alone, timeout=HANGS, check=False)


@pytest.mark.parametrize("label", ["énoncé", "\ud800"])
def test_the_script_does_not_fail_on_a_terminal_that_cannot_show_a_label(
    label: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {**certificate("smooth"), "check": label}
    (tmp_path / "c.json").write_text(json.dumps({"format": FORMAT, "certificates": [made]}))
    command = [sys.executable, str(SCRIPT), str(tmp_path / "c.json")]
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert label.encode("ascii", "backslashreplace").decode() in done.stdout


def test_the_script_proves_nothing_of_what_is_nested_too_deep(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 200_000)
    done = run(tmp_path / "deep.json", tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("NOT PROVED: ")


def test_the_script_verifies_a_file_without_the_package(tmp_path: Path) -> None:
    good, bad = certificate("smooth convex"), {**certificate("smooth"), "bound": "999/1000"}
    (tmp_path / "good.json").write_text(text([good, certificate("equality")]), encoding="utf-8")
    (tmp_path / "bad.json").write_text(text([good, bad]), encoding="utf-8")
    done = run(tmp_path / "good.json", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.splitlines()
    assert first.startswith("proved: mine.one, smooth convex, ")
    assert "left <= 1 * right for functions f0, f1, ... that are (smooth convex, L = 2)" in first
    assert second.startswith("proved: ")
    done = run(tmp_path / "bad.json", tmp_path)
    assert done.returncode == 1
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["proved", "NOT PROVED"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"format": "dpfl-theory-certificate/2", "certificates": [{}]}',
        f'{{"format": "{FORMAT}", "certificates": []}}',
        f'{{"format": "{FORMAT}", "certificates": [{{}}]}}',
        f'{{"format": "{FORMAT}", "certificates": [1]}}',
        f'{{"format": "{FORMAT}", "certificates": 1}}',
    ],
)
def test_the_script_proves_nothing_from_another_file(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "other.json"
    file.write_text(content)
    assert script.main([str(file)]) == 1
    assert capsys.readouterr().out.startswith("NOT PROVED: ")


def test_a_proof_of_another_format_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "next.json"
    file.write_text(text([certificate("smooth convex")]).replace(FORMAT, "dpfl-theory-certificate/2"))
    assert script.main([str(file)]) == 1
    assert "no certificate of the format dpfl-theory-certificate/1" in capsys.readouterr().out


def test_the_script_needs_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert script.main([str(tmp_path / "missing.json")]) == 1
    assert capsys.readouterr().out.startswith("NOT PROVED: ")
    with pytest.raises(SystemExit, match="verify_certificate"):
        script.main([])


def test_the_script_is_short_and_imports_the_standard_library_alone() -> None:
    lines = SCRIPT.read_text().splitlines()
    assert len(lines) <= 150
    nodes = [n for n in ast.walk(ast.parse("\n".join(lines))) if isinstance(n, ast.Import | ast.ImportFrom)]
    imported = {n.module if isinstance(n, ast.ImportFrom) else a.name for n in nodes for a in n.names}
    assert imported <= sys.stdlib_module_names


def test_both_halves_of_an_equality_have_their_certificates() -> None:
    about = ("statement", "check", "claim")
    one, other = ({k: v for k, v in certificate(n).items() if k not in about} for n in ("smooth convex", "smooth"))
    notes = {"claim": "a", "certificate": one, "other half": {"claim": "b", "certificate": other}}
    found = of_evidence(
        [{"statement": "s", "check": "c", "notes": notes}, {"statement": "s", "check": "d", "notes": {}}]
    )
    assert [(c["check"], c["claim"], c["functions"][0]["class"]) for c in found] == [
        ("c", "a", "smooth convex"),
        ("c", "b", "smooth"),
    ]


def test_a_certificate_is_small() -> None:
    """It has no matrices of inequalities."""
    assert len(json.dumps(certificate("smooth strongly convex"))) < 1500


# The catalogue's own.

CATALOGUE = [
    ("das2022.eq22", "E = 4, eta L = 1/4"),
    ("hou2023.contraction", "N = 2, mu = 1/4, p = 1/2, eta L = 1"),
    ("noble2022.lemmaC.4.sharpened", "one round, non-convex, M = 3, lM = 1, K = 1, eta~ nu = 1/240"),
    ("shulgin2025.corollary1", "non-convex, gradient = 5, error = 33/32, estimates = (5, 6, 5, 4, 5, 6)"),
    ("zhang2021.eq16", "both clients, Q = 2, noise, without"),
]


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(("id_", "name"), CATALOGUE)
def test_a_proof_of_each_paper_is_verified_and_a_smaller_bound_is_not(id_: str, name: str) -> None:
    statement = get(id_)
    (check,) = [c for c in statement.checks if (c.method, c.name) == ("worst-case", name)]
    certificates = of_evidence([worst_case.run(statement, check, Settings()).to_json()])
    assert certificates
    for made in certificates:
        assert accepted(made)
        assert not accepted({**made, "bound": "0"})
        kept = len(made["interpolation"])
        assert kept
        for k in range(kept):
            fewer = [*made["interpolation"][:k], *made["interpolation"][k + 1 :]]
            assert not accepted({**made, "interpolation": fewer})
