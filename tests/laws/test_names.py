"""Every id of the catalogue can be found by text search: the file that `show` names contains it in full."""

from __future__ import annotations

from pathlib import Path

from each import of_each

import dpfl_theory
from dpfl_theory import statements

ROOT = Path(dpfl_theory.__file__).parents[1]


@of_each([s.id for s in statements.all_statements()], str)
def test_an_id_stands_whole_in_its_file(id_: str) -> None:
    file = statements.file_of(id_)
    assert file is not None
    assert f'"{id_}"' in (ROOT / file).read_text(encoding="utf-8")
