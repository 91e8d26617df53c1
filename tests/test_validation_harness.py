"""The harness of validations: its requirements for a script, the files that it writes, and its handling of faults."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from setuptools import find_packages

from dpfl_theory import validation
from dpfl_theory.cli import main
from dpfl_theory.errors import InputError
from dpfl_theory.validation import Context, Script, available, load, redraw, run, style, to_json
from dpfl_theory.validation import script as script_module
from dpfl_theory.validation.document import read
from dpfl_theory.validation.tasks import order_of, together

Output = pytest.CaptureFixture[str]

SCRIPT = """
from . import _helper
from dpfl_theory.validation import style

TITLE = "Powers"
CAPTION = "Powers of two."
SOURCE = {"paper": "das2022", "where": "Figure 0"}
BUDGET_SECONDS = {"full": 1, "paper": 2}

def compute(context):
    import numpy as np
    from . import _late_helper
    count = context.pick(full=3, paper=6)
    values = np.random.default_rng(context.seed).normal() + 2.0 ** np.arange(count)
    context.progress(0.5)
    claims = [{"claim": "powers grow", "verdict": "reproduced", "paper": "yes", "measured": float(values[-1])}]
    return {"configuration": {"count": count}, "values": values, "odd": [float("inf"), np.nan], "claims": claims}

def draw(data):
    assert type(data["values"]) is list, "not as read from the file"
    fig, axes = style.figure()
    axes.plot(data["values"])
    axes.set(title=str(data["values"]), xticks=[], yticks=[])  # marks on the axes take most of the time
    other, axes = style.figure()
    axes.plot(data["odd"])
    axes.set(xticks=[], yticks=[])
    return {"": fig, "odd": other}
"""


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with one script and its helpers."""
    place = tmp_path / "validations"
    place.mkdir()
    (place / "powers.py").write_text(SCRIPT)
    (place / "_helper.py").write_text("")
    (place / "_late_helper.py").write_text("")
    monkeypatch.chdir(tmp_path)
    return place


def change(scripts: Path, old: str, new: str) -> None:
    """Plant a change in the script."""
    assert SCRIPT.count(old) == 1
    (scripts / "powers.py").write_text(SCRIPT.replace(old, new))


def without_figures(path: Path) -> None:
    """Remove the script's figures, for a test that does not concern them."""
    text = path.read_text()
    drawing = text[text.index("def draw") :]
    path.write_text(text.replace(drawing, "def draw(data):\n    return {}\n\n"))


def files(place: Path) -> list[str]:
    return sorted(str(p.relative_to(place)) for p in place.rglob("*") if p.is_file())


LEFT = [
    "evidence/powers.json",
    "figures/powers-odd.png",
    "figures/powers-odd.svg",
    "figures/powers.png",
    "figures/powers.svg",
]


SHARED_RUN = """
import functools
from pathlib import Path

@functools.cache
def made(name):
    with Path("made.txt").open("a") as told:
        told.write(f"{name}\\n")
    return 1.0
"""


@pytest.mark.slow
@pytest.mark.parametrize(("shares", "times", "jobs"), [('SHARED_RUNS = "a run"', 1, 2), ("", 3, 4)])
def test_what_scripts_share_is_made_once(scripts: Path, shares: str, times: int, jobs: int) -> None:
    """Three scripts that need one cached run, in as many processes at most; a fourth has its own."""
    (scripts / "_late_helper.py").write_text(SHARED_RUN)
    body = SCRIPT.replace("context.progress(0.5)", "_late_helper.made('shared')")
    for name in ("powers", "sequel", "third"):
        (scripts / f"{name}.py").write_text(f"{shares}\n{body}")
    (scripts / "other.py").write_text(SCRIPT.replace("context.progress(0.5)", "_late_helper.made('own')"))
    names = ["powers", "sequel", "third", "other"]
    for name in names:
        without_figures(scripts / f"{name}.py")
    options: dict[str, Any] = {"output": "out", "seed": "0", "device": "cpu", "jobs": jobs}
    assert validation.validate(names, place=scripts, **options) == 0
    assert [f for f in files(Path("out")) if f.endswith("json")] == sorted(f"evidence/{name}.json" for name in names)
    assert sorted(Path("made.txt").read_text().split()) == ["own"] + times * ["shared"]


@pytest.mark.parametrize(("first", "names"), [(5.0, ["b", "a", "c"]), (50.0, ["a", "c", "b"])])
def test_the_longest_group_of_scripts_begins(first: float, names: list[str]) -> None:
    def script(name: str, seconds: float, shares: str | None) -> Script:
        return Script(name, Path(name), name, "", {}, dict, dict, {"full": seconds}, shares=shares)  # type: ignore[arg-type]

    groups = together([script("a", first, "runs"), script("b", 20.0, None), script("c", 3.0, "runs")])
    assert [script.name for i in order_of(groups, "standard") for script in groups[i]] == names


def test_a_run_leaves_evidence_and_figures(scripts: Path, capsys: Output) -> None:
    assert (
        main(["validate", "--folder", "validations", "powers", "--output", "out", "--seed", "3", "--device", "cpu"])
        == 0
    )
    out, err = capsys.readouterr()
    assert out == ""
    assert "powers: Powers (standard, about 1 s)" in err
    assert "1 reproduced" in err
    assert files(Path("out")) == LEFT
    document = json.loads(Path("out/evidence/powers.json").read_text())
    assert document["schema"] == "dpfl-theory/validation/1"
    assert document["command"] == "dpfl-theory validate powers --seed 3"
    assert (document["name"], document["profile"], document["seed"]) == ("powers", "standard", 3)
    assert {"title", "caption", "source", "device", "versions", "seconds"} <= set(document)
    assert len(document["data"]["values"]) == 3
    assert document["data"]["odd"] == [None, None]
    assert Path("out/figures/powers.png").read_bytes().startswith(b"\x89PNG")
    assert Path("out/figures/powers.svg").read_bytes().startswith(b"<?xml")


def test_same_seed_same_bytes_and_other_seed_other_bytes(scripts: Path) -> None:
    for place, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        assert main(["validate", "--folder", "validations", "--output", place, "--seed", seed, "--device", "cpu"]) == 0
    for file in LEFT[1:]:
        assert Path("a", file).read_bytes() == Path("b", file).read_bytes(), file
    assert Path("a/figures/powers.svg").read_bytes() != Path("c/figures/powers.svg").read_bytes()
    data = [json.loads(Path(place, LEFT[0]).read_text())["data"] for place in "abc"]
    assert data[0] == data[1] != data[2]


@pytest.mark.slow
def test_scripts_beside_each_other_leave_what_they_leave_alone(scripts: Path, capsys: Output) -> None:
    (scripts / "second.py").write_text(SCRIPT.replace("2.0 **", "3.0 **"))
    for place, jobs in (("a", "1"), ("b", "2")):
        assert main(["validate", "--folder", "validations", "--output", place, "--jobs", jobs, "--device", "cpu"]) == 0
    assert files(Path("a")) == files(Path("b"))
    for name in ("powers", "second"):
        data = [json.loads(Path(place, "evidence", f"{name}.json").read_text())["data"] for place in "ab"]
        assert data[0] == data[1]
        assert Path("a/figures", f"{name}.svg").read_bytes() == Path("b/figures", f"{name}.svg").read_bytes()
    assert "second: claims: 1 reproduced" in capsys.readouterr().err
    assert main(["validate", "--folder", "validations", "--output", "c", "--jobs", "none", "--device", "cpu"]) == 2
    assert "the number of jobs 'none'" in capsys.readouterr().err


def test_the_paper_profile(scripts: Path) -> None:
    without_figures(scripts / "powers.py")
    assert main(["validate", "--folder", "validations", "powers", "--paper", "--output", "out", "--device", "cpu"]) == 0
    document = json.loads(Path("out/evidence/powers.json").read_text())
    assert document["profile"] == "paper"
    assert document["command"] == "dpfl-theory validate powers --paper --seed 0"
    assert len(document["data"]["values"]) == 6


def test_figures_follow_from_the_data_alone(scripts: Path) -> None:
    script = load(scripts / "powers.py")
    document = run(script, Context(device="cpu"), Path("out"))
    again = redraw(script, json.loads(Path("out/evidence/powers.json").read_text()))
    assert {f"figures/{name}" for name in again} == set(LEFT[1:])
    for name, content in again.items():
        assert Path("out/figures", name).read_bytes() == content
    changed = {**document, "data": {**document["data"], "values": [1, 1, 1]}}
    assert redraw(script, changed)["powers.svg"] != again["powers.svg"]


def test_figures_that_are_no_longer_drawn_are_removed(scripts: Path) -> None:
    assert main(["validate", "--folder", "validations", "--output", "out", "--device", "cpu"]) == 0
    change(scripts, '{"": fig, "odd": other}', '{"": fig}')
    assert main(["validate", "--folder", "validations", "--output", "out", "--device", "cpu"]) == 0
    assert files(Path("out")) == [f for f in LEFT if "odd" not in f]


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('"powers grow", "verdict": "reproduced"', '"powers grow", "verdict": "true"', "the verdict 'true'"),
        ('"paper": "yes", ', "", "lacks paper"),
        ('"verdict": "reproduced"', '"verdict": "yes"', "the verdict 'yes'"),
        ('"verdict": "reproduced"', '"verdict": "reproduced", "ours": True', "the verdict 'reproduced'"),
        ('"verdict": "reproduced"', '"verdict": "reproduced", "expected": "no"', "the recorded verdict 'no'"),
        ('"verdict": "reproduced"', '"verdict": "does-not-carry-over"', "its key differs does not say"),
        ('"values": values', '"values": {1, 2}', "is a set"),
        ('{"": fig, "odd": other}', '{"a/b": fig}', "names a figure"),
        ('data["odd"]', 'data["missing"]', "KeyError"),
    ],
)
def test_a_faulty_script_leaves_nothing(scripts: Path, capsys: Output, old: str, new: str, error: str) -> None:
    change(scripts, old, new)
    assert main(["validate", "--folder", "validations", "--output", "out", "--device", "cpu"]) == 70
    assert error in capsys.readouterr().err
    assert not Path("out").exists()


def test_a_fault_leaves_the_old_evidence(scripts: Path) -> None:
    assert main(["validate", "--folder", "validations", "--output", "out", "--device", "cpu"]) == 0
    before = {file: Path("out", file).read_bytes() for file in LEFT}
    change(scripts, "context.progress(0.5)", "raise ZeroDivisionError")
    assert main(["validate", "--folder", "validations", "--output", "out", "--device", "cpu"]) == 70
    assert {file: Path("out", file).read_bytes() for file in files(Path("out"))} == before


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('TITLE = "Powers"', "", "does not define TITLE"),
        ("import _helper", "import no_such_module_anywhere", "cannot be imported"),
    ],
)
def test_a_script_that_cannot_be_used_is_bad_input(
    scripts: Path, capsys: Output, old: str, new: str, error: str
) -> None:
    change(scripts, old, new)
    assert main(["validate", "--folder", "validations", "--output", "out"]) == 2
    assert error in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("verdict", "recorded", "code"),
    [
        ("reproduced", None, 0),
        ("not-reproduced", None, 0),
        ("not-reproduced", "not-reproduced", 0),
        ("not-reproduced", "reproduced", 1),
        ("inconclusive", "reproduced", 3),
        ("does-not-carry-over", None, 0),
        ("does-not-carry-over", "reproduced", 1),
        ("no", None, 0),
        ("no", "yes", 1),
        ("open", "yes", 3),
    ],
)
def test_exit_code_of_claims(scripts: Path, verdict: str, recorded: str | None, code: int) -> None:
    record = "" if recorded is None else f', "expected": "{recorded}"'
    mark = ', "ours": True' if verdict in validation.ANSWERS else ', "differs": "other data"'
    change(scripts, '"verdict": "reproduced"', f'"verdict": "{verdict}"{record}{mark}')
    without_figures(scripts / "powers.py")
    assert main(["validate", "--folder", "validations", "--output", "out", "--device", "cpu"]) == code


def test_claims_elsewhere_and_our_own_questions_are_counted_apart(scripts: Path, capsys: Output) -> None:
    """Neither is ever reported as not reproduced, and the document meets the published schema."""
    change(
        scripts,
        '"measured": float(values[-1])}]',
        """"measured": 1.0}]
    from dpfl_theory.validation import as_question, elsewhere
    failed = {**claims[0], "verdict": "not-reproduced", "expected": "not-reproduced"}
    claims += [elsewhere(failed, "powers of three in the paper"), as_question(failed), as_question(claims[0])]""",
    )
    without_figures(scripts / "powers.py")
    assert main(["validate", "--folder", "validations", "--output", "out", "--device", "cpu"]) == 0
    said = capsys.readouterr().err
    assert "powers: claims: 1 reproduced, 1 does-not-carry-over; our own questions: 1 yes, 1 no in" in said
    document = read(json.loads(Path("out/evidence/powers.json").read_text()), "here")
    claims = document["data"]["claims"]
    assert [c["verdict"] for c in claims] == ["reproduced", "does-not-carry-over", "no", "yes"]
    assert [c.get("expected") for c in claims] == [None, "does-not-carry-over", "no", None]
    assert claims[1]["differs"] == "powers of three in the paper"


@pytest.mark.parametrize("verdict", ["reproduced", "inconclusive"])
def test_elsewhere_changes_only_a_failure(verdict: str) -> None:
    claim = {"claim": "c", "verdict": verdict, "paper": "p", "measured": "m"}
    assert validation.elsewhere(claim, "d") == {**claim, "differs": "d"}


def test_bad_input_of_one_script_does_not_stop_the_others(scripts: Path, capsys: Output) -> None:
    (scripts / "another.py").write_text(
        SCRIPT.replace(
            "context.progress(0.5)", "from dpfl_theory.errors import InputError; raise InputError('no data')"
        )
    )
    assert main(["validate", "--folder", "validations", "--output", "out", "--device", "cpu", "--jobs", "1"]) == 2
    assert "another failed: no data" in capsys.readouterr().err
    assert files(Path("out")) == LEFT


@pytest.fixture
def data_script(scripts: Path) -> Path:
    """A second script, which takes a data file."""
    text = SCRIPT.replace('TITLE = "Powers"', 'from pathlib import Path\n\nTITLE = "Powers"\nDATA = "a text file"')
    path = scripts / "own.py"
    path.write_text(
        text.replace('{"count": count}', '{"count": count, "read": context.data and Path(context.data).read_text()}')
    )
    without_figures(path)
    return path


def test_a_script_is_given_the_data_file(data_script: Path, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    own = tmp_path / "far" / "my data.txt"
    own.write_text("1 2 3")
    assert (
        main(["validate", "--folder", "validations", "own", "--data", str(own), "--output", "out", "--device", "cpu"])
        == 0
    )
    text = Path("out/evidence/own.json").read_text()
    document = json.loads(text)
    assert document["command"] == "dpfl-theory validate own --data 'my data.txt' --seed 0"
    assert document["data"]["configuration"] == {
        "count": 3,
        "read": "1 2 3",
        "data file": {
            "name": "my data.txt",
            "sha256": "7c8f5059290305cec8323d79521f0353c9ac308b60cb4c1976340d0ce4a121d5",
        },
    }
    assert str(tmp_path) not in text, "the folder says where, not what"


def test_without_a_data_file_nothing_is_recorded(data_script: Path) -> None:
    assert main(["validate", "--folder", "validations", "own", "--output", "out", "--device", "cpu"]) == 0
    document = json.loads(Path("out/evidence/own.json").read_text())
    assert document["command"] == "dpfl-theory validate own --seed 0"
    assert document["data"]["configuration"] == {"count": 3, "read": None}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["own", "--data", "nowhere.txt"], "data file 'nowhere.txt' does not exist: give a text file"),
        (["own", "powers", "--data", "here.txt"], "validation 'powers' takes no data file"),
        (["--data", "here.txt"], "name one that takes a file (own)"),
    ],
)
def test_a_data_file_that_cannot_be_used_is_bad_input(
    data_script: Path, tmp_path: Path, capsys: Output, arguments: list[str], error: str
) -> None:
    (tmp_path / "here.txt").write_text("1")
    assert main(["validate", "--folder", "validations", *arguments, "--output", "out", "--device", "cpu"]) == 2
    assert error in capsys.readouterr().err
    assert not Path("out").exists()


def test_a_script_may_define_dataclasses(scripts: Path) -> None:
    change(
        scripts,
        'TITLE = "Powers"',
        "@dataclass\nclass Power:\n    base: int = 2\n\nTITLE = f'Powers of {Power().base}'",
    )
    path = scripts / "powers.py"
    path.write_text("from __future__ import annotations\nfrom dataclasses import dataclass\n" + path.read_text())
    assert load(path).title == "Powers of 2"


def test_helpers_are_no_scripts(scripts: Path) -> None:
    assert list(available(scripts)) == ["powers"]


def test_without_a_folder_of_scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    elsewhere = tmp_path / "site-packages" / "dpfl_theory" / "validation" / "script.py"
    monkeypatch.setattr(script_module, "__file__", str(elsewhere))
    with pytest.raises(InputError, match="this installation has no validation scripts"):
        available()


def test_scripts_of_the_current_directory_are_not_run_unasked(scripts: Path, capsys: Output) -> None:
    (scripts / "powers.py").write_text("raise SystemExit('a stranger ran')")
    assert main(["validate", "powers", "--output", "out"]) == 2
    assert "unknown validation 'powers'" in capsys.readouterr().err
    assert "powers" not in available()


def test_a_script_says_how_it_imports_what_lies_beside_it(scripts: Path, capsys: Output) -> None:
    change(scripts, "from . import _helper", "import _helper")
    assert main(["validate", "--folder", "validations", "--output", "out"]) == 2
    assert "write `from . import _helper`" in capsys.readouterr().err


def test_scripts_of_subfolders_are_found_and_import_from_the_folder_above(scripts: Path) -> None:
    (scripts / "paper").mkdir()
    (scripts / "powers.py").rename(scripts / "paper" / "powers.py")
    text = (scripts / "paper" / "powers.py").read_text()
    (scripts / "paper" / "powers.py").write_text(text.replace("from . import", "from .. import"))
    assert available(scripts) == {"powers": scripts / "paper" / "powers.py"}
    assert main(["validate", "--folder", "validations", "--output", "out", "--device", "cpu"]) == 0
    assert files(Path("out")) == LEFT


def test_two_scripts_of_one_name_are_refused(scripts: Path, capsys: Output) -> None:
    (scripts / "paper").mkdir()
    (scripts / "paper" / "powers.py").write_text(SCRIPT)
    assert main(["validate", "--folder", "validations", "--output", "out"]) == 2
    assert "are both called 'powers': rename one" in capsys.readouterr().err


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: Output) -> None:
    assert main(["validate", "--folder", str(tmp_path / "none"), "--output", str(tmp_path / "out")]) == 2
    assert "does not exist: give a folder with validation scripts" in capsys.readouterr().err


def test_every_folder_of_scripts_is_a_package_which_the_wheel_carries() -> None:
    own = script_module.folder()
    folders = {path.parent for path in own.rglob("*.py")}
    assert len(folders) > 5
    assert all((folder / "__init__.py").is_file() for folder in folders)
    assert set(find_packages(str(own))) == {folder.name for folder in folders - {own}}


def test_plain_refuses_what_json_has_no_place_for() -> None:
    with pytest.raises(TypeError, match=r"data\['a'\]\[1\] is a object"):
        to_json({"a": [1, object()]})


def test_progress_of_parts() -> None:
    lines: list[float] = []
    context = Context(progress=lines.append)
    context.part(1, of=4)(0.5)
    assert lines == [0.375]


def test_the_style_leaves_matplotlib_as_it_was() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    figure, axes = style.figure()
    axes.plot([1, 2], color=style.CLIP)
    files = style.render(figure)
    assert set(files) == {"png", "svg"}
    assert dict(matplotlib.rcParams) == before
    assert b"<dc:date>" not in files["svg"]


def test_a_figure_is_rendered_as_matplotlib_saves_it_and_left_as_it_was() -> None:
    """Byte for byte, in fewer passes."""

    def drawn() -> Any:
        figure, axes = style.figure(1, 2)
        for ax in axes:
            ax.plot([1.0, 300.0], [2e-3, 0.7], color=style.CLIP, label="$L_f$")
            ax.set_xlabel("rounds")
            ax.set_title("a title that the layout makes room for")
            ax.legend()
        return figure

    figure, other = drawn(), drawn()
    before = figure.dpi, figure.get_facecolor(), figure.canvas, figure.get_layout_engine()
    files = style.render(figure)
    assert (figure.dpi, figure.get_facecolor(), figure.canvas, figure.get_layout_engine()) == before
    for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
        with style.figure_style(), io.BytesIO() as saved:
            other.savefig(saved, format=kind, metadata=metadata)
            assert files[kind] == saved.getvalue()
            other.set_layout_engine("none")


def test_the_colours_of_the_methods_can_be_told_apart() -> None:
    """In print too, the luminances of clip and normalise differ, and nothing else has their colours."""
    from matplotlib.colors import to_rgb

    def luminance(colour: str) -> float:
        r, g, b = to_rgb(colour)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    assert abs(luminance(style.CLIP) - luminance(style.NORMALISE)) > 0.05
    assert len(set(style.PALETTE)) == len(style.PALETTE)


SCRIPTS = available(Path(__file__).parents[1] / "validations")


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_of_the_package_can_be_loaded(name: str) -> None:
    script = load(SCRIPTS[name])
    assert script.title
    assert len(script.caption) > 40
    assert {"paper", "where"} <= set(script.source)
    assert 0 < script.budget["full"] <= 120
    assert script.budget["full"] <= script.budget["paper"]
    assert script.shares is None or len(script.shares) > 10


def test_context_is_frozen() -> None:
    context: Any = Context()
    with pytest.raises(AttributeError):
        context.seed = 1
