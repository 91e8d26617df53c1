"""The rule ``printed``: what the papers prescribe, rounded to whole counts."""

from __future__ import annotations

from dpfl_theory.recommend.rules import Rule

RULE = Rule("printed", "the papers' own formulas", lambda setting: setting.printed())
