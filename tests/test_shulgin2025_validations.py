"""Decisions of shulgin2025's validations: runs that overflow, and a comparison without remaining runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpfl_theory.validation import Context


@pytest.fixture(scope="module")
def shulgin() -> Any:
    """Figure 6 and the helpers next to it, imported as they import each other."""
    from validations.shulgin2025 import _private, _runs, _setting, shulgin2025_figure6

    return SimpleNamespace(setting=_setting, private=_private, runs=_runs, figure=shulgin2025_figure6)


def test_scores_are_paired_standard_errors(shulgin: Any) -> None:
    paired = shulgin.runs.paired
    low, high = np.array([1.0, 2.0, 4.0]), np.array([2.0, 4.0, 5.0])
    assert paired(low, high) == pytest.approx((4.0 / 3.0) / (np.std([1.0, 2.0, 1.0], ddof=1) / 3**0.5))
    assert paired(high, low) == -paired(low, high)
    assert paired(low, low) == 0.0
    assert paired(low, low + 1.0) == np.inf, "no spread at all"


def test_a_run_that_overflows_is_behind_and_two_are_even(shulgin: Any) -> None:
    paired, over = shulgin.runs.paired, np.array([np.inf, 1.0])
    assert paired(np.ones(2), over) == np.inf
    assert paired(over, np.ones(2)) == -np.inf
    assert paired(np.full(2, np.inf), np.full(2, np.inf)) == 0.0
    assert paired(over, over[::-1]) == 0.0


def claims(shulgin: Any, clip: float, ahead: float) -> list[dict[str, Any]]:
    """The claims when DP-Clip21 ends ``clip`` decades above its start for every beta, alpha-NormEC ``ahead`` lower."""
    betas, noise = shulgin.private.BETAS, 1e-3 * np.random.default_rng(0).standard_normal((3, 12))
    means = {"clip21": clip, "ec": clip - ahead, "ec-server": -1.0}
    final = {
        shulgin.runs.Config(m, b, shulgin.setting.ALPHA): means[m] + noise[i]
        for i, m in enumerate(shulgin.figure.METHODS)
        for b in betas
    }
    gain = {b: {"final": ahead + noise[0], "average": ahead + noise[1]} for b in betas}
    task = SimpleNamespace(key="digits", title="digits")
    found: list[dict[str, Any]] = shulgin.figure._claims(Context(), task, final, gain)
    return found


def test_without_a_beta_at_which_clip21_converges_nothing_is_compared(shulgin: Any) -> None:
    first = claims(shulgin, 0.5, 0.3)[0]
    assert first["verdict"] == "inconclusive"
    assert first["measured"] == "DP-Clip21 converges at no beta, so that there is nothing to compare with"


@pytest.mark.parametrize(("ahead", "verdict"), [(0.3, "reproduced"), (0.0, "does-not-carry-over")])
def test_with_one_it_is(shulgin: Any, ahead: float, verdict: str) -> None:
    first = claims(shulgin, -0.5, ahead)[0]
    assert first["verdict"] == verdict
    assert first["measured"].count("decades in the mean over rounds") == len(shulgin.private.BETAS)


def test_what_is_not_the_paper_s_is_told(shulgin: Any) -> None:
    """The budget is assumed, the data differ, and the captions of both private figures say so."""
    for claim in claims(shulgin, -0.5, 0.3):
        assert "ResNet20 on CIFAR-10" in claim["differs"]
        assert "(8, 1e-5) and 100 clients are assumed" in claim["differs"]
    assert "(epsilon, delta) = (8, 1e-5) and the 100 clients are assumed" in shulgin.figure.CAPTION


def test_the_noise_is_certified_and_hardly_larger(shulgin: Any) -> None:
    private = shulgin.private
    z = private.sigma(100)
    assert private.EPSILON * (1 - 1e-3) < private.epsilon_if(100, z) <= private.EPSILON * (1 + 1e-9)
    assert private.epsilon_if(100, z, "server") > private.EPSILON, "who sees every message sees more"
