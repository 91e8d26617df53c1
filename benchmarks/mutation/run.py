"""The mutants of one module against its tests: one fork for each mutant, in a process that has collected the tests."""

from __future__ import annotations

import ast
import contextlib
import gc
import hashlib
import importlib
import io
import json
import os
import pickle
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.mutation.mutants import Mutant, mutants
from benchmarks.mutation.plant import plant
from benchmarks.mutation.targets import BUDGET, SECONDS, TARGETS

__all__ = ["ALIVE", "STATE", "dead", "digest", "equivalent", "run", "source_of"]

STATE = Path("build/mutation")
"""Where the outcome of each mutant is kept, so that an interrupted run continues where it ended."""

_HEAVY = """numpy scipy.stats scipy.optimize scipy.interpolate scipy.signal scipy.fft scipy.special scipy.linalg mpmath
    sympy dp_accounting dp_accounting.rdp dp_accounting.pld.privacy_loss_distribution cvxpy clarabel PEPit numba"""
"""Packages that are imported once, before the forks."""

EQUIVALENT = Path(__file__).parent / "equivalent.json"
"""For each module, mutants that cannot make a result wrong: function, line before, lines after, and the reason."""

ALIVE = ("survived", "not executed", "equivalent")
"""Outcomes of mutants that no test kills; known equivalents run only where all do."""

_MEMORY = 6 << 30


@dataclass(frozen=True)
class Tested:
    """A test that passes: its number, its CPU seconds and the lines of the module that it executes."""

    index: int
    seconds: float
    lines: frozenset[int]


def source_of(module: str) -> Path:
    """The file of a module."""
    return Path(module.replace(".", "/") + ".py")


def equivalent(module: str) -> dict[tuple[str, str, str], str]:
    """The reason for each mutant of a module that is known to be equivalent."""
    entries = json.loads(EQUIVALENT.read_text()).get(module, []) if EQUIVALENT.exists() else []
    return {(e["function"], e["before"], after): e["reason"] for e in entries for after in e["after"]}


def dead(known: Iterable[tuple[str, str, str]], every: Iterable[Mutant]) -> list[tuple[str, str, str]]:
    """Known equivalents that are no mutant of the module any more."""
    keys = {mutant.key for mutant in every}
    return [key for key in known if key not in keys]


def digest(source: str) -> str:
    """A digest that distinguishes versions of a module."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def run(module: str, fresh: bool) -> None:
    """Run a module's mutants and write their outcomes to `STATE`."""
    os.environ["HYPOTHESIS_PROFILE"] = "mutation"
    from hypothesis import Phase, settings

    phases = (Phase.explicit, Phase.generate)  # a counterexample is enough, however large
    settings.register_profile(
        "mutation", derandomize=True, deadline=None, database=None, max_examples=30, phases=phases
    )
    tests = [t for t in TARGETS[module] if Path(t.partition("::")[0]).exists()]
    plugin = _Runner(module, fresh)
    options = ["-q", "-s", "--exhaustive", "--assert=plain", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"]
    code = pytest.main([*options, *dict.fromkeys(t.partition("::")[0] for t in tests)], plugins=[plugin])
    if plugin.error is not None:
        raise plugin.error
    if not plugin.done:
        raise RuntimeError(f"the tests of {module} were not collected: pytest ended with {code}")


class _Runner:
    """Takes the place of pytest's loop over tests."""

    def __init__(self, module: str, fresh: bool) -> None:
        self.module, self.file = module, source_of(module)
        self.fresh, self.done, self.failed = fresh, False, False
        self.error: Exception | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        try:
            chosen = tuple(f"{t}{end}" for t in TARGETS[self.module] for end in ("::", "["))
            whole = TARGETS[self.module]
            self._all([i for i in session.items if i.nodeid.startswith(chosen) or i.nodeid in whole])
            self.done = True
        except Exception as error:
            self.error = error
        return True

    def _all(self, items: Sequence[pytest.Item]) -> None:
        for name in _HEAVY.split():
            importlib.import_module(name)
        importlib.import_module(self.module)
        from dpfl_theory.core import methods

        methods.known()
        source = self.file.read_text()
        every, known = mutants(source), equivalent(self.module)
        if gone := dead(known, every):
            lines = "\n".join(f"{function}\n  - {before}\n  + {after}" for function, before, after in gone)
            raise RuntimeError(f"{EQUIVALENT.name} has entries that are no longer mutants of {self.module}:\n{lines}")
        state = _State(self.module, source, self.fresh)
        tests = self._traced(items)
        gc.collect()
        gc.freeze()
        control = self._outcome(items, tests, source)
        if control != "survived":
            raise RuntimeError(f"{self.module} itself, put in its own place, does not pass its tests: {control}")
        statements = _statements(ast.parse(source))
        started, ran = time.time(), 0
        for mutant in every:
            if state.killed(mutant):
                continue
            if mutant.key in known and not self.fresh:
                state.found(mutant, "equivalent")
                continue
            near = next(((a, b) for a, b in statements if a <= mutant.line <= b), None)
            chosen = [t for t in tests if near is None or any(near[0] <= line <= near[1] for line in t.lines)]
            chosen = _first(chosen)
            state.found(mutant, self._outcome(items, chosen, mutant.source) if chosen else "not executed")
            ran += 1
            if ran % 25 == 0:
                print(f"{self.module}: {ran} run, {time.time() - started:.0f} s", flush=True)
        state.end(every)
        counts = state.counts(every)
        print(
            f"{self.module}: {len(every)} mutants, {counts}, {len(tests)} tests, {time.time() - started:.0f} s",
            flush=True,
        )

    def _traced(self, items: Sequence[pytest.Item]) -> list[Tested]:
        """The lines of the module that each test executes, if any, the fastest first. For lines that run only on
        import all tests count."""
        found: list[Tested] = []
        file, start = str(self.file.resolve()), 0

        def some(tell: Callable[[Any], None]) -> None:
            before = set(sys.modules)
            for index in range(start, len(items)):
                lines: set[int] = set()

                def local(frame: Any, event: str, arg: Any, lines: set[int] = lines) -> Any:
                    if event == "line":
                        lines.add(frame.f_lineno)
                    return local

                def trace(frame: Any, event: str, arg: Any, local: Any = local) -> Any:
                    return local if frame.f_code.co_filename == file else None

                self.failed, started = False, time.process_time()
                signal.setitimer(signal.ITIMER_PROF, 2 * SECONDS)  # which ends the process
                sys.settrace(trace)
                self._one(items[index])
                sys.settrace(None)
                signal.setitimer(signal.ITIMER_PROF, 0)
                tell((index, not self.failed, time.process_time() - started, lines, set(sys.modules) - before))

        while start < len(items):
            for index, passed, seconds, lines, modules in _streamed(some):
                start = index + 1
                _imported(modules)
                if passed:
                    found.append(Tested(index, seconds, frozenset(lines)))
                elif not passed:
                    print(f"left out: {items[index].nodeid} (fails)", flush=True)
            if start < len(items):
                print(f"left out: {items[start].nodeid} (too long)", flush=True)
                start += 1
        return sorted(found, key=lambda t: t.seconds)

    def _one(self, item: pytest.Item) -> None:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)

    def _outcome(self, items: Sequence[pytest.Item], tests: Sequence[Tested], source: str) -> str:
        def call() -> str:
            try:
                plant(self.module, source)
            except Exception as error:
                return f"import: {type(error).__name__}"
            for test in tests:
                signal.setitimer(signal.ITIMER_PROF, 1.0 + 4.0 * test.seconds)  # which ends the process
                self._one(items[test.index])
                signal.setitimer(signal.ITIMER_PROF, 0)
                if self.failed:
                    return items[test.index].nodeid
            return "survived"

        status, answer = _forked(call, 5.0 + 3.0 * sum(t.seconds for t in tests))
        return str(answer) if status == "ended" else status


def _imported(names: set[str]) -> None:
    """Import the modules that a test has imported, so that the next copies of this process have them."""
    for name in sorted(names):
        if name.startswith(("dpfl_theory.", "scipy.", "numpy.", "sympy.", "cvxpy.", "PEPit", "dp_accounting")):
            with contextlib.suppress(Exception):
                importlib.import_module(name)


def _first(tests: Sequence[Tested]) -> list[Tested]:
    """The fastest tests, which together take no more than `BUDGET`."""
    total = 0.0
    kept: list[Tested] = []
    for test in tests:
        total += test.seconds
        if kept and total > BUDGET:
            break
        kept.append(test)
    return kept


def _forked(call: Callable[[], Any], seconds: float) -> tuple[str, Any]:
    """("ended", what the call returns), from a copy of this process with limits of CPU time and memory; else how it
    ended."""

    def limited(tell: Callable[[Any], None]) -> None:
        limit = int(seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        tell(call())

    lines = list(_streamed(limited, 30.0 * (seconds + 1.0)))
    return ("ended", lines[0]) if lines else ("limit", None)


def _streamed(call: Callable[[Callable[[Any], None]], None], wall: float = 3600.0) -> Iterator[Any]:
    """The messages of the call, from a copy of this process that ends with it, or after ``seconds`` seconds."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            os.setpgid(0, 0)
            os.close(reading)
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
            file = os.fdopen(writing, "wb")

            def tell(answer: Any) -> None:
                pickle.dump(answer, file)
                file.flush()

            call(tell)
        os._exit(0)
    os.close(writing)
    chunks, ends = [], time.monotonic() + wall
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while select.select([pipe], [], [], max(0.0, ends - time.monotonic()))[0] and (chunk := pipe.read(1 << 16)):
            chunks.append(chunk)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    data = io.BytesIO(b"".join(chunks))
    with contextlib.suppress(EOFError, pickle.UnpicklingError):
        while True:
            yield pickle.load(data)


def _statements(tree: ast.Module) -> list[tuple[int, int]]:
    """First and last lines of the statements of functions, the smallest first; of a compound one only its head."""
    found = []
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.stmt) and node is not function:
                    body = getattr(node, "body", None) or getattr(node, "cases", None)
                    inner = [n.lineno if isinstance(n, ast.stmt) else n.pattern.lineno for n in body or []]
                    last = max(node.lineno, min(inner) - 1) if inner else node.end_lineno or node.lineno
                    found.append((node.lineno, last))
                elif isinstance(node, ast.match_case):
                    found.append((node.pattern.lineno, node.pattern.end_lineno))
    return sorted(set(found), key=lambda r: r[1] - r[0])


class _State:
    """Outcomes of a module's mutants, kept in a file."""

    def __init__(self, module: str, source: str, fresh: bool) -> None:
        STATE.mkdir(parents=True, exist_ok=True)
        self.file = STATE / f"{module}.json"
        self.digest = digest(source)
        self.outcomes: dict[str, str] = {}
        if self.file.exists() and not fresh:
            known = json.loads(self.file.read_text())
            if known["source"] == self.digest:
                self.outcomes = known["outcomes"]

    def killed(self, mutant: Mutant) -> bool:
        return self.outcomes.get(_name(mutant), "survived") not in ALIVE

    def found(self, mutant: Mutant, outcome: str) -> None:
        self.outcomes[_name(mutant)] = outcome
        self._write(False)

    def end(self, every: Sequence[Mutant]) -> None:
        names = {_name(m) for m in every}
        self.outcomes = {k: v for k, v in self.outcomes.items() if k in names}
        self._write(True)

    def counts(self, every: Sequence[Mutant]) -> str:
        alive = sum(not self.killed(m) for m in every)
        return f"{len(every) - alive} killed, {alive} alive"

    def _write(self, whole: bool) -> None:
        text = json.dumps({"source": self.digest, "whole": whole, "outcomes": self.outcomes}, indent=0)
        before = self.file.with_suffix(".new")
        before.write_text(text)
        before.replace(self.file)


def _name(mutant: Mutant) -> str:
    return json.dumps([*mutant.key, *([mutant.twin] if mutant.twin else [])])
