"""The CUDA kernels without a GPU: compiled for the CPU they give the CPU engine's numbers, and NVRTC accepts them."""

from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernels.cuda_on_cpu import Emulated, compiled, compiler
from kernels.test_philox import VECTORS
from oracles.compare import CPU

from dpfl_theory.kernels.cuda import SOURCE
from dpfl_theory.kernels.engine import Replicates

needs_compiler = pytest.mark.skipif(compiler() is None, reason="there is no C++ compiler")
BLOCK = 8
PLACES = [
    (Replicates(0, 0, 3), 0, 0, 0),
    (Replicates(2**64 - 1, 2**32 - 5, 5), 2**32 - 1, 3, 2**32 - 1),
    (Replicates(7, 5, 4), 9, 1, 2),
]


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    return compiled(tmp_path_factory.mktemp("cuda"))


def address(replicates: Replicates, round_: int, stream: int, step: int) -> tuple[int, ...]:
    return (replicates.seed & 0xFFFFFFFF, replicates.seed >> 32, replicates.first, round_, step, stream)


def noise_agrees(kernels: Emulated) -> bool:
    for replicates, round_, stream, step in PLACES:
        at = address(replicates, round_, stream, step)
        if not np.array_equal(
            kernels.uniform(at, replicates.count, 5, BLOCK), CPU.uniform(replicates, round_, 5, stream, step)
        ):
            return False
        for d in (1, 2, 7):
            expected = CPU.normal(replicates, round_, 5, d, stream, step)
            if not np.allclose(kernels.normal(at, replicates.count, 5, d, BLOCK), expected, rtol=0.0, atol=1e-12):
                return False
    return True


def combine(kernels: Emulated, normalise: bool, seed: int = 0) -> list[tuple[Any, Any]]:
    """Sums and norms of random updates with one of length 0 and one at its threshold, compared with the CPU
    engine's."""
    rng = np.random.default_rng(seed)
    updates = rng.normal(size=(4, 3, 11)) * 10.0 ** rng.integers(-2, 3, size=(4, 3, 1))
    updates[1, 0] = 0.0
    weights = rng.random((3, 4)) * (rng.random((3, 4)) < 0.7)
    threshold = np.array([0.5, 2.0, float(np.linalg.norm(updates[2, 2]))])
    found = kernels.bounded_combine(updates, weights, threshold, normalise, BLOCK)
    return list(zip(found, CPU.bounded_combine(updates, weights, threshold, normalise)))


def bounding_agrees(kernels: Emulated) -> bool:
    pairs = [pair for normalise in (False, True) for pair in combine(kernels, normalise)]
    return all(np.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in pairs)


@needs_compiler
@pytest.mark.parametrize("name", VECTORS)
def test_known_answers(emulated: Emulated, name: str) -> None:
    counter, key, expected = VECTORS[name]
    assert emulated.philox(counter, key) == expected


@needs_compiler
def test_the_noise_is_that_of_the_cpu(emulated: Emulated) -> None:
    assert noise_agrees(emulated)


@needs_compiler
def test_the_bounded_sum_is_that_of_the_cpu(emulated: Emulated) -> None:
    assert bounding_agrees(emulated)


FAULTS = {
    "the halves of a pair exchanged": ("*u = unit(word[0], word[1])", "*u = unit(word[1], word[0])"),
    "replicates and clients exchanged": (
        "u32 s = job / clients, i = job % clients",
        "u32 s = job % replicates, i = job / replicates",
    ),
    "one round less": ("r < 10", "r < 9"),
    "clients share their noise": (
        "first_replicate + s, i, step, stream, round_, b,",
        "first_replicate + s, 0, step, stream, round_, b,",
    ),
    "variance 1/2": ("sqrt(-2.0 * log(u))", "sqrt(-log(u))"),
    "no barrier's worth of the sum": ("half = blockDim.x / 2", "half = blockDim.x / 4"),
    "clipped below the threshold": ("norm > threshold[s] ||", "norm < threshold[s] ||"),
    "the norm of another client": ("norms[(u64)s * n + i]", "norms[(u64)s * n]"),
    "no weights": ("double factor = weights[(u64)s * n + i]", "double factor = 1.0"),
}


@pytest.mark.exhaustive
@needs_compiler
@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_noticed(tmp_path: Path, name: str) -> None:
    faulty = compiled(tmp_path, FAULTS[name])
    assert not (noise_agrees(faulty) and bounding_agrees(faulty))


def _nvrtc() -> Path | None:
    spec = importlib.util.find_spec("nvidia")
    places = [Path(p) for p in spec.submodule_search_locations or ()] if spec is not None else []
    found = sorted(f for p in places for f in p.glob("*/lib/libnvrtc.so.*") if "alt" not in f.name)
    return found[-1] if found else None


@pytest.mark.skipif(_nvrtc() is None, reason="NVRTC is not installed (pip install nvidia-cuda-nvrtc)")
@pytest.mark.parametrize("architecture", ["compute_80", "compute_90"])
def test_nvrtc_accepts_the_source(architecture: str) -> None:
    nvrtc = ctypes.CDLL(str(_nvrtc()))
    program = ctypes.c_void_p()
    text = SOURCE.read_text(encoding="utf-8").encode()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"cuda_kernels.cu", 0, None, None) == 0
    options = (ctypes.c_char_p * 2)(f"--gpu-architecture={architecture}".encode(), b"--std=c++17")
    status = nvrtc.nvrtcCompileProgram(program, 2, options)
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    assert status == 0, log.value.decode()
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    for kernel in (b"fill_uniform", b"fill_normal", b"bounded_combine"):
        assert b".entry " + kernel in ptx.value
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
