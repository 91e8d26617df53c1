"""`dpfl-theory recommend` without an algorithm: the user's own clients, a table or JSON, one sentence for all missing
inputs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dpfl_theory.cli import main
from dpfl_theory.cli._recommend import comparison_text
from dpfl_theory.recommend import compare, minimum_budget
from dpfl_theory.recommend.minimum_budget import describe_changes as told_changes
from dpfl_theory.recommend.rule_runs import RULED
from dpfl_theory.recommend.search import Plan
from dpfl_theory.runtime import threads

Output = pytest.CaptureFixture[str]
TINY = Plan(points=16, replicates=2, generations=2, finalists=3, second=6, best=2, third=8, last=16)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "usual", lambda problem: TINY)
    monkeypatch.setattr(compare, "RULED", {})  # the rules have their own tests
    monkeypatch.setattr(minimum_budget, "_PLAN", TINY)
    monkeypatch.setattr(threads, "usable_cores", lambda: 1)


@pytest.fixture
def own(tmp_path: Path) -> str:
    """A CSV file of five sites, whose labels depend on the site."""
    rng = np.random.default_rng(0)
    lines = ["age,dose,label,client"]
    for k in range(200):
        site, x = k % 5, rng.standard_normal(2)
        label = int(x[0] + 0.8 * (site - 2) + rng.standard_normal() > 0)
        lines.append(f"{x[0]:.4f},{x[1]:.4f},{'yes' if label else 'no'},site {site}")
    (tmp_path / "own.csv").write_text("\n".join(lines))
    return str(tmp_path / "own.csv")


@pytest.mark.slow
def test_the_users_clients_are_the_clients(own: str, capsys: Output) -> None:
    command = ["recommend", "--data", own, "--epsilon", "3", "--delta", "1e-5", "--rounds", "16", "--format", "json"]
    assert main(command) == 0
    described = json.loads(capsys.readouterr().out)
    assert (described["data"]["clients"], described["data"]["records"], described["data"]["partition"]) == (
        5,
        200,
        "own",
    )
    assert described["schema"] == "dpfl-theory/recommend/1"
    assert {row["name"] for row in described["algorithms"]} >= {"dp-fedavg", "dp-scaffnew", "dp-clip21", "dp-norm-ec"}
    assert described["recommended"] == described["recommended_by_unit"]["client"] == described["algorithms"][0]["name"]
    assert {row["protects"] for row in described["algorithms"]} == {"client", "record"}
    assert all(row["epsilon"]["high"] <= 3.0 for row in described["algorithms"])
    assert main([*command, "--partition", "iid", "--clients", "5", "--unit", "client"]) == 0
    mixed = json.loads(capsys.readouterr().out)
    other, own_ = (document["data"]["constants"]["heterogeneity"]["value"] for document in (mixed, described))
    assert other < 0.5 * own_
    assert described["data"]["constants"]["strong convexity"]["value"] is None  # without a ridge
    assert described["data"]["constants"]["largest smoothness"]["kind"] == "eigenvalue"


def test_the_table_names_data_budget_and_advice(own: str, capsys: Output) -> None:
    assert main(["recommend", "--data", own, "--epsilon", "3", "--delta", "1e-5", "--rounds", "16"]) == 0
    out = capsys.readouterr().out
    assert "5 clients (named by the data), 40 to 40 records each" in out
    assert "epsilon = 3, delta = 1e-05 for a client's data (zero-out), seen by a third-party" in out
    assert "epsilon = 3, delta = 1e-05 for one record of a client (replace), seen by a third-party" in out
    client, record = out.split("for one record of a client")
    assert "dp-fedavg             client" in client
    assert "dp-sgd-record         record" in record
    assert "To protect each client's data take" in client
    assert "dp-fedavg: noise once a round by each client of the cohort" in client
    assert "dp-sgd-record: noise at every local step by each user" in record
    assert "To protect single records take" in record
    assert "Do not compare the two epsilons" in out
    assert "Not private: these numbers and the choice of algorithm" in out.split("algorithm  ")[0]


def test_the_papers_rules_are_shown_with_their_bounds(
    own: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "RULED", {"dp-norm-ec": RULED["dp-norm-ec"], "dp-scaffnew": RULED["dp-scaffnew"]})
    command = ["recommend", "--data", own, "--epsilon", "3", "--delta", "1e-5", "--unit", "client", "--rounds", "4"]
    assert main([*command, "--format", "json"]) == 0
    described = json.loads(capsys.readouterr().out)
    rules = {row["name"]: {rule["rule"]: rule for rule in row["rules"]} for row in described["algorithms"]}
    assert rules["dp-norm-ec"]["bound-optimal"]["bound"] > 0.0
    assert rules["dp-norm-ec"]["bound-optimal"]["vectors"] <= 4
    assert "is not strongly convex" in rules["dp-scaffnew"]["printed"]["why"]
    assert rules["dp-fedavg"] == {}
    out = comparison_text(described)
    assert f"bound-optimal{rules['dp-norm-ec']['bound-optimal']['bound']:>13.4g}" in out
    assert "dp-norm-ec: the bound is of the min_k E||grad f(x^k)|| over k = 0..K [F/X]." in out
    assert "dp-scaffnew: not run; dp-scaffnew needs strong_convexity" in out


@pytest.mark.slow
def test_where_nothing_beats_the_start_the_smallest_changes_are_told(own: str, capsys: Output) -> None:
    command = ["recommend", "--data", own, "--epsilon", "0.02", "--delta", "1e-5", "--rounds", "4", "--unit", "client"]
    assert main([*command, "--format", "json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert described["recommended"] is None
    helps = described["would_help_by_unit"]["client"]
    assert helps["epsilon"] is None or helps["epsilon"] > 0.02
    assert helps["clients"] is None or (helps["clients"] > 5 and helps["clients"] % 5 == 0)
    out = comparison_text(described)
    assert "Nothing found at this budget (epsilon = 0.02" in out
    assert told_changes(helps) in out


def test_the_table_is_for_the_relation_the_view_and_the_sampling_that_were_asked(own: str, capsys: Output) -> None:
    command = ["recommend", "--data", own, "--epsilon", "3", "--delta", "1e-5", "--rounds", "4", "--cohort", "2"]
    asked = ["--relation", "replace", "--view", "server", "--sampling", "fixed"]
    assert main([*command, *asked, "--format", "json"]) == 0
    described = json.loads(capsys.readouterr().out)
    names = {row["name"] for row in described["algorithms"]}
    clients = {"dp-fedavg", "dp-normfedavg", "dp-fedavg-two-sided", "dp-fedavg-local"}
    assert names == {*clients, "dp-fedavg-record", "dp-scaffold"}
    assert {(row["relation"], row["view"], row["sampling"]) for row in described["algorithms"]} == {
        ("replace", "server", "fixed")
    }
    assert {left["name"] for left in described["left_out"]} == {
        "dp-clip21",
        "dp-norm-ec",
        "dp-scaffnew",
        "dp-sgd-record",
        *("dp-fedavg-mcmahan", "dp-fedavg-adaptive", "dp-ftrl", "dp-sgd"),
    }
    out = comparison_text(described)
    assert "for a client's data (replace), seen by a server" in out
    assert "2 clients in a round (fixed: dp-fedavg, dp-fedavg-local, dp-fedavg-two-sided, dp-normfedavg)" in out
    assert "dp-clip21 is left out: --cohort is 2 of 5" in out


def test_what_no_accountant_certifies_is_refused_by_name(own: str, capsys: Output) -> None:
    command = ["recommend", "--data", own, "--epsilon", "3", "--delta", "1e-5"]
    for more, said in (
        (
            ["--relation", "zero-out", "--algorithm", "dp-scaffold"],
            "certifies dp-scaffold for that, it has replace",
        ),
        (["--relation", "swap"], "--relation is 'swap': choose one of zero-out, replace, add-remove"),
        (["--sampling", "poisson"], "--sampling is poisson, but all clients take part: also give a --cohort below 5"),
        (
            ["--cohort", "2", "--sampling", "poisson", "--unit", "record"],
            "no accountant certifies dp-fedavg-record for that, it has fixed",
        ),
    ):
        assert main([*command, *more]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert said in err
        assert err.count("\n") == 1


def test_one_unit_is_compared_by_itself(own: str, capsys: Output) -> None:
    command = ["recommend", "--data", own, "--epsilon", "3", "--delta", "1e-5", "--rounds", "1", "--jobs", "1"]
    assert main([*command, "--unit", "record"]) == 0
    out = capsys.readouterr().out
    assert "for a client's data" not in out
    assert "Do not compare the two epsilons" not in out
    assert "dp-scaffold is left out: --rounds is 1: dp-scaffold sends 2 vectors in a round." in out
    assert main([*command, "--unit", "site"]) == 2
    assert "the unit of privacy is 'site': choose one of client, record or all" in capsys.readouterr().err


REFUSED = {
    "all that is missing": ([], "give --data and --epsilon and --delta (or constants: --clients"),
    "a budget": (["--data", "breast-cancer"], "give --epsilon and --delta"),
    "clients": (
        ["--data", "breast-cancer", "--epsilon", "1", "--delta", "1e-5"],
        "breast-cancer does not name the client of each record: name the column with --client-column",
    ),
    "an option of one algorithm": (
        ["--data", "digits", "--epsilon", "1", "--delta", "1e-5", "--alpha", "1"],
        "--alpha can only be given to a paper's rule: name an --algorithm and take --rule printed",
    ),
    "a cohort": (
        ["--data", "breast-cancer", "--clients", "3", "--cohort", "4", "--epsilon", "1", "--delta", "1e-5"],
        "--cohort is 4: there are 3 clients",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_compared_is_said_at_once(case: str, capsys: Output) -> None:
    arguments, sentence = REFUSED[case]
    assert main(["recommend", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert sentence in err
    assert err.count("\n") == 1


def test_other_numbers_of_clients_need_a_partition(own: str, capsys: Output) -> None:
    assert main(["recommend", "--data", own, "--epsilon", "3", "--delta", "1e-5", "--clients", "4"]) == 2
    assert "has 5 clients of its own" in capsys.readouterr().err


GIVEN = {"clients": 30, "dim": 4, "smoothness": 2, "distance": 3, "epsilon": 4, "delta": 1e-5}
CONSTANTS = [text for name, value in GIVEN.items() for text in (f"--{name}", str(value))]


@pytest.mark.slow
def test_constants_alone_are_compared_on_a_problem_that_has_them(capsys: Output) -> None:
    command = ["recommend", *CONSTANTS, "--rounds", "16", "--format", "json"]
    assert main([*command, "--strong-convexity", "0.5", "--heterogeneity", "0.1"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert described["data"]["problem"] == "quadratics with eigenvalues from 0.5 to 2, ||w*|| = 3"
    assert described["recommended"] is not None
    assert main([*command, "--lipschitz", "1"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert described["data"]["problem"] == "Huber losses with L = 2 and G = 1, ||w*|| = 3"
    assert "another one with these constants may give better or worse results" in comparison_text(described)
    assert {row["protects"] for row in described["algorithms"]} == {"client"}
    assert main([*command, "--unit", "record"]) == 2
    assert "constants have no records" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--strong-convexity", "3"], "--strong-convexity is 3 and --smoothness 2"),
        (["--strong-convexity", "1", "--lipschitz", "1"], "has no --lipschitz"),
        (["--lipschitz", "1", "--heterogeneity", "9"], "differ by at most"),
    ],
)
def test_constants_that_contradict_one_another_are_told(more: list[str], said: str, capsys: Output) -> None:
    assert main(["recommend", *CONSTANTS, *more]) == 2
    assert said in capsys.readouterr().err


def test_what_is_wrong_with_every_kind_of_input_is_told_together(capsys: Output) -> None:
    given = "--clients 50 --cohort 80 --dim 10 --smoothness 1 --strong-convexity 3 --distance 3"
    assert main(f"recommend {given} --epsilon 3 --delta 2 --features 3 --unit record".split()) == 2
    _, err = capsys.readouterr()
    assert err.count("\n") == 1
    for reported in (
        "--features is for",
        "--delta is 2.0",
        "mu <= L is needed",
        "--unit is 'record'",
        "--cohort is 80",
    ):
        assert reported in err


def test_contradictions_are_told_together(capsys: Output) -> None:
    constants = ["--clients", "1", "--dim", "3", "--smoothness", "1", "--distance", "3", "--heterogeneity", "1"]
    budget = ["--epsilon", "0", "--delta", "1e-5"]
    assert main(["recommend", *constants, *budget, "--strong-convexity", "2", "--lipschitz", "1", "--alpha", "1"]) == 2
    error = capsys.readouterr().err
    for said in (
        "--epsilon is 0",
        "mu <= L is needed",
        "has no --lipschitz",
        "one client has no heterogeneity",
        "--alpha can",
    ):
        assert said in error
    assert error.count("\n") == 1


def test_all_missing_constants_are_named_at_once(capsys: Output) -> None:
    assert main(["recommend", "--clients", "5", "--epsilon", "3"]) == 2
    error = capsys.readouterr().err
    assert "--delta and --dim and --smoothness and --distance" in error


def test_the_rule_best_runs_one_algorithm(own: str, capsys: Output) -> None:
    budget = ["--epsilon", "3", "--delta", "1e-5", "--rounds", "16", "--format", "json"]
    command = ["recommend", "--algorithm", "dp-norm-ec"]
    assert main([*command, "--data", own, *budget]) == 0
    described = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in described["algorithms"]] == ["dp-norm-ec"]
    assert main(["recommend", "--data", own, "--unit", "client", *budget]) == 0
    every = json.loads(capsys.readouterr().out)
    (alone,) = (row for row in every["algorithms"] if row["name"] == "dp-norm-ec")
    assert described["algorithms"] == [alone]
    assert main([*command, "--data", own, "--alpha", "1", *budget]) == 2
    assert "--alpha can only be given to a paper's rule: take --rule printed" in capsys.readouterr().err
    assert main([*command, "--epsilon", "3"]) == 2
    assert "--rule best runs dp-norm-ec on data: give --data and --delta (or constants" in capsys.readouterr().err


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("kind", [".svg", ".png"])
def test_a_comparison_is_drawn(own: str, kind: str, tmp_path: Path, capsys: Output) -> None:
    command = ["recommend", "--data", own, "--epsilon", "3", "--delta", "1e-5", "--rounds", "16"]
    begins = {".svg": b"<?xml", ".png": b"\x89PNG"}[kind]
    assert main([*command, "--unit", "client", "--figure", str(tmp_path / f"found{kind}")]) == 0
    assert (tmp_path / f"found{kind}").read_bytes().startswith(begins)
    capsys.readouterr()
    for more, said in (
        (["--figure", "found.pdf"], "give a name that ends in .png or .svg"),
        (["--figure", "f.svg", "--algorithm", "dp-fedavg", "--rule", "printed"], "--figure draws a comparison"),
    ):
        assert main([*command, *more]) == 2
        assert said in capsys.readouterr().err
