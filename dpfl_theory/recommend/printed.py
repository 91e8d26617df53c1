"""The rule ``printed``: the papers' prescriptions (for dp-scaffold the repaired one), rounded to whole counts."""

from __future__ import annotations

from dpfl_theory.recommend.base import Document, Rule
from dpfl_theory.recommend.noise import recommended
from dpfl_theory.recommend.setting import Setting


def apply(setting: Setting, alone: bool = False) -> Document:
    return setting.printed() if alone else recommended(setting, lambda at: at.printed())


RULE = Rule("printed", "the papers' own formulas (dp-scaffold: repaired)", apply)
