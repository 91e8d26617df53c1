"""`check --certificate`: the file, the messages about it, refused combinations; and the report's links."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pages import broken_links, pages_of

from dpfl_theory import verify_certificate
from dpfl_theory.checks.certificate_file import FORMAT, SCRIPT, is_proof
from dpfl_theory.cli import main
from dpfl_theory.report.build import build

EXAMPLE = Path(__file__).parents[1] / "examples" / "worst_case.py"
FALSE = "das2022.lemma10.smooth-alone"

Output = pytest.CaptureFixture[str]


def refused(capsys: Output, *arguments: str) -> str:
    """The sentence with which a command is refused."""
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1, err
    return err


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder with evidence of the example, and its certificates."""
    folder = tmp_path_factory.mktemp("kept")
    file, evidence = folder / "certificates of mine.json", folder / "evidence" / "check.json"
    line = ["check", "--file", str(EXAMPLE), "--method", "worst-case", "--jobs", "1", "--certificate", str(file)]
    assert main([*line, "--format", "json", "--output", str(evidence)]) == 0
    return folder, file


def test_the_script_verifies_what_check_wrote(kept: tuple[Path, Path], capsys: Output) -> None:
    _, file = kept
    document = json.loads(file.read_text())
    assert document["format"] == FORMAT
    found = [(c["statement"], c["check"]) for c in document["certificates"]]
    assert found == [("mine.gradient-descent", "K = 1"), ("mine.gradient-descent", "K = 2")]  # not K = 5, up to 1e-6
    assert all(map(is_proof, document["certificates"]))
    capsys.readouterr()
    assert verify_certificate.main([str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("proved: mine.gradient-descent, K = ") for line in lines)


def test_a_file_that_was_changed_is_not_verified(kept: tuple[Path, Path], tmp_path: Path, capsys: Output) -> None:
    text = kept[1].read_text()
    changed = tmp_path / "changed.json"
    for old, new in (('"bound": "1"', '"bound": "9999/10000"'), ('"class": "smooth convex"', '"class": "smooth"')):
        assert text.count(old) == 2
        changed.write_text(text.replace(old, new))
        assert verify_certificate.main([str(changed)]) == 1
        assert all(line.startswith("NOT PROVED: ") for line in capsys.readouterr().out.splitlines())


def test_what_is_said(kept: tuple[Path, Path], tmp_path: Path, capsys: Output) -> None:
    """The message has the number of certificates, the number of checks, and the command that verifies them."""
    file = tmp_path / "one proof.json"
    line = ["check", FALSE, "--method", "worst-case", "--jobs", "1", "--certificate", str(file)]
    assert main(line) == 0
    err = capsys.readouterr().err.splitlines()
    assert f"5 certificates, of 5 of 10 worst-case checks: {file}" in err
    assert f"verify with: python {SCRIPT} '{file}'" in err
    assert {c["check"].split(",")[0] for c in json.loads(file.read_text())["certificates"]} == {"convex"}


def test_where_nothing_is_proved_it_says_so_and_writes_nothing(tmp_path: Path, capsys: Output) -> None:
    """A constant that is too small: every check is violated."""
    mine = tmp_path / "mine.py"
    mine.write_text(EXAMPLE.read_text().replace("4 * s.K + 2", "4 * s.K + 4"))
    file = tmp_path / "none.json"
    line = ["check", "--file", str(mine), "--method", "worst-case", "--jobs", "1", "--certificate", str(file)]
    assert main(line) == 1
    err = capsys.readouterr().err.splitlines()
    assert f"none of 3 worst-case checks was proved in rational arithmetic: {file} is not written" in err
    assert not file.exists()


def test_without_a_worst_case_it_is_refused(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "c.json"
    message = refused(capsys, "check", FALSE, "--method", "exact", "--certificate", str(file))
    assert "no check here uses the method worst-case" in message
    assert not file.exists()


@pytest.mark.parametrize("other", ["c.json", "./c.json", "folder/../c.json"])
def test_the_file_of_the_output_is_refused(
    other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.chdir(tmp_path)
    message = refused(capsys, "check", FALSE, "--certificate", "c.json", "--output", other)
    assert "name the same file" in message


@pytest.mark.parametrize("option", ["--certificate", "--output"])
@pytest.mark.parametrize("other", ["mine.py", "./mine.py", "link.py"])
def test_the_statements_are_not_overwritten(
    other: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "mine.py"
    mine.write_text(EXAMPLE.read_text())
    (tmp_path / "link.py").symlink_to(mine)
    message = refused(capsys, "check", "--file", "mine.py", option, other)
    assert "would be overwritten" in message
    assert mine.read_text() == EXAMPLE.read_text()


def test_a_round_is_not_overwritten(tmp_path: Path, capsys: Output) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("def one_round(w, state, clients, cohort, rng):\n    return w, state\n")
    message = refused(capsys, "conform", f"{mine}:one_round", "--as", "fedavg", "--output", str(mine))
    assert "would be overwritten" in message


@pytest.mark.parametrize("name", ["", "."])
def test_a_file_that_cannot_be_written_is_refused_before_the_work(name: str, capsys: Output) -> None:
    refused(capsys, "check", FALSE, "--certificate", name)


def test_the_page_links_certificates_and_script(kept: tuple[Path, Path]) -> None:
    folder, file = kept
    build(folder, redraw=False)
    page = folder / "statements" / "mine.gradient-descent.html"
    text = page.read_text()
    assert '<a href="../certificates/mine.gradient-descent.json">2 certificates</a>' in text
    assert '<a href="../certificates/verify_certificate.py">' in text
    assert broken_links(folder, pages_of(folder)) == []
    written = folder / "certificates" / "mine.gradient-descent.json"
    assert json.loads(written.read_text()) == json.loads(file.read_text())
    assert (folder / "certificates" / "verify_certificate.py").read_text() == SCRIPT.read_text()
    assert verify_certificate.main([str(written)]) == 0


def test_a_certificate_that_proves_nothing_is_not_linked(kept: tuple[Path, Path], tmp_path: Path) -> None:
    """Evidence is a file that anyone can change; an earlier link is removed."""
    folder, _ = kept
    document = json.loads((folder / "evidence" / "check.json").read_text())
    (tmp_path / "evidence").mkdir()
    place = tmp_path / "evidence" / "check.json"
    place.write_text(json.dumps(document))
    build(tmp_path, redraw=False)
    written = tmp_path / "certificates" / "mine.gradient-descent.json"
    assert written.exists()
    for e in document["evidence"]:
        if "certificate" in e["notes"]:
            e["notes"]["certificate"]["bound"] = "1/2"
            e["notes"]["other half"] = {"certificate": {"vectors": 3}}
    place.write_text(json.dumps(document))
    build(tmp_path, redraw=False)
    assert not written.exists()
    assert "certificates/" not in (tmp_path / "statements" / "mine.gradient-descent.html").read_text()
