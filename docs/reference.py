"""The reference of the Python interface, which pdoc makes of docstrings and types."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docs.inserts import TEMPLATES
from dpfl_theory.errors import EnvironmentFault

__all__ = ["build", "modules", "text_of"]

ROOT = Path(__file__).parents[1]
INNER = re.compile(r"dpfl_theory\.(cli|kernels|templates|report|statements\.[a-z]+\d{4})\b")
"""Commands, kernels, what ``new`` writes, the pages and the papers' statements are no interface."""
_BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def modules() -> list[str]:
    """The packages that say what is public, and the modules that examples, templates and documentation import.

    >>> "dpfl_theory.statements.model" in modules(), "dpfl_theory.cli" in modules()
    (True, False)
    """
    package = ROOT / "dpfl_theory"
    found = {
        ".".join(file.parent.relative_to(ROOT).parts)
        for file in package.rglob("__init__.py")
        if "__all__ = [" in file.read_text(encoding="utf-8") and "_" not in {part[0] for part in file.parent.parts[-2:]}
    }
    for file in [*(ROOT / "examples").glob("*.py"), package / "templates" / "statement.py"]:
        found |= _imported(file.read_text(encoding="utf-8"))
    for text in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs" / "text").rglob("*.md")]:
        for block in _BLOCK.findall(text.read_text(encoding="utf-8")):
            found |= _imported(block)
    return sorted(name for name in found if not INNER.match(name))


def _imported(text: str) -> set[str]:
    """The package's modules that Python imports."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
        found |= {name for name in names if name.split(".")[0] == "dpfl_theory"}
    return found


def text_of(docstring: str) -> str:
    """A docstring as HTML: examples in a block of their own, formulas as they are typed.

    >>> text_of("A ``b`` of x*y*z.")
    '<p>A <code>b</code> of x*y*z.</p>\\n'
    >>> text_of(">>> 1 + 1\\n2")
    '<pre><code class="language-python">&gt;&gt;&gt; 1 + 1\\n2\\n</code></pre>\\n'
    """
    from markdown_it import MarkdownIt

    fenced = re.sub(r"^>>> .*(?:\n.+)*", lambda found: f"```python\n{found[0]}\n```", docstring, flags=re.MULTILINE)
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["emphasis", "escape", "link", "image"])
    return str(parser.render(fenced))


def build(output: Path, names: Sequence[str] = ()) -> list[Path]:
    """Write the reference of the modules, or of all that are public.

    Raises EnvironmentFault where pdoc is not installed.
    """
    try:
        import pdoc
        import pdoc.render
    except ImportError as error:
        raise EnvironmentFault("the reference needs pdoc: pip install 'dpfl-theory[dev]'") from error
    render: Any = pdoc.render
    render.configure(docformat="markdown", show_source=False, template_directory=TEMPLATES / "pdoc")
    render.env.filters["to_html"] = lambda text: text_of(text)
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message=".*has already been added"
        )  # a package's public modules are in its page
        warnings.filterwarnings("ignore", message="Error parsing type annotation")  # of what only type checkers import
        pdoc.pdoc(*(names or modules()), output_directory=output)
    return sorted(output.rglob("*.html"))
