"""The documentation, the help of the commands and the texts of the package use the words of the glossary, in short
sentences."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from dpfl_theory.cli import application

ROOT = Path(__file__).parents[1]
GLOSSARY = (ROOT / "docs" / "concepts" / "glossary.md").read_text(encoding="utf-8")
WORDS = 25
"""The maximum number of words in a sentence; lists and tables may have more."""


@cache
def avoided() -> re.Pattern[str]:
    table = GLOSSARY.partition("## Words that the texts avoid")[2]
    rows = re.findall(r"^\| ([a-z ,]+) \| .* \|$", table, re.MULTILINE)[1:]  # without the table's heading
    words = [word.strip() for row in rows for word in row.split(",")]
    assert len(words) >= 18
    alternatives = "|".join(re.escape(word).replace("\\ ", r"\s+") for word in words)
    return re.compile(rf"\b(?:{alternatives})\b", re.IGNORECASE)


def pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def prose(text: str) -> str:
    """Markdown without code, and without the list of words itself."""
    text = text.partition("## Words that the texts avoid")[0]
    return re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", " ", text, flags=re.DOTALL)


def sentences(text: str) -> list[str]:
    """The sentences of paragraphs and items of lists; tables and headings are not sentences."""
    kept = "\n".join(line for line in text.splitlines() if not line.startswith(("|", "#", ">", "![")))
    parts = re.split(r"(?<=[.?!:;])\s+|\n\s*\n|\n\s*(?:[*-]|\d+\.)\s", kept)
    return [part.strip() for part in parts if part.strip()]


@pytest.mark.parametrize("page", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pages_avoid_the_words(page: Path) -> None:
    assert sorted(set(avoided().findall(prose(page.read_text(encoding="utf-8"))))) == []


@pytest.mark.parametrize("page", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_sentences_are_short(page: Path) -> None:
    long = [s for s in sentences(prose(page.read_text(encoding="utf-8"))) if len(re.findall(r"[\w'-]+", s)) > WORDS]
    assert long == []


def helps() -> dict[str, str]:
    found: dict[str, str] = {}

    def walk(name: str, command: object) -> None:
        found[name] = "\n".join(
            text
            for text in (
                getattr(command, "help", ""),
                *(getattr(p, "help", "") for p in getattr(command, "params", ())),
            )
            if text
        )
        for sub, inner in getattr(command, "commands", {}).items():
            walk(f"{name} {sub}".strip(), inner)

    walk("", application())
    return found


def test_help_avoids_the_words() -> None:
    assert {name: found for name, text in helps().items() if (found := sorted(set(avoided().findall(text))))} == {}


PACKAGE = ROOT / "dpfl_theory"
FOLDERS = ("", *sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py")))
"""The package's folders; the first one is its own without its subfolders."""
ALLOWED = {
    ("runtime/cache.py", "begin"): "SQL",
}
"""Files, words that are right in their texts, and why."""
CODE = re.compile(r"^\s*(?:>>>|\.\.\.) .*$|``.*?``|`[^`]*`|\bNone\b", re.MULTILINE)
"""Code within a text: examples, names in backquotes, and Python's None, which is not the word none."""
SEVERAL = re.compile(r"[\"']\s*\n\s*[rRfF]{0,2}[\"']|\n\s*#")
"""Where a text continues: from a string to the next one, and from a comment to the next line's."""
DOCSTRING = re.compile(r'^( *)[rR]?"""(.*?)"""|"""(?:.*?)"""', re.MULTILINE | re.DOTALL)
"""The margin and the text of a docstring; other strings in triple quotes are passed over."""
EXAMPLES = re.compile(r"\\b\n(?:.*\S.*\n)*|^ *(?:>>>|\.\.\.|\|).*$", re.MULTILINE)
"""Commands in the help of a command (behind a mark), Python, and tables."""
DISPLAY = r"(?:(?<=\n\n)|^{margin}\.\. math::.*\n)(?:{margin} {{4,}}\S.*(?:\n|\Z))+"
"""Formulas and code: lines indented by 4 or more after an empty line, and directives with their lines.

What follows `Args:`, `Returns:` or `Raises:` in the next line is text, and so is the next line of an entry of a list.
"""


def files(folder: str) -> list[Path]:
    place = PACKAGE / folder
    return sorted(place.rglob("*.py") if folder else place.glob("*.py"))


def texts(source: str) -> Iterator[tuple[int, str]]:
    """The line and the text of each string constant and comment; strings in a row are one text, and so are comments.

    The fields of formatted strings are code, and become {}; strings within the fields are texts.
    """
    strings: list[tokenize.TokenInfo] = []
    comments: list[tokenize.TokenInfo] = []
    lines = io.StringIO(source).readlines()
    depth = 0
    for token in tokenize.generate_tokens(iter(lines).__next__):
        name = tokenize.tok_name[token.type]
        depth += (name == "FSTRING_START") - (name == "FSTRING_END")
        if depth or name in ("STRING", "FSTRING_END"):
            strings.append(token)
        elif name == "COMMENT":
            comments.append(token)
        elif name != "NL":
            yield from _of_strings(strings, lines)
            if comments:
                yield comments[0].start[0], " ".join(comment.string.lstrip("# ") for comment in comments)
            strings, comments = [], []


def _of_strings(tokens: list[tokenize.TokenInfo], lines: list[str]) -> Iterator[tuple[int, str]]:
    if not tokens:
        return
    (first, start), (last, end) = tokens[0].start, tokens[-1].end
    rows = lines[first - 1 : last]
    rows[-1] = rows[-1][:end]
    rows[0] = rows[0][start:]
    tree = ast.parse(f"({''.join(rows)})", mode="eval").body
    if isinstance(tree, ast.JoinedStr):
        parts = tree.values
        yield first, "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
        inner = [node for part in parts if isinstance(part, ast.FormattedValue) for node in ast.walk(part.value)]
    else:
        inner = [tree]
    yield from ((first, node.value) for node in inner if isinstance(node, ast.Constant) and isinstance(node.value, str))


def words_in(source: str, name: str = "") -> list[str]:
    """The avoided words of a file's texts, each with its line."""
    if not avoided().search(SEVERAL.sub(" ", source).replace("None", "")):  # most files need not be read in parts
        return []
    found = []
    for line, text in texts(source):
        if text.isidentifier():  # a key, a value or a name
            continue
        words = avoided().findall(CODE.sub(" ", text))
        found += [f"{name}:{line}: {word}" for word in words if (name, word.lower()) not in ALLOWED]
    return found


def shown_by(template: str) -> str:
    """The texts of a template: between tags, in attributes that are read, and in strings of its code."""

    def strings(code: re.Match[str]) -> str:
        return " ".join(["", *(text for text in re.findall(r'"([^"]*)"', code[0]) if not text.isidentifier()), ""])

    def read(tag: re.Match[str]) -> str:
        return " ".join(["", *re.findall(r'(?:alt|aria-label|placeholder|title)="([^"]*)"', tag[0]), ""])

    text = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", strings, template, flags=re.DOTALL)
    return re.sub(r"</?\w[^<>]*>", read, text)


def _without_displays(docstring: str, margin: str) -> str:
    return re.sub(DISPLAY.format(margin=margin), "\n", docstring, flags=re.MULTILINE)


def long_sentences(source: str) -> list[str]:
    """The sentences of a file's docstrings that have too many words; single characters do not count."""
    return [
        sentence
        for margin, docstring in DOCSTRING.findall(source)
        for sentence in sentences(CODE.sub(" X ", EXAMPLES.sub("\n", _without_displays(docstring, margin))))
        if len(re.findall(r"[A-Za-z][\w'-]+", sentence)) > WORDS
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_strings_and_comments_avoid_the_words(folder: str) -> None:
    found = []
    for path in files(folder):
        found += words_in(path.read_text(encoding="utf-8"), path.relative_to(PACKAGE).as_posix())
    assert found == []


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.j2")), ids=lambda path: path.name)
def test_templates_avoid_the_words(path: Path) -> None:
    assert avoided().findall(shown_by(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("planted", ["<p>It is told.</p>", '<a title="It is told">x</a>', '{{ "it is told" if told }}'])
def test_a_planted_word_of_a_template_is_found(planted: str) -> None:
    assert avoided().findall(shown_by(f'{planted}<p class="letter">{{% if slip %}}sound{{% endif %}}</p>')) == ["told"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_sentences_of_docstrings_are_short(folder: str) -> None:
    assert [s for path in files(folder) for s in long_sentences(path.read_text(encoding="utf-8"))] == []


def test_the_allowed_words_occur() -> None:
    """An entry whose word is gone is removed."""
    for name, word in ALLOWED:
        assert any(word in text.lower() for _, text in texts((PACKAGE / name).read_text(encoding="utf-8"))), (
            name,
            word,
        )


PLANTED = {
    "docstring": '"""It is kept\n    beside the file."""\n',
    "comment": "x = 1  # nobody reads\n# so\n# many of them\n",
    "message": 'raise ValueError("so "\n    f"many {x} are begun")\n',
    "inner string": "f\"{x or 'it is told'}\"\n",
    "format": "f'it is {told!r}, told:>3{y:>{anew}}'\n",
    "raw": 'r"a slip"\n',
}
"""Faults by place, each with a word that is in the texts of this file and one that is only code or none."""


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("docstring", ["beside"]),
        ("comment", ["nobody", "so many"]),
        ("message", ["so many", "begun"]),
        ("inner string", ["told"]),
        ("format", ["told"]),
        ("raw", ["slip"]),
    ],
)
def test_a_planted_word_is_found(place: str, expected: list[str]) -> None:
    assert [found.rpartition(": ")[2].lower() for found in words_in(PLANTED[place])] == expected


def test_code_is_no_text() -> None:
    """Names, fields, examples and names in backquotes are code, and None is a value."""
    code = (
        'told = f"{told} {begin(letter)}"  # `told` is None\n\n\ndef f():\n    """>>> told(anew)\n\n    ``letter``"""\n'
    )
    assert avoided().search(code)
    assert words_in(code) == []


def test_a_planted_long_sentence_is_found() -> None:
    words = " ".join(["word"] * (WORDS + 1))
    assert long_sentences(f'def f():\n    """Short.\n\n    {words}.\n    """\n') == [f"{words}."]
    assert long_sentences(f'x = """\n"""\n\n\ndef f():\n    """{words}."""\n') == [f"{words}."]  # after another string
    assert long_sentences(f'def f():\n    """{words[5:]}.\n\n    >>> {words}\n    """\n') == []


@pytest.mark.parametrize("margin", ["", "    "])
def test_a_display_is_no_sentence(margin: str) -> None:
    """Formulas and code are left out; the text around them, indented sections and lists are not."""
    words, few = " ".join(["word"] * (WORDS + 1)), " ".join(["word"] * 20)
    display = f"{margin}    {words}\n{margin}        {words}\n"
    mark = '"""'

    def found(text: str) -> list[str]:
        return long_sentences(f"{margin}{mark}Short.\n\n{text}{margin}{mark}\n")

    assert found(f"{margin}It is:\n\n{display}\n{margin}{few}.\n") == []
    assert found(f"{margin}.. math::\n{display}\n{margin}.. math:: {words}\n{display}") == []
    assert found(f"{margin}It is:\n\n{display}{margin}{words}.\n") == [f"{words}."]
    assert found(f"{margin}It is:\n\n{display}\n{margin}{words}.\n") == [f"{words}."]
    assert found(f"{margin}Returns:\n{margin}    {words}.\n") == [f"{words}."]
    assert found(f"{margin}x: short;\n{margin}    {words}.\n") == [f"{words}."]
    assert found(f"{margin}1. Short.\n\n{margin}   {words}.\n") == [f"{words}."]
