"""The dependencies of a module, on a toy package with every habit of the real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpfl_theory.errors import InputError
from dpfl_theory.runtime.imports import Imports

TOY = {
    "__init__.py": "import importlib\ndef __getattr__(name):\n    return importlib.import_module(TABLE[name])\n",
    "plain.py": "import math\nX = 1\n",
    "lonely.py": "",
    "late.py": "def f():\n    from toy.plain import X\n    return X\n",
    "typed.py": (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from toy.lonely import Y\nelse:\n    from toy.plain import X\n"
    ),
    "nested/__init__.py": "from toy import nothing_heavy\n\nLEVEL = 1\n",
    "nested/near.py": "from . import far\n",
    "nested/far.py": "from ..plain import X as Z\n",
    "front/__init__.py": (
        '"""Words."""\n\nfrom toy.front.a import A\nfrom toy.front.b import B as C\n\n__all__ = ["A", "C"]\n'
    ),
    "front/a.py": "A = 1\n",
    "front/b.py": "from toy.late import f as B\n",
    "found/__init__.py": (
        "import importlib, pkgutil\n"
        "def make(kind):\n"
        "    for m in pkgutil.iter_modules(__path__):\n"
        '        importlib.import_module(f"{__name__}.{m.name}")\n'
    ),
    "found/one.py": "",
    "found/two.py": "from toy.lonely import *\n",
    "uses_a.py": "from toy.front import A\n",
    "uses_c.py": "from toy.front import C\n",
    "uses_front.py": "from toy import front\n",
    "uses_make.py": "from toy.found import make\n",
    "uses_one.py": "import toy.found.one as one\n",
    "scans_front.py": (
        'import importlib\nfrom toy import front\nx = importlib.import_module(f"{front.__name__}.{name}")\n'
    ),
    "computes.py": "import importlib\nx = importlib.import_module(name)\n",
    "names.py": 'import importlib\nx = importlib.import_module("toy.late")\n',
    "prefixed.py": 'import importlib\nx = importlib.import_module(f"toy.found.{kind}")\n',
    "lazy.py": "from toy import whatever\n",
    "top.py": "import toy.plain\n",
    "stale.py": "from toy.found.gone import make\n",
}
NEAR_FAR = {"nested/__init__.py", "nested/near.py", "nested/far.py", "plain.py"}
FOUND = {"found/__init__.py", "found/one.py", "found/two.py", "lonely.py"}
FRONT = {"front/__init__.py", "front/a.py", "front/b.py", "late.py", "plain.py"}
LATE = {"late.py", "plain.py"}


@pytest.fixture
def toy(tmp_path: Path) -> Imports:
    for name, text in {**TOY, "nothing_heavy.py": ""}.items():
        file = tmp_path / "toy" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Imports(tmp_path / "toy")


def rests(graph: Imports, name: str, computed: bool = True) -> set[str]:
    return {str(p.relative_to(graph.package)) for p in graph.closure([graph.module(name)], computed)}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plain", set()),
        ("late", LATE),  # inside a function
        ("typed", {"plain.py"}),  # not what is for type checking alone
        ("nested.near", NEAR_FAR | {"nothing_heavy.py"}),  # relative, and what the package around it imports at once
        ("uses_a", {"front/__init__.py", "front/a.py"}),  # through a front, only where the name comes from
        ("uses_c", {"front/__init__.py", "front/b.py", *LATE}),
        ("uses_front", FRONT),
        ("scans_front", FRONT),
        ("uses_make", FOUND),  # by scan, the whole catalogue
        ("uses_one", {"found/__init__.py", "found/one.py"}),
        ("prefixed", FOUND),
        ("names", LATE),
        ("stale", {"found/__init__.py"}),  # what is gone leaves its package
    ],
)
def test_closure(toy: Imports, name: str, expected: set[str]) -> None:
    own = f"{name.replace('.', '/')}.py"
    assert rests(toy, f"toy.{name}") == {"__init__.py", own} | expected


@pytest.mark.parametrize("name", ["computes", "lazy", "top"])
def test_what_cannot_be_told_is_everything(toy: Imports, name: str) -> None:
    """A computed name, a name that the package makes when it is asked, the package itself."""
    assert rests(toy, f"toy.{name}") == {*TOY, "nothing_heavy.py"}


def test_computed_names_can_be_left_aside(toy: Imports) -> None:
    assert rests(toy, "toy.computes", computed=False) == {"__init__.py", "computes.py"}


def test_a_file_of_the_users_own(toy: Imports, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "helper.py").write_text("from toy.late import f\n")
    own = folder / "mine.py"
    own.write_text("import helper\nimport numpy\n")
    graph = Imports(toy.package, (folder,))
    found = {p.name for p in graph.closure([own])}
    assert found == {"mine.py", "helper.py", "late.py", "plain.py", "__init__.py"}


def test_what_is_no_python_is_told(toy: Imports) -> None:
    (toy.package / "plain.py").write_text("def (")
    with pytest.raises(InputError, match=r"plain\.py' cannot be read as Python"):
        toy.closure([toy.module("toy.late")])
    with pytest.raises(InputError, match=r"no module 'toy\.nowhere'"):
        toy.module("toy.nowhere")


def test_where_the_package_is_installed_the_libraries_beside_it_are_none_of_it(toy: Imports, tmp_path: Path) -> None:
    """They are many, they are what their versions say, and what they import leads nowhere that matters here."""
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "__init__.py").write_text("from .inside import X\n")
    (tmp_path / "library" / "inside.py").write_text("from toy.lonely import Y as X\n")
    asks = tmp_path / "toy" / "asks.py"
    asks.write_text("from library import X\nfrom toy.plain import X as Z\n")
    beside = {str(p.relative_to(tmp_path)) for p in toy.closure([asks])}
    assert {"library/__init__.py", "toy/lonely.py"} <= beside
    (tmp_path / "library-1.0.dist-info").mkdir()
    installed = Imports(tmp_path / "toy")
    found = {str(p.relative_to(tmp_path)) for p in installed.closure([asks])}
    assert found == {"toy/__init__.py", "toy/asks.py", "toy/plain.py"}


def test_a_package_that_imports_its_own_compiled_module_ends(toy: Imports, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    (mine / "fast").mkdir(parents=True)
    (mine / "fast" / "__init__.py").write_text("from . import _compiled\nfrom .other import f\n")
    (mine / "fast" / "other.py").write_text("from fast import f\n")
    (mine / "theory.py").write_text("from fast import _compiled, f\n")
    found = Imports(tmp_path / "toy", [mine]).closure([mine / "theory.py"])
    assert {p.name for p in found} == {"theory.py", "__init__.py", "other.py"}
