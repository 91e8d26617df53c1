"""The rule ``printed``: what the papers prescribe (for dp-scaffold its repair), rounded to whole counts."""

from __future__ import annotations

from dpfl_theory.recommend.rules import Rule

RULE = Rule("printed", "the papers' own formulas (dp-scaffold: repaired)", lambda setting: setting.printed())
