"""The fixture `conforms`: a test that compares the user's own round with a reference algorithm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dpfl_theory.errors import DpflError
from dpfl_theory.pytest_plugin.options import settings_of
from dpfl_theory.pytest_plugin.session import LIMIT, end_undecided


class Conforms:
    """Comparison of a function of one round with a reference, for one test."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item

    def __call__(self, function: Callable[..., Any], as_: str = "dp-fedavg", **options: Any) -> Any:
        """Return the report of ``dpfl_theory.conform``.

        The test fails where the function differs from the reference, and is undecided where the comparison takes longer
        than the budget.
        """
        __tracebackhide__ = True
        import dpfl_theory
        from dpfl_theory.runtime.time_limits import TimeoutExceeded

        settings = settings_of(self._item.config)
        conform: Callable[..., Any] = dpfl_theory.conform
        usual = {"alpha": settings.alpha, "seed": settings.seed}
        options = {name: value for name, value in usual.items() if name in settings.given} | options
        options.setdefault("limit", LIMIT if settings.budget is None else settings.budget)
        unusable = late = ""
        try:
            report = conform(function, as_=as_, **options)
        except TimeoutExceeded as error:
            late = f"{as_}: {error}"
        except DpflError as error:
            unusable = str(error)
        if late:
            end_undecided(settings, late)
            pytest.skip(late)
        if unusable:  # outside of the handler, so that pytest shows no other exception as the cause
            pytest.fail(unusable, pytrace=False)
        name = getattr(function, "__qualname__", type(function).__name__)
        faults = ", ".join(fault.name for fault in report.faults)
        described = {"function": name, "as": as_, "verdict": report.verdict, "faults": faults}
        self._item.user_properties.extend((key, value) for key, value in described.items() if value)
        if report.verdict == "differs":
            pytest.fail(f"{name} does not conform to {as_}\n{report}", pytrace=False)
        if report.verdict != "conforms":
            why = f"whether {name} conforms to {as_} is undecided\n{report}"
            end_undecided(settings, why)
            pytest.skip(why)
        return report
