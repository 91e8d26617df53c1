"""All mutants of one module: cosmic-ray's operators, and four of the same kind that it lacks."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator

__all__ = ["Mutant", "mutants"]

_SWAPS = (
    "Add_Sub Sub_Add Mul_Div Div_Mul FloorDiv_Mul Mod_Mul Pow_Mul BitOr_BitAnd BitAnd_BitOr LShift_RShift RShift_LShift"
)
_COMPARISONS = "Eq_NotEq NotEq_Eq Lt_LtE Lt_GtE LtE_Lt LtE_Gt Gt_GtE Gt_LtE GtE_Gt GtE_Lt Is_IsNot IsNot_Is"
_OTHERS = """ReplaceUnaryOperator_Delete_USub ReplaceUnaryOperator_Delete_Not ReplaceUnaryOperator_Delete_Invert AddNot
    ReplaceTrueWithFalse ReplaceFalseWithTrue ReplaceAndWithOr ReplaceOrWithAnd ReplaceBreakWithContinue
    ReplaceContinueWithBreak ExceptionReplacer NumberReplacer ZeroIterationForLoop"""
"""Of cosmic-ray's operators those that are left out replace an operator by one of another kind (+ by <<), which nearly
every test notices, remove a decorator, or need names."""


_STARRED = ("parameters", "param", "argument", "arglist", "star_expr")
"""Where a star is no product."""


class _Exchange(Operator):  # type: ignore[misc]
    """A leaf of the syntax tree with one text becomes one with another."""

    texts: ClassVar[Mapping[str, str]] = {}

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        if getattr(node, "value", None) in self.texts:
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        node.value = self.texts[node.value]
        return node

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return ()


class Opposite(_Exchange):
    """A function becomes its opposite."""

    texts: ClassVar[Mapping[str, str]] = {
        **{"max": "min", "min": "max", "ceil": "floor", "floor": "ceil", "any": "all", "all": "any"},
        **{"maximum": "minimum", "minimum": "maximum", "argmin": "argmax", "argmax": "argmin"},
        **{"cdf": "sf", "sf": "cdf", "log1p": "log", "expm1": "exp"},
    }


class Verdict(_Exchange):
    """A verdict becomes another."""

    texts: ClassVar[Mapping[str, str]] = {
        '"holds"': '"violated"',
        '"violated"': '"holds"',
        '"inconclusive"': '"holds"',
        '"differs"': '"undecided"',
    }


class Choice(_Exchange):
    """A setting of a mechanism becomes another."""

    texts: ClassVar[Mapping[str, str]] = {
        **{'"zero-out"': '"replace"', '"replace"': '"zero-out"', '"server"': '"third-party"'},
        **{'"third-party"': '"server"', '"per-client"': '"average"', '"average"': '"per-client"'},
        **{'"full"': '"poisson"', '"poisson"': '"fixed"', '"fixed"': '"poisson"', '"with-replacement"': '"fixed"'},
        **{'"low"': '"high"', '"high"': '"low"'},
    }


class Membership(_Exchange):
    """``in`` becomes ``not in``."""

    texts: ClassVar[Mapping[str, str]] = {"in": "not in"}

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        if node.type == "keyword" and node.parent is not None and node.parent.type == "comparison":
            yield from super().mutation_positions(node)


@dataclass(frozen=True)
class Mutant:
    """A changed module, and the change: its function, its line before and after."""

    operator: str
    function: str
    line: int
    before: str
    after: str
    source: str
    twin: int = 0
    """How many mutants before it, of other lines of the function, look the same."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies the change when lines move."""
        return self.function, self.before, self.after


def _operators() -> list[tuple[str, Operator]]:
    names = [f"ReplaceBinaryOperator_{s}" for s in _SWAPS.split()]
    names += [f"ReplaceComparisonOperator_{s}" for s in _COMPARISONS.split()] + _OTHERS.split()
    found = [(name, get_operator(f"core/{name}")()) for name in names]
    return found + [(kind.__name__, kind()) for kind in (Opposite, Verdict, Choice, Membership)]


def mutants(source: str) -> list[Mutant]:
    """All mutants of a module that compile, each text once. Annotations, decorators, `__all__`, what is for type
    checkers alone and how a module is started are left as they are."""
    lines = source.split("\n")
    tree = ast.parse(source)
    quiet, functions = _quiet(tree), _functions(tree)
    found: dict[str, Mutant] = {}
    for statement in tree.body:
        if _skipped(statement):
            continue
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])
        chunk = "\n".join(lines[first - 1 : statement.end_lineno]) + "\n"
        parsed = get_ast(chunk)
        nodes = list(ast_nodes(parsed))
        for name, operator in _operators():
            places = [(node, place) for node in nodes for place in operator.mutation_positions(node)]
            for k, (node, (start, _)) in enumerate(places):
                if node.type == "operator" and node.parent.type in _STARRED:
                    continue
                at = (start[0] + first - 1, start[1])
                if any(a <= at < b for a, b in quiet):
                    continue
                changed = mutate_code(chunk, operator, k)
                if changed is None:
                    continue
                whole = "\n".join([*lines[: first - 1], changed.rstrip("\n"), *lines[statement.end_lineno :]])
                meaning = _meaning(changed)
                if whole in found or meaning in (None, _meaning(chunk)):
                    continue
                now = changed.split("\n")
                index = next((i for i, (a, b) in enumerate(zip(chunk.split("\n"), now)) if a != b), 0)
                found[whole] = Mutant(
                    name,
                    next((f for a, b, f in functions if a <= at[0] <= b), "<module>"),
                    at[0],
                    lines[first - 1 + index].strip(),
                    now[index].strip(),
                    whole,
                )
    seen: Counter[tuple[str, str, str]] = Counter()
    numbered = []
    for mutant in sorted(found.values(), key=lambda m: m.line):
        numbered.append(replace(mutant, twin=seen[mutant.key]))
        seen[mutant.key] += 1
    return numbered


def _meaning(chunk: str) -> str | None:
    """The syntax tree as text; None where it is no syntax."""
    try:
        compile(chunk, "<mutant>", "exec")
        return ast.dump(ast.parse(chunk))
    except (SyntaxError, ValueError):
        return None


def _skipped(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return True
    if isinstance(statement, ast.If) and ast.unparse(statement.test) in ("TYPE_CHECKING", "__name__ == '__main__'"):
        return True
    return isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__"


def _quiet(tree: ast.Module) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where nothing is changed: annotations, decorators, docstrings."""
    found: list[ast.expr | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) or (isinstance(node, ast.arg) and node.annotation is not None):
            found.append(node.annotation)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found += node.decorator_list
            if isinstance(node, ast.FunctionDef):
                found.append(node.returns)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "Array":
            found.append(node.value)
    return [((n.lineno, n.col_offset), (n.end_lineno or 0, n.end_col_offset or 0)) for n in found if n is not None]


def _functions(tree: ast.Module) -> list[tuple[int, int, str]]:
    """(first line, last line, qualified name) of all functions and classes, inner ones first."""
    found: list[tuple[int, int, str]] = []

    def visit(node: ast.AST, path: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                name = f"{path}.{child.name}" if path else child.name
                visit(child, name)
                found.append((child.lineno, child.end_lineno or 0, name))
            else:
                visit(child, path)

    visit(tree, "")
    return found
