"""The statements that a change concerns: the files that git lists, and the statements that depend on them."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from pathlib import Path

import pytest

import dpfl_theory
from dpfl_theory import statements
from dpfl_theory.checks import change_detection
from dpfl_theory.checks.change_detection import Change, change_since
from dpfl_theory.errors import InputError
from dpfl_theory.runtime.imports import Imports

PACKAGE = Path(dpfl_theory.__file__).resolve().parent
ROOT = PACKAGE.parent
EXAMPLE = ROOT / "examples" / "my_statements.py"
ALL = statements.all_statements()
READ = functools.cache(Imports)
"""The graph of imports, which is read once for all tests: the package does not change while they run."""


@pytest.fixture(autouse=True)
def _read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_detection, "Imports", lambda package, others: READ(package, tuple(others)))


def concerned(*names: str) -> set[str]:
    """The statements that a change of these files of the package concerns."""
    change = Change(PACKAGE, tuple((PACKAGE / name).resolve() for name in names))
    return {s.id for s in change.concerns(ALL)}


def papers_of(ids: set[str]) -> set[str]:
    return {statements.get(id_).paper for id_ in ids}


# the statements that depend on a file


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("paper", ["das2022", "shulgin2025"])
def test_a_papers_letters_concern_that_paper_alone(paper: str) -> None:
    chosen = concerned(f"statements/{paper}/_letters.py")
    assert len(chosen) > 1
    assert papers_of(chosen) == {paper}


def test_a_module_of_statements_concerns_them_and_who_imports_it() -> None:
    chosen = concerned("statements/das2022/theorem4.py")
    assert {"das2022.theorem4a", "das2022.theorem4b", "das2022.theorem4b.repaired"} <= chosen
    assert papers_of(chosen) == {"das2022"}
    assert "das2022.fact1" not in chosen


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["kernels/philox.py", "checks/runner.py", "core/evidence.py", "core/statement.py"])
def test_kernels_and_what_runs_checks_concern_everything(name: str) -> None:
    assert concerned(name) == {s.id for s in ALL}


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("method", ["worst-case", "exact", "monte-carlo", "privacy"])
def test_a_method_concerns_whom_it_checks(method: str) -> None:
    chosen = concerned(f"checks/{method.replace('-', '_')}.py")
    assert {s.id for s in ALL if method in s.methods} <= chosen < {s.id for s in ALL}


def test_a_family_that_is_named_in_plain_data_concerns_whoever_can_make_it() -> None:
    """No module of a statement imports problems/regression.py: the name "huber" finds it by scan."""
    named = {s.id for s in ALL if any('"huber' in json.dumps(dict(c.instance)) for c in s.checks)}
    assert len(papers_of(named)) > 1
    assert named <= concerned("problems/regression.py")
    assert "das2022.theorem3" not in concerned("problems/regression.py")


def test_an_algorithm_concerns_the_statements_that_run_it() -> None:
    chosen = concerned("algorithms/scaffnew.py")
    assert "hou2023.theorem1" in chosen
    assert "shulgin2025.theorem1" not in chosen


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "name",
    [
        "../README.md",
        "../tests/checks/test_change_detection.py",
        "../validations/das2022/das2022_figure1.py",
        "cli/check.py",
        "report/build.py",
        "report/page.css",
        "recommend/inputs.py",
    ],
)
def test_what_no_verdict_rests_on_concerns_nothing(name: str) -> None:
    assert concerned(name) == set()


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("name", ["../constraints.txt", "../pyproject.toml", "py.typed"])
def test_versions_and_data_for_all_concern_everything(name: str) -> None:
    assert concerned(name) == {s.id for s in ALL}


def test_data_and_what_is_gone_concern_their_package() -> None:
    whole = concerned("problems/__init__.py")
    assert whole
    assert concerned("problems/records.csv") == concerned("problems/base.py")
    assert concerned("problems/gone.py") == concerned("problems/away/gone.py") == whole
    assert concerned("statements/das2022/gone.py") == {s.id for s in ALL if s.paper == "das2022"}


def test_the_order_and_the_selection_are_kept() -> None:
    some = [statements.get(name) for name in ("das2022.theorem4b", "hou2023.lemma1", "das2022.theorem4a")]
    change = Change(PACKAGE, (PACKAGE / "algorithms/fedavg.py",))
    assert change.concerns(some) == (some[0], some[2])


# a file of the user's own


def own(change: Change, file: Path) -> tuple[str, ...]:
    return tuple(s.id for s in change.concerns(statements.load_file(file), file))


def test_a_users_file_is_chosen_when_it_or_what_it_imports_changed() -> None:
    id_ = ("mine.noisy-gradient-descent",)
    assert own(Change(PACKAGE, (EXAMPLE,)), EXAMPLE) == id_
    assert own(Change(PACKAGE, (PACKAGE / "problems/quadratic.py",)), EXAMPLE) == id_
    if (ROOT / ".git").exists():  # otherwise git does not know the file, and it is chosen in any case
        assert own(Change(PACKAGE, (PACKAGE / "statements/das2022/facts.py", ROOT / "README.md")), EXAMPLE) == ()


def test_a_users_file_that_git_does_not_know_is_always_chosen(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(EXAMPLE.read_text())
    assert own(Change(PACKAGE, ()), file) == ("mine.noisy-gradient-descent",)


def test_a_statement_from_nowhere_is_refused() -> None:
    with pytest.raises(InputError, match="is not in the catalogue: name the file that it is from"):
        Change(PACKAGE, ()).concerns(statements.load_file(EXAMPLE))


# what git says


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a package of three modules, committed, in a folder whose name has a space."""
    top = tmp_path / "a checkout"
    (top / "pkg").mkdir(parents=True)
    for name in ("__init__.py", "kept.py", "edited.py", "gone.py", "moved.py"):
        (top / "pkg" / name).write_text(f"# {name}, of some length so that git sees what was moved\n")
    (top / ".gitignore").write_text("*.log\n")
    for name, value in (("NAME", "t"), ("EMAIL", "t@example.org")):
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    git(top, "init", "-q")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "first")
    return top


def git(top: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(top), *arguments], check=True, capture_output=True)


def names(top: Path, revision: str = "HEAD") -> list[str]:
    top = top.resolve()
    return [str(f.relative_to(top)) for f in change_since(revision, top / "pkg").files]


def test_nothing_changed(checkout: Path) -> None:
    assert names(checkout) == []


def test_what_differs_is_seen_whether_or_not_it_was_committed(checkout: Path) -> None:
    (checkout / "pkg" / "edited.py").write_text("# edited\n")
    (checkout / "pkg" / "gone.py").unlink()
    (checkout / "pkg" / "ignored.log").touch()
    (checkout / "pkg" / "moved.py").rename(checkout / "pkg" / "elsewhere.py")
    (checkout / "new file é.txt").touch()
    expected = sorted(f"pkg/{n}.py" for n in ("edited", "elsewhere", "gone", "moved"))
    assert names(checkout) == ["new file é.txt", *expected]
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "second")
    assert names(checkout, "HEAD~1") == ["new file é.txt", *expected]
    assert names(checkout) == []
    git(checkout, "config", "diff.relative", "true")
    git(checkout, "config", "diff.renames", "copies")
    assert names(checkout, "HEAD~1") == ["new file é.txt", *expected]


def test_a_hooks_surroundings_do_not_mislead(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "another"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    (checkout / "pkg" / "edited.py").write_text("# edited\n")
    assert names(checkout) == ["pkg/edited.py"]


@pytest.mark.parametrize("revision", ["nope", "", "HEAD~1", "HEAD..HEAD", "0" * 40, "HEAD:pkg", "HEAD^{tree}"])
def test_what_is_no_revision_is_told(checkout: Path, revision: str) -> None:
    with pytest.raises(InputError, match=r"is not a revision of .*: name a commit, branch or tag that was fetched"):
        names(checkout, revision)


@pytest.mark.parametrize("revision", ["-x", "--output=stolen"])
def test_a_revision_is_never_an_option(checkout: Path, revision: str) -> None:
    with pytest.raises(InputError, match="starts with a dash"):
        names(checkout, revision)
    assert not list(checkout.rglob("stolen"))


def test_no_checkout_is_told(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").touch()
    with pytest.raises(InputError, match="is not in a git checkout"):
        names(tmp_path)
    inside = checkout / "installed"  # below a checkout, but git does not know it
    (inside / "pkg").mkdir(parents=True)
    (inside / "pkg" / "__init__.py").touch()
    with pytest.raises(InputError, match="is not in a git checkout"):
        names(inside)


def test_no_git_is_told(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="needs git, which cannot be run"):
        names(checkout)
