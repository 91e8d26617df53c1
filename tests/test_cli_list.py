"""`list` and `show`: order, search, patterns, filters, output on a terminal, and building blocks of theorems."""

from __future__ import annotations

import inspect
import json
import os
import pty
import re
import subprocess
import sys
from itertools import groupby

import pytest

from dpfl_theory import statements
from dpfl_theory.cli import _layout, _listing, main
from dpfl_theory.cli.list import EXPECTED
from dpfl_theory.core.parameter import meanings
from dpfl_theory.core.prose import plain
from dpfl_theory.inventory import kinds
from dpfl_theory.problems import families
from dpfl_theory.statements.iteration import CONSTANTS, FUNCTIONS
from dpfl_theory.statements.paper import known
from dpfl_theory.statements.power import recorded
from dpfl_theory.sweep.problems import problems

Output = pytest.CaptureFixture[str]


def ids(capsys: Output, *arguments: str) -> list[str]:
    assert main(["list", *arguments, "--format", "json"]) == 0
    return [s["id"] for s in json.loads(capsys.readouterr().out)]


# The order of the pages, read off the papers.
PAGES = {
    "das2022": "definition2 theorem3 theorem4a theorem4b eq4 eq5 section4.1 definition5 theorem6 eq12 eq18 eq39 "
    "theorem7 eq41 eq47 fact1 fact2 lemma8 eq51 lemma9 eq57 lemma10",
    "hou2023": "clip-inactive overparameterised lemma1 theorem1 corollary1 observation1 observation4 eq3",
    "li2020": "theorem1 theorem2 theorem3 theorem4 theorem4.universal",
    "noble2022": "claim4.1.server theorem4.1.third-party theorem4.1.server theorem4.2.fedavg table1.rounds lemmaB.1 "
    "lemmaB.2 lemmaB.3 lemmaB.7 eq8 lemmaC.1 lemmaC.3 corollaryC.1 theoremC.1.strongly-convex theoremC.1.convex "
    "lemmaC.4 lemmaC.8 lemmaC.9 theoremC.2.convex",
    "shulgin2025": "lemma1 theorem1 corollary1 eq12 theorem2 corollary2 lemma2 descent lemma3",
    "zhang2021": "claim2.1 claim2.2a claim2.2b table1 theorem3.1 alpha-bound theorem3.2 corollary3.2.1 eq13 eq22",
}


def test_statements_come_as_the_pages_have_them() -> None:
    assert set(PAGES) == set(statements.papers())
    for paper, names in PAGES.items():
        order = [s.id for s in statements.in_order(statements.select((), paper))]
        places = [order.index(f"{paper}.{name}") for name in names.split()]
        assert places == sorted(places), paper


def test_every_statement_has_a_chapter_and_each_chapter_comes_once() -> None:
    for paper in statements.papers():
        found = statements.in_order(statements.select((), paper))
        chapters = [known()[paper].place(s.id)[1] for s in found]
        assert all(chapter in s.source.where for chapter, s in zip(chapters, found, strict=True))
        assert all(chapters)
        runs = [name for name, _ in groupby(chapters)]
        assert len(runs) == len(set(runs))


def test_other_forms_come_right_behind_the_printed_one(capsys: Output) -> None:
    found = ids(capsys, "das2022")
    at = found.index("das2022.theorem4b")
    assert found[at + 1 : at + 3] == ["das2022.theorem4b.fixed-size", "das2022.theorem4b.repaired"]


def test_papers_are_read_off_their_packages() -> None:
    assert set(known()) == {s.paper for s in statements.all_statements()}
    assert known()["zhang2021"].heading.endswith("Level Differential Privacy (2021)")


def test_words_are_looked_for_in_all_that_is_told(capsys: Output) -> None:
    everything = statements.all_statements()
    assert ids(capsys, "SCAFFOLD") == ids(capsys, "scaffold") != []
    assert set(ids(capsys, "Richtárik")) == {s.id for s in everything if s.paper == "shulgin2025"}
    both = ids(capsys, "client", "sampled")
    assert both == ids(capsys, "sampled client")
    assert 0 < len(both) < len(ids(capsys, "client"))
    assert set(both) <= set(ids(capsys, "client")) & set(ids(capsys, "sampled"))


def test_ids_patterns_and_papers_are_added_and_words_narrow(capsys: Output) -> None:
    assert ids(capsys, "das2022.fact?", "hou2023.lemma1") == ["das2022.fact1", "das2022.fact2", "hou2023.lemma1"]
    assert ids(capsys, "hou2023", "lemma1", "--kind", "lemma") == ["hou2023.lemma1", "hou2023.lemma1.repaired"]
    assert main(["list", "das2022.nothing*"]) == 2
    assert "no statement's id matches 'das2022.nothing*'" in capsys.readouterr().err


def test_nothing_found_is_told_and_no_failure(capsys: Output) -> None:
    assert main(["list", "xyzzy"]) == 0
    out, err = capsys.readouterr()
    assert out == "no statements\n"
    assert "'xyzzy'" in err
    assert ids(capsys, "xyzzy") == []


def test_filters(capsys: Output) -> None:
    by_id = {s.id: s for s in statements.all_statements()}
    exact = ids(capsys, "--method", "exact", "--method", "worst-case")
    assert exact
    assert all({"exact", "worst-case"} <= set(by_id[i].methods) for i in exact)
    false = ids(capsys, "--grade", "false")
    assert {i for i, s in by_id.items() if s.erratum is not None and s.erratum.grade == "false"} == set(false) != set()
    assert len(ids(capsys, "--with", "erratum")) == sum(s.erratum is not None for s in by_id.values())
    both = ids(capsys, "--with", "reading", "--with", "remark")
    assert all(by_id[i].remark is not None and by_id[i].reading_of for i in both)
    ratios = {i: power.ratio for i in by_id if (power := recorded(i)) is not None}
    above = ids(capsys, "--power-above", "1.5")
    assert set(above) == {i for i, ratio in ratios.items() if ratio is not None and ratio > 1.5} != set()
    between = ids(capsys, "--power-above", "0.5", "--power-below", "0.9")
    assert set(between) == {i for i, ratio in ratios.items() if ratio is not None and 0.5 < ratio < 0.9} != set()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--method", "algebr"], "did you mean 'algebra'?"),
        (["--grade", "fals"], "did you mean 'false'?"),
        (["--with", "eratum"], "did you mean 'erratum'?"),
        (["--power-above", "much"], "--power-above is 'much'"),
        (["problems", "--kind", "lemma"], "--kind is for statements"),
    ],
)
def test_bad_filters_get_one_sentence(capsys: Output, arguments: list[str], part: str) -> None:
    assert main(["list", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert part in err
    assert err.count("\n") == 1


def test_a_pipe_gets_whole_titles_without_colours(capsys: Output) -> None:
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "…" not in out
    for s in statements.all_statements():
        assert re.search(rf"^  {re.escape(s.id)} .*{re.escape(plain(s.title))}$", out, re.MULTILINE), s.id
    counts = [sum(s.expected == v for s in statements.all_statements()) for v in EXPECTED]
    message = f"{sum(counts)} statements: {counts[0]} hold, {counts[1]} are violated"
    assert out.splitlines()[-1] == message
    assert out.index(" Section 4\n") < out.index("  das2022.theorem4a") < out.index(" Section 4.1\n")


@pytest.mark.parametrize("width", [60, 80, 140, 300])
def test_lines_fit_a_terminal(width: int) -> None:
    found = _listing.matching(["noble2022"])
    lines = ["".join(text for text, _ in line) for line in _listing.lines(found, width)]
    assert max(map(len, lines)) <= max(width, 67)  # an id is never cut
    whole = width >= 300
    assert ("…" in "".join(lines)) != whole
    assert all(any(s.id in line.split() for line in lines) for s in found)


def shown(*arguments: str, **variables: str) -> str:
    """The output of a command on a terminal of 100 columns."""
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **variables}
    command = [sys.executable, "-m", "dpfl_theory", *arguments]
    with subprocess.Popen(command, stdout=child, stderr=subprocess.DEVNULL, env=environment) as process:
        os.close(child)
        out = b""
        while True:
            try:
                if not (some := os.read(parent, 4096)):
                    break
            except OSError:  # its other end is closed
                break
            out += some
    os.close(parent)
    assert process.returncode == 0
    return out.decode()


@pytest.mark.skipif(os.name != "posix", reason="terminals as on POSIX systems")
def test_a_terminal_gets_colours_unless_it_wants_none() -> None:
    painted = shown("list", "das2022.theorem4*")
    plain = shown("list", "das2022.theorem4*", NO_COLOR="1")
    assert "\x1b[31mviolated" in painted
    assert "\x1b[32mholds" in painted
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted).split() == plain.split()
    assert max(map(len, plain.splitlines())) <= 100


# show


def test_show_takes_patterns_and_several(capsys: Output) -> None:
    assert main(["show", "das2022.fact*", "--format", "json"]) == 0
    assert [d["id"] for d in json.loads(capsys.readouterr().out)] == ["das2022.fact1", "das2022.fact2"]
    assert main(["show", "das2022.fact1", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == "das2022.fact1"
    assert main(["show", "das2022.fact1", "hou2023.lemma1"]) == 0
    out = capsys.readouterr().out
    assert out.index("das2022.fact1") < out.index("hou2023.lemma1")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["show", "das2022.theorem4"], "did you mean 'das2022.theorem4a' or 'das2022.theorem4b'?"),
        (["show", "das2022"], "'das2022' is a paper: name one of its statements, like das2022.definition2"),
        (["falsify", "das2022"], "'das2022' is a paper"),
        (["check", "das2023"], "did you mean 'das2022'?"),
        (["check", "das2022.theorm4*"], "no statement's id matches"),
        (["show", "sampling of clients"], "dpfl-theory list 'sampling of clients' looks for it"),
        (["errata", "das2022.eq4"], "errata are listed by paper: give das2022"),
        (["validate", "das2022.figure22"], "did you mean 'das2022_figure2'?"),
        (["show", "problem", "hubr"], "unknown problem 'hubr': did you mean 'huber'?"),
        (["show", "problem"], "dpfl-theory list problems shows them"),
        (["chekc"], "Did you mean 'check'?"),
        (["privacy", "acount"], "did you mean 'account'?"),
    ],
)
def test_what_was_meant_is_suggested(capsys: Output, arguments: list[str], part: str) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert part in err


def test_a_paper_is_checked_as_a_whole(capsys: Output) -> None:
    arguments = ["--method", "privacy", "--budget", "0.000001", "--format", "json", "--device", "cpu"]
    assert main(["check", "hou2023", *arguments]) == 3
    found = json.loads(capsys.readouterr().out)["summary"]["statements"]
    assert set(found) == {"hou2023.lemma1", "hou2023.lemma1.repaired"}


def test_validations_are_named_by_patterns_and_by_ids_with_dots() -> None:
    from dpfl_theory.validation.batch import _named

    known_ = ["das2022_figure1", "das2022_figure2", "exact_moments"]
    assert _named(["das2022.figure2"], known_) == ["das2022_figure2"]
    assert _named(["das2022_figure?", "das2022.figure1"], known_) == known_[:2]
    assert _named([], known_) == known_


# building blocks of theorems and configurations

LEAST = {"classes": 2}
"""The minimum number of items of the kinds with few items."""


@pytest.mark.parametrize("name", sorted(kinds()))
def test_each_kind_is_whole(capsys: Output, name: str) -> None:
    assert main(["list", name, "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert len(listed) >= LEAST.get(name, 5)
    assert len({item["name"] for item in listed}) == len(listed)
    for item in listed:
        assert item["what"], item["name"]
        for p in item["parameters"]:
            assert p["meaning"], f"{item['name']} {p['name']}: declare its meaning"
    assert main(["list", name]) == 0
    out = capsys.readouterr().out
    assert all(re.search(rf"^  {re.escape(item['name'])} ", out, re.MULTILINE) for item in listed)
    one = kinds()[name].one
    assert main(["show", one, listed[-1]["name"]]) == 0
    assert capsys.readouterr().out.startswith(f"{listed[-1]['name']}  ({one})\n")


def test_what_is_listed_is_what_there_is(capsys: Output) -> None:
    from dpfl_theory.simulation.observables import catalogue
    from dpfl_theory.sweep.algorithms import algorithms
    from dpfl_theory.validation.script import available

    def names(kind: str) -> set[str]:
        return {item.name for item in kinds()[kind].items()}

    assert names("problems") == set(families())
    assert names("observables") == set(catalogue())
    assert names("validations") == set(available())
    assert names("papers") == set(statements.papers())
    assert names("constants") == set(CONSTANTS)
    assert names("classes") == set(FUNCTIONS)
    assert names("algorithms") == set(algorithms())


@pytest.mark.parametrize("name", sorted(families()))
def test_each_parameter_of_a_problem_has_a_meaning(name: str) -> None:
    """In lists, in the schema of configurations and in messages."""
    declared = meanings(families()[name])
    assert set(declared) == set(inspect.signature(families()[name]).parameters)
    fields = problems()[name].model_fields
    assert {key: fields[key].description for key in declared} == {key: one.text for key, one in declared.items()}


@pytest.mark.parametrize("name", sorted(kinds()))
def test_what_is_said_of_an_item_rests_on_no_other_line(name: str) -> None:
    """Lists are sorted and filtered, so that 'the same' would refer to nothing."""
    wrong = [
        i.name for i in kinds()[name].items() if re.match(r"(as|the same|like|so)\b(?! for)", i.what, re.IGNORECASE)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["problms"], "did you mean 'dpfl-theory list problems'?"),
        (["observable"], "did you mean 'dpfl-theory list observables'?"),
        (["constnts", "convexity"], "did you mean 'dpfl-theory list constants convexity'?"),
        (["das2202"], "did you mean 'dpfl-theory list das2022'?"),
        (["theorm"], "did you mean 'dpfl-theory list theorem'?"),
    ],
)
def test_a_word_that_nothing_has_gets_the_nearest_one_that_there_is(
    words: list[str], message: str, capsys: Output
) -> None:
    assert main(["list", *words]) == 0
    assert message in capsys.readouterr().err
    assert main(["list", "zzzzzz"]) == 0
    assert "did you mean" not in capsys.readouterr().err


def test_parameters_have_units_and_defaults(capsys: Output) -> None:
    assert main(["list", "algorithms", "dp-fedavg", "--format", "json"]) == 0
    listed = {item["name"]: item for item in json.loads(capsys.readouterr().out)}
    eta = next(p for p in listed["dp-fedavg"]["parameters"] if p["name"] == "eta")
    assert eta == {"name": "eta", "default": "1/L", "unit": "X^2/F", "meaning": "local step"}
    assert listed["dp-fedavg"]["source"] == "das2022 Algorithm 1 (i)"
    assert main(["show", "algorithm", "dp-fedavg"]) == 0
    assert re.search(r"^  eta +1/L +\[X\^2/F\] +local step", capsys.readouterr().out, re.MULTILINE)
    assert main(["show", "algorithm", "dp-scaffnew"]) == 0
    assert re.search(r"^  eta +1/L +\[X\^2/F\]", capsys.readouterr().out, re.MULTILINE)
    assert main(["show", "problem", "huber"]) == 0
    assert re.search(r"^  ridge +0\.0 +\[F/X\^2\] +ridge/2", capsys.readouterr().out, re.MULTILINE)


def test_hypotheses_can_be_imported_as_told() -> None:
    for item in kinds()["hypotheses"].items():
        names: dict[str, object] = {}
        exec(item.facts["use"], names)
        text = getattr(names[item.name.rpartition(".")[2]], "text")  # noqa: B009
        assert text == item.what


def test_a_dumb_terminal_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    assert not _layout.on_terminal()
    monkeypatch.setenv("TERM", "xterm")
    assert _layout.on_terminal()
