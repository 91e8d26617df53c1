"""The foundations of noble2022's validations: decisions on claims, FedSGD's two readings, and rounded epsilons."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpfl_theory.privacy.noble2022 import epsilon_recipe


@pytest.fixture(scope="module")
def helpers() -> Any:
    """The helpers next to the scripts, imported as the scripts import them."""
    from validations.noble2022 import _epsilon, _setting, _table

    return SimpleNamespace(base=_setting, epsilon=_epsilon, table=_table)


def test_one_comparison_has_students_limits_and_more_have_wider_ones(helpers: Any) -> None:
    values = np.array([1.0, 2.0, 4.0, 5.5])
    alone = helpers.base.simultaneous({"a": values})["a"]
    known = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert alone == pytest.approx((values.mean(), known.low, known.high))
    of_ten = helpers.base.simultaneous(dict.fromkeys(range(10), values))[3]
    known = stats.ttest_1samp(values, 0.0).confidence_interval(0.995)
    assert of_ten == pytest.approx((values.mean(), known.low, known.high))


def test_simultaneous_limits_hold_together(helpers: Any) -> None:
    """In 2000 claims of 6 true comparisons each, the share with a false limit is at most 5 %.

    A correct helper fails with probability below 1e-4: P(Binomial(2000, 0.05) > 139) = 4e-5.
    """
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(2000):
        limits = helpers.base.simultaneous(dict(enumerate(rng.normal(size=(6, 4)))))
        wrong += any(low > 0.0 or high < 0.0 for _, low, high in limits.values())
    assert wrong <= 139
    assert wrong >= 50, "the limits are much wider than they need be"


@pytest.mark.parametrize(
    ("limits", "verdict"),
    [
        ({"a": (2.0, 1.0, 3.0), "b": (0.5, 0.1, 0.9)}, "reproduced"),
        ({"a": (2.0, 1.0, 3.0), "b": (0.5, -0.1, 1.1)}, "inconclusive"),
        ({"a": (-2.0, -3.0, -1.0), "b": (0.5, -0.1, 1.1)}, "not-reproduced"),
    ],
)
def test_a_claim_on_all_comparisons_needs_all_limits(helpers: Any, limits: Any, verdict: str) -> None:
    assert helpers.base.all_within(limits) == verdict


def test_a_range_is_left_on_either_side(helpers: Any) -> None:
    assert helpers.base.all_within({"a": (0.0, -0.04, 0.04)}, -0.05, 0.05) == "reproduced"
    assert helpers.base.all_within({"a": (0.02, -0.02, 0.06)}, -0.05, 0.05) == "inconclusive"
    assert helpers.base.all_within({"a": (0.08, 0.06, 0.10)}, -0.05, 0.05) == "not-reproduced"


def test_parts_make_a_verdict(helpers: Any) -> None:
    assert helpers.base.joined(["reproduced", "reproduced"]) == "reproduced"
    assert helpers.base.joined(["reproduced", "inconclusive"]) == "inconclusive"
    assert helpers.base.joined(["inconclusive", "not-reproduced"]) == "not-reproduced"


@pytest.mark.parametrize(
    ("name", "steps", "share"), [("DP-FedSGD", 5, 0.2), ("DP-FedSGD-one-step", 1, 1.0), ("DP-FedAvg", 50, 0.2)]
)
def test_fedsgd_has_two_readings_with_ks_equal_to_1(helpers: Any, name: str, steps: int, share: float) -> None:
    data = helpers.base.Data("synthetic", (0.0, 0.0), 10, 50)
    setting = helpers.base.Setting(data, 0.2, 0.2, 50, 4, 6.0, 1, 1)
    reported = helpers.base.algorithm(name, setting, 1.5).describe()
    assert reported["Q"] == steps
    assert reported["share"] == share
    assert reported["eta_l"] == pytest.approx(1.5 / (steps * share))
    assert reported["noise_multiplier"] == 6.0


def test_heterogeneity_costs_no_privacy_and_noise_does(helpers: Any) -> None:
    def spent(level: float, noise: float) -> float:
        data = helpers.base.Data("synthetic", (level, level), 10, 500)
        return float(helpers.base.privacy(helpers.base.Setting(data, 0.2, 0.2, 5, 4, noise, 4, 2), 400)["recipe"])

    described: dict[str, Any] = {"users": 10, "records": 400, "user_rate": 0.2, "record_rate": 0.2, "local_steps": 5}
    bound = epsilon_recipe(**described, noise_multiplier=6.0, rounds=4, delta=1 / 4000).epsilon
    assert spent(0.0, 6.0) == spent(5.0, 6.0) == bound
    assert spent(0.0, 2.0) > bound


@pytest.mark.parametrize(
    ("value", "printed", "rounded"), [(12.906, "13", "13"), (11.36, "11.4", "11.4"), (11.41, "11.4", "11.5")]
)
def test_epsilons_are_rounded_up_to_the_printed_digits(helpers: Any, value: float, printed: str, rounded: str) -> None:
    assert helpers.epsilon.rounded_up(value, printed) == Decimal(rounded)


@pytest.mark.parametrize(("printed", "verdict"), [("7.2", "reproduced"), ("7.1", "not-reproduced")])
def test_a_caption_is_the_recipes_number_or_not(helpers: Any, printed: str, verdict: str) -> None:
    claim = helpers.epsilon.caption(printed, helpers.epsilon.MNIST, (50,), rounds=100)
    assert claim["verdict"] == verdict


def cells(table: Any, accuracy: dict[int, float]) -> list[dict[str, Any]]:
    """Made-up cells of Table 1 for two noise multipliers, whose runs deviate by 0.5 points."""
    rng = np.random.default_rng(3)
    return [
        {
            "sigma_g": sigma,
            "K": K,
            "ends": accuracy[K] + 0.5 * rng.normal(size=5),
            "paper": accuracy[K] + K,
            "cold": None,
        }
        for sigma in (10.0, 160.0)
        for K in table.STEPS
    ]


def test_the_best_number_of_steps_lies_between_or_at_an_edge(helpers: Any) -> None:
    table = helpers.table
    between = dict(zip(table.STEPS, (20.0, 40.0, 45.0, 40.0, 20.0)))
    falling = dict(zip(table.STEPS, (45.0, 40.0, 30.0, 20.0, 10.0)))
    flat = dict.fromkeys(table.STEPS, 30.0)
    verdicts = [table.claims(cells(table, values))[0]["verdict"] for values in (between, falling, flat)]
    assert verdicts == ["reproduced", "not-reproduced", "inconclusive"]


def test_printed_values_need_limits_within_five_points(helpers: Any) -> None:
    made = cells(helpers.table, dict.fromkeys(helpers.table.STEPS, 30.0))
    for cell in made:
        cell["paper"] = 30.0 + 0.01 * cell["K"]
    assert helpers.table.claims(made)[-1]["verdict"] == "reproduced"
    made[3]["ends"] = np.array([20.0, 40.0, 30.0, 25.0, 35.0])
    assert helpers.table.claims(made)[-1]["verdict"] == "inconclusive"
    made[3]["ends"] = np.array([50.0, 51.0, 50.0, 51.0, 50.0])
    assert helpers.table.claims(made)[-1]["verdict"] == "not-reproduced"


def _context(profile: str, data: str | None = None) -> Any:
    from dpfl_theory.validation import Context

    return Context(profile=profile, seed=1, data=data)


@pytest.mark.parametrize(
    ("profile", "data", "scale", "images", "more", "words"),
    [
        ("full", None, "fewer users", False, "", ["fewer users"]),
        ("paper", None, "fewer users", False, "", []),
        ("paper", None, "", True, "", ["FEMNIST", "digits"]),
        ("paper", "mine.npz", "", True, "", ["FEMNIST", "--data"]),
        ("full", None, "fewer users", True, "assumed noise", ["assumed noise", "fewer users", "digits"]),
    ],
)
def test_a_claim_that_fails_in_another_setting_does_not_carry_over(
    helpers: Any, profile: str, data: str | None, scale: str, images: bool, more: str, words: list[str]
) -> None:
    claims = [
        {"claim": "c", "verdict": verdict, "paper": "p", "measured": "m"}
        for verdict in ("not-reproduced", "reproduced", "inconclusive")
    ]
    found = helpers.base.judged(_context(profile, data), claims, synthetic=scale, images=images, more=more)
    failed = "does-not-carry-over" if words else "not-reproduced"
    assert [claim["verdict"] for claim in found] == [failed, "reproduced", "inconclusive"]
    for claim in found:
        assert all(word in claim.get("differs", "") for word in words)
        assert ("differs" in claim) == bool(words)


@pytest.mark.parametrize("number", [9, 10])
def test_figures_of_digits_never_say_that_printed_points_of_femnist_fail(number: int) -> None:
    import importlib

    script = importlib.import_module(f"validations.noble2022.noble2022_figure{number}")
    rng = np.random.default_rng(5)
    panels = [
        {
            "row": row,
            "name": f"{row} {level}",
            "heterogeneity": level,
            "rate": rate["user_rate" if number == 9 else "record_rate"],
            "ends": {
                "DP-FedAvg": 0.9 + 0.001 * rng.normal(size=4),
                "DP-SCAFFOLD-warm": 0.1 + 0.001 * rng.normal(size=4),
            },
            "T": 10,
            "certified_epsilon_were_the_threshold_fixed": {"high": 1.0},
        }
        for row, levels in (("synthetic", [(0.0, 0.0), (5.0, 5.0)]), ("images", [(100.0,), (10.0,), (0.0,)]))
        for level in levels
        for rate in script.RATES
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(script.tradeoffs, "compute", lambda *_, **__: {"panels": panels})
        claims = script.compute(_context("full"))["claims"]
    verdicts = [claim["verdict"] for claim in claims]
    assert "not-reproduced" not in verdicts
    assert verdicts.count("does-not-carry-over") >= 2
