"""The noise generator: counter-based standard normals, on one core, against generators that advance a state.

The package's normals are Philox4x32-10 and Box-Muller, a pure function of (seed, replicate, round, client, step,
stream, coordinate). NumPy's SFC64 with the ziggurat, and JAX's Threefry, give other numbers, so their moments are
compared; the vectorised forms of the package's own generator must give its numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import ENGINE, Array, Case, Contestant, load_jax
from dpfl_theory.kernels.engine import NOISE, Replicates


@dataclass(frozen=True)
class Size:
    """Clients, replicates, and coordinates of the long and the short vectors."""

    clients: int = 20
    replicates: int = 64
    long: int = 410
    short: int = 2


SIZES = {"full": Size(), "quick": Size(), "tiny": Size(5, 8, 300, 250)}  # moments need some thousand numbers
MASK, SHIFT = 0xFFFFFFFF, 32


def build(size: str, jax: bool) -> list[Case]:
    """Two tables: long vectors, as a model's, and short ones, where computing an address's key takes a large share."""
    s = SIZES[size]
    return [_case(s, s.long, "long vectors", jax), _case(s, s.short, "short vectors", jax)]


def _case(s: Size, d: int, title: str, jax: bool) -> Case:
    shape, count = (s.clients, s.replicates, d), s.clients * s.replicates * d
    rng = np.random.Generator(np.random.SFC64(0))

    def package(rounds: int, _: bool) -> Array:
        for k in range(rounds):
            out = ENGINE.normal(Replicates(7, 0, s.replicates), k, s.clients, d, NOISE)
        return np.asarray(out).reshape(1, -1)

    def sfc64(rounds: int, _: bool) -> Array:
        for _k in range(rounds):
            out = rng.standard_normal(shape)
        return out.reshape(1, -1)

    def vectorised(rounds: int, _: bool) -> Array:
        for k in range(rounds):
            out = normals(np, shape, k)
        return np.asarray(out).reshape(1, -1)

    contestants = [
        Contestant("dpfl_theory", package),
        Contestant("NumPy, SFC64", sfc64, normals=True),
        Contestant("NumPy, the same numbers", vectorised),
    ]
    if jax:
        lib = load_jax()

        def each(function: Any) -> Any:
            def run(rounds: int, _: bool) -> Array:
                for k in range(rounds):
                    out = function(k).block_until_ready()
                return np.asarray(out).reshape(1, -1)

            return run

        same = lib.jit(lambda k: normals(lib.numpy, shape, k))
        contestants.append(Contestant("JAX, the same numbers", each(same)))
        for kind, name in (("threefry2x32", "Threefry"), ("rbg", "RngBitGenerator")):
            draw = lib.jit(partial(_draw, lib, shape, kind))
            contestants.append(Contestant(f"JAX, {name}", each(draw), normals=True))
    return Case(
        f"Noise generator, {title}",
        f"standard normals for {s.clients} clients, {s.replicates} replicates and d = {d}; one core",
        np.zeros((1, count)),
        20,
        contestants,
        unit="normal",
        per=count,
        threads=(1,),
        checkpoints=(2,),
    )


def _draw(lib: Any, shape: tuple[int, ...], kind: str, k: Any) -> Any:
    return lib.random.normal(lib.random.fold_in(lib.random.key(0, impl=kind), k), shape)


def normals(xp: Any, shape: tuple[int, int, int], round_: Any) -> Any:
    """The package's normals (clients, replicates, d) of one round with seed 7 and stream NOISE, d even, by array
    operations on 64-bit words."""
    clients, replicates, d = shape
    word = xp.uint64
    replicate, client = xp.arange(replicates, dtype=word)[None, :, None], xp.arange(clients, dtype=word)[:, None, None]
    zero = xp.zeros((1, 1, 1), dtype=word)
    w = _philox(word, (replicate + zero, client + zero, zero, zero + word(NOISE)), (zero + word(7), zero))
    block = xp.arange(d // 2, dtype=word)[None, None, :]
    w = _philox(word, (block, zero + xp.asarray(round_, dtype=word), w[2], w[3]), (w[0], w[1]))
    u, v = (
        ((((high << word(SHIFT)) | low) >> word(11)).astype(xp.float64) + 0.5) * 2.0**-53
        for high, low in ((w[0], w[1]), (w[2], w[3]))
    )
    radius, angle = xp.sqrt(-2.0 * xp.log(u)), 2.0 * np.pi * v
    return xp.stack([radius * xp.cos(angle), radius * xp.sin(angle)], axis=-1).reshape(shape)


def _philox(word: Any, counter: tuple[Any, ...], key: tuple[Any, Any]) -> tuple[Any, ...]:
    """Philox4x32-10 on arrays of 64-bit words."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    mask, shift = word(MASK), word(SHIFT)
    for _ in range(10):
        p0, p1 = word(0xD2511F53) * c0, word(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (p1 >> shift) ^ c1 ^ k0, p1 & mask, (p0 >> shift) ^ c3 ^ k1, p0 & mask
        k0, k1 = (k0 + word(0x9E3779B9)) & mask, (k1 + word(0xBB67AE85)) & mask
    return c0, c1, c2, c3
