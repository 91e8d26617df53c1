"""Results in notebooks: tables as HTML, data frames, figures."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import dpfl_theory as dpfl
from dpfl_theory import core, notebook
from dpfl_theory.conform.result import Conformance, Finding
from dpfl_theory.core.evidence import Evidence, EvidenceList, Interval
from dpfl_theory.errors import EnvironmentFault
from dpfl_theory.notebook import Tabular
from dpfl_theory.recommend import Recommendation
from dpfl_theory.sweep.table import Table


def evidence(**changed: Any) -> Evidence:
    return Evidence("a.b", "exact", "one <round>", "violated", "holds", "why", Interval(2.0, 1.0, 4.0), 2.0, **changed)


def run(series: bool = False) -> Any:
    problem = dpfl.problems.make("quadratic", clients=3, dimension=2, seed=1)
    algorithm = dpfl.algorithms.DPFedAvg(local_step=0.1, local_steps=2, threshold=5.0, sigma=0.1)
    return dpfl.simulate(algorithm, problem, rounds=8, replicates=4, device="cpu", series=series)


def swept() -> Table:
    rows = [{"cell": k, "status": "done", "eta": 0.1 * k, "suboptimality": 1.0 / k, "series": {}} for k in (1, 2)]
    return Table(rows)


def conformance(**privacy: float) -> Conformance:
    finding = Finding("noise", "there is none", "w does not move", (("f.py", 3),), private=True)
    return Conformance("dp-fedavg", "a", "f", "differs", "", (finding,), (), (), privacy, {}, 0.0)


def compared() -> Recommendation:
    gap = {"mean": 0.1, "error": 0.01}
    row = {"name": "dp-fedavg", "protects": "client", "suboptimality": gap, "causes": [], "hyperparameters": {"E": 2}}
    rest = {"budget": {"epsilon": 3.0, "delta": 1e-5}, "start": {"suboptimality": 0.7}}
    return Recommendation(algorithms=[row], recommended_by_unit={"client": "dp-fedavg"}, **rest)


RESULTS = {
    "evidence": (evidence, "a.b"),
    "several": (lambda: EvidenceList([evidence(), evidence()]), "one &lt;round&gt;"),
    "run": (lambda: run(series=True), "suboptimality"),
    "sweep": (swept, "0.1"),
    "conform": (lambda: conformance(distance=2.0, sensitivity=1.0), "f.py:3"),
    "comparison": (compared, "dp-fedavg"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_a_table_a_data_frame_and_a_figure(name: str) -> None:
    make, shown = RESULTS[name]
    result = make()
    assert isinstance(result, Tabular)
    page = result._repr_html_()
    assert shown in page
    assert page.count("<tr>") == 1 + len(result.records())
    assert not re.search(r"<(?!/?(table|tr|th|td)>)", page)
    frame = result.to_frame()
    assert list(frame.columns) == list(result.records()[0])
    assert len(frame) == len(result.records())
    drawn = result.plot()
    assert isinstance(drawn, Figure)
    assert drawn._repr_png_()[:4] == b"\x89PNG"  # IPython shows a plain figure as text until pyplot is imported


def test_ratios_and_errors_are_those_of_the_result() -> None:
    (row,) = evidence().records()
    assert (row["ratio"], row["low"], row["high"]) == (1.0, 0.5, 2.0)
    simulated = run()
    (row,) = simulated.records()
    last = simulated["suboptimality"].last
    assert row["last"] == pytest.approx(last.mean())
    assert row["last_error"] == pytest.approx(np.std(last, ddof=1) / 2.0)


def test_without_a_ratio_there_are_no_limits_of_one() -> None:
    for without in (replace(evidence(), rhs=0.0), replace(evidence(), lhs=None)):
        (row,) = without.records()
        assert (row["ratio"], row["low"], row["high"]) == (None, None, None)


def test_ratios_are_drawn_with_their_limits_in_the_colour_of_their_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(core.evidence, "intervals", lambda *given: drawn.append(given))
    one = evidence()
    EvidenceList(
        [one, replace(one, verdict="holds"), replace(one, verdict="inconclusive"), replace(one, lhs=None)]
    ).plot()
    rows = [("one <round>", 0.5, 1.0, 2.0, colour) for colour in ("C3", "C0", "0.5")]
    assert drawn == [(rows, 1.0, "left side over right side")]


def test_the_value_after_the_last_round_is_drawn_there() -> None:
    problem = dpfl.problems.make("quadratic", clients=3, dimension=2, seed=1)
    algorithm = dpfl.algorithms.FedAvg(local_step=0.1, local_steps=2)
    found = dpfl.simulate(algorithm, problem, rounds=8, replicates=2, device="cpu", series=True, every=3)
    (line,) = found.plot().axes[0].lines
    assert list(line.get_xdata()) == [0, 3, 6, 8]


def test_a_line_of_a_cell_is_not_named_by_its_generated_file() -> None:
    finding = Finding("noise", "there is none", "", (("/tmp/ipykernel_7/1875551626.py", 3),))
    found = Conformance("dp-fedavg", "a", "f", "differs", "", (finding,), (), (), {}, {}, 0.0)
    assert found.records()[0]["line"] == "notebook cell:3"
    assert "notebook cell, line 3" in str(found)


def test_an_axis_is_logarithmic_only_where_values_differ_much() -> None:
    for high, scale in ((4.0, "linear"), (400.0, "log")):
        (axes,) = notebook.intervals([("a", 0.5, 1.0, high, "C0")], 1.0, "ratio").axes
        assert axes.get_xscale() == scale
        assert axes.get_xlim()[1] > high


def test_a_row_of_a_figure_is_named_by_what_tells_it_from_the_others() -> None:
    def names(*found: Evidence) -> list[str]:
        return [label.get_text() for label in EvidenceList(found).plot().axes[0].get_yticklabels()]

    one = evidence()
    assert names(one) == ["one <round>"]
    assert names(one, replace(one, method="algebra")) == ["exact: one <round>", "algebra: one <round>"]
    assert names(one, replace(one, statement="a.c")) == ["a.b: one <round>", "a.c: one <round>"]


def test_check_returns_a_table() -> None:
    found = dpfl.check("das2022.theorem4a", methods=["algebra"])
    assert isinstance(found, list)
    assert "das2022.theorem4a" in found._repr_html_()


def test_where_there_is_nothing_to_plot_a_sentence_says_so() -> None:
    for result, words in (
        (EvidenceList(), "compares two numbers"),
        (run(), "series=True"),
        (conformance(), "declares no sensitivity"),
        (Recommendation(eta=1.0), "confirm=True"),
    ):
        with pytest.raises(ValueError, match=words):
            result.plot()


def test_long_tables_are_cut_and_say_so() -> None:
    page = notebook.table([{"a": k} for k in range(notebook.MOST_ROWS + 7)])
    assert page.count("<tr>") == 1 + notebook.MOST_ROWS
    assert "7 more rows" in page


def test_pandas_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert "<table>" in swept()._repr_html_()
    with pytest.raises(EnvironmentFault, match="pip install pandas"):
        swept().to_frame()
