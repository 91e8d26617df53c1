"""How the validation of das2022's Theorem 4 measures one point: both parts, against their own bounds."""

from __future__ import annotations

from dpfl_theory.validation import Context
from validations.das2022 import das2022_theorem4 as script


def test_a_point_has_both_parts_below_their_bounds() -> None:
    setting = {**script.BASE["huber"], "rho": 0.2}
    point = script._measure(script._instance("huber", setting, 1), Context(device="cpu"))
    assert point["rounds"] > 100
    for part in script.METHODS:
        measured = point[part]
        assert measured["verdict"] in ("holds", "inconclusive")
        assert measured["low"] <= measured["lhs"]
        assert 0.0 < measured["lhs"] < measured["rhs"]
        assert sum(measured["terms"].values()) > 0.0
