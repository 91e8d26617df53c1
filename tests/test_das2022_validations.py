"""The validations of das2022: the measurement of one point for Theorem 4, and bands of the lines in Figures 1 to 3."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from dpfl_theory.statements.noise_constants import constant
from dpfl_theory.validation import Context
from validations.das2022 import _appendix_f as setting
from validations.das2022 import das2022_figure1, das2022_figure2, das2022_figure3, das2022_figure4
from validations.das2022 import das2022_theorem4 as script


def test_a_point_has_both_parts_below_their_bounds() -> None:
    setting = {**script.BASE["huber"], "rho": 0.2}
    point = script._measure(script._instance("huber", setting, 1), Context(device="cpu"))
    assert point["rounds"] > 100
    for part in script.ALGORITHMS:
        measured = point[part]
        assert measured["verdict"] in ("holds", "inconclusive")
        assert measured["low"] <= measured["lhs"]
        assert 0.0 < measured["lhs"] < measured["rhs"]
        assert sum(measured["terms"].values()) > 0.0


@pytest.mark.parametrize("figure", [das2022_figure1, das2022_figure2, das2022_figure3, das2022_figure4])
def test_a_caption_says_that_the_noise_is_below_the_certified_one(figure: ModuleType) -> None:
    assert "q = 1, which is less than (5, 1e-6) needs: q = 1.738 is certified to be enough" in figure.CAPTION


def test_the_certified_q_of_appendix_f() -> None:
    parameters = {"clients": setting.CLIENTS, "cohort": setting.CLIENTS, "rounds": setting.ROUNDS}
    found = constant(
        "das2022.theorem3", epsilon=setting.EPSILON, delta=setting.DELTA, sampling="full", noise="average", **parameters
    )
    assert found.value == pytest.approx(setting.CERTIFIED_Q, abs=5e-4)
    assert found.value > setting.Q


def planted_series(context: Context, initialisation: str, threshold: float, method: str) -> dict[str, Any]:
    """Runs whose replicates differ much, and three runs on other instances that are far from them."""
    draw = np.random.default_rng([len(initialisation), int(threshold), len(method)])
    steps, replicates = len(setting.STEPS[initialisation]), setting.replicates_at(context, threshold)
    found = {
        name: draw.lognormal(size=(setting.ROUNDS + more, steps, replicates))
        for name, more in (("suboptimality", 1), ("snr", 0), ("along", 1), ("across", 1), ("distance-squared", 1))
    }
    return found | {f"three {name}": 50.0 * found[name].max(axis=2) for name in ("suboptimality", "snr")}


@pytest.mark.parametrize("figure", [das2022_figure1, das2022_figure2, das2022_figure3])
def test_a_line_never_leaves_its_own_band(figure: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The band comes from the same runs as its line (the three runs of the paper's figure are others)."""
    monkeypatch.setattr(setting, "series", planted_series)
    (drawn,) = figure.draw(figure.compute(Context())).values()
    compared = 0
    for axes in drawn.axes:
        lines = [line for line in axes.lines if len(line.get_xdata()) > 1]
        for line, band in zip(lines, axes.collections, strict=False):
            assert to_rgb(line.get_color()) == tuple(band.get_facecolor()[0][:3])
            outline = band.get_paths()[0].vertices
            for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True):
                at = outline[outline[:, 0] == x, 1]
                assert at.min() <= y <= at.max()
                compared += 1
    assert compared > 150
