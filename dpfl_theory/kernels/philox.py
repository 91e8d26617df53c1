"""Counter-based random numbers: Philox4x32-10, addressed instead of advanced.

Every number is a pure function of its address ``(seed, replicate, round, client, step, stream, index)``, so a run gives
the same noise for any batch of replicates, number of threads, worker or device. Two algorithms that use the same
addresses share their noise (common random numbers).

Addresses are mapped in two Philox calls. The first enciphers ``(replicate, client, step, stream)`` under the key
``seed``; because Philox is a bijection of its counter, different addresses get different 128-bit names. The
second uses two words of that name as key and the other two, with ``(block, round)``, as counter. Within one
seed no (key, counter) pair is ever used twice.

A block of four 32-bit words gives two 53-bit uniforms in (0, 1), or two normals by Box-Muller.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpfl_theory.kernels.compiled import kernel
from dpfl_theory.kernels.elementary import cosine_sine, kth_smallest, log

_M0 = np.uint64(0xD2511F53)
_M1 = np.uint64(0xCD9E8D57)
_W0 = np.uint64(0x9E3779B9)
_W1 = np.uint64(0xBB67AE85)
_MASK = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_11 = np.uint64(11)
_MANY = 256  # addresses or blocks at a time


@kernel()
def _encipher(w: Any, count: int) -> None:
    """Ten rounds of Philox4x32 on many counters, rows 0 to 3 of w (6, m), under the keys in rows 4 and 5, in place:
    LLVM vectorises it. All words are 32 bits wide; known-answer vectors are in the tests."""
    x0, x1, x2, x3, y0, y1 = w[0], w[1], w[2], w[3], w[4], w[5]
    for j in range(count):
        c0, c1, c2, c3, k0, k1 = x0[j] & _MASK, x1[j], x2[j] & _MASK, x3[j], y0[j], y1[j]
        for _ in range(10):
            p0 = _M0 * c0
            p1 = _M1 * c2
            c0, c1, c2, c3 = ((p1 >> _32) ^ c1 ^ k0) & _MASK, p1 & _MASK, ((p0 >> _32) ^ c3 ^ k1) & _MASK, p0 & _MASK
            k0 = (k0 + _W0) & _MASK
            k1 = (k1 + _W1) & _MASK
        x0[j], x1[j], x2[j], x3[j] = c0, c1, c2, c3


@kernel()
def _units(high: Any, low: Any, out: Any, count: int) -> None:
    """Uniforms in (0, 1] from 64 random bits each: the middle of one of 2^53 equal cells, rounded: never 0, and 1 with
    probability 2^-53."""
    for j in range(count):
        bits = np.int64(((high[j] << _32) | low[j]) >> _11)
        out[j] = (float(bits) + 0.5) * (1.0 / 9007199254740992.0)


@kernel()
def fill_names(
    names: Any,
    clients: Any,
    first: int,
    replicates: int,
    n: int,
    seed: int,
    first_replicate: int,
    step: int,
    stream: int,
) -> None:
    """The first call: the names (J, 4) of addresses first, first + 1, ...; all blocks and all rounds share them.

    Address a is of replicate ``a % replicates`` and client ``clients.flat[a]``, where clients (A, replicates) is not
    empty; client ``a // replicates`` where it is, and n is 0;  of replicate ``a // n`` and client ``a % n`` where n is
    not 0.
    """
    count = names.shape[0]
    w = np.empty((6, count), dtype=np.uint64)
    for j in range(count):
        a = first + j
        s = a // n if n > 0 else a % replicates
        i = a % n if n > 0 else a // replicates
        w[0, j] = np.uint64(first_replicate + s)
        w[1, j] = np.uint64(clients[a // replicates, s] if clients.size > 0 else i)
        w[2, j] = np.uint64(step)
        w[3, j] = np.uint64(stream)
        w[4, j] = np.uint64(seed) & _MASK
        w[5, j] = np.uint64(seed) >> _32
    _encipher(w, count)
    for j in range(count):
        names[j, 0], names[j, 1], names[j, 2], names[j, 3] = w[0, j], w[1, j], w[2, j], w[3, j]


@kernel()
def _blocks_of(names: Any, first: int, blocks: int, begin: int, count: int, round_: int, w: Any) -> None:
    """The second call: the words of the ``blocks`` blocks that start with number ``begin``, of each name from ``first``
    on. All blocks of one name precede those of the next name."""
    job, block = first, begin
    for j in range(count):
        w[0, j] = np.uint64(block)
        w[1, j] = np.uint64(round_)
        w[2, j] = names[job, 2]
        w[3, j] = names[job, 3]
        w[4, j] = names[job, 0]
        w[5, j] = names[job, 1]
        block += 1
        if block == begin + blocks:
            job, block = job + 1, begin
    _encipher(w, count)


@kernel()
def uniforms(out: Any, names: Any, round_: int) -> None:
    """Fill a vector with the first uniform of each name's block 0."""
    w = np.empty((6, min(len(out), _MANY)), dtype=np.uint64)
    for first in range(0, len(out), _MANY):
        count = min(_MANY, len(out) - first)
        _blocks_of(names, first, np.int64(1), np.int64(0), count, round_, w)
        _units(w[0], w[1], out[first : first + count], count)


@kernel()
def _box_muller(u: Any, v: Any, count: int) -> None:
    """Pairs of uniforms in (0, 1] turned into pairs of normals, in place, by loops that LLVM vectorises."""
    for j in range(count):
        u[j] = math.sqrt(-2.0 * log(u[j]))
    for j in range(count):
        cosine, sine = cosine_sine(v[j])
        v[j] = u[j] * sine
        u[j] = u[j] * cosine


@kernel()
def normals(out: Any, names: Any, round_: int) -> None:
    """Fill ``out`` (J, coordinates) with the normals of J names; coordinates 2b and 2b+1 come from block b."""
    jobs, coordinates = out.shape
    blocks = (coordinates + 1) // 2
    width = min(blocks, _MANY)  # blocks at a time of one name, and names at a time
    group = max(1, _MANY // blocks)
    w = np.empty((6, width * min(group, jobs)), dtype=np.uint64)
    u = np.empty(w.shape[1])
    v = np.empty(w.shape[1])
    for first in range(0, jobs, group):
        names_now = min(group, jobs - first)
        for begin in range(0, blocks, width):
            each = min(width, blocks - begin)
            _blocks_of(names, first, each, begin, each * names_now, round_, w)
            _units(w[0], w[1], u, each * names_now)
            _units(w[2], w[3], v, each * names_now)
            _box_muller(u, v, each * names_now)
            for job in range(names_now):
                own = out[first + job, 2 * begin :]
                for b in range(each):
                    own[2 * b] = u[job * each + b]
                for b in range(min(each, coordinates // 2 - begin)):
                    own[2 * b + 1] = v[job * each + b]


@kernel()
def normals_where(out: Any, names: Any, where: Any, first: int, round_: int) -> None:
    """`normals` for the names in whose replicates ``where`` (replicates,) is not 0, zeros for the others. Name j
    belongs to replicate first + j, continued from replicate 0 after the last one."""
    chosen = np.empty(len(names), dtype=np.int64)
    count = 0
    for j in range(len(names)):
        if where[(first + j) % len(where)] != 0:
            chosen[count] = j
            count += 1
        else:
            out[j] = 0.0
    part = np.empty((count, out.shape[1]))
    drawn = np.empty((count, names.shape[1]), dtype=np.uint64)
    for j in range(count):
        for n in range(names.shape[1]):
            drawn[j, n] = names[chosen[j], n]
    normals(part, drawn, round_)
    for j in range(count):
        for n in range(out.shape[1]):
            out[chosen[j], n] = part[j, n]


@kernel()
def fill_uniform(out: Any, seed: int, first_replicate: int, round_: int, step: int, stream: int) -> None:
    """Fill ``out`` (replicates, clients) with uniforms in (0, 1); entry (s, i) has the address of replicate
    first_replicate + s, client i."""
    replicates, clients = out.shape
    flat = out.reshape(out.size)
    nobody = np.empty((0, 0), dtype=np.int64)
    names = np.empty((min(flat.size, _MANY), 4), dtype=np.uint64)
    for first in range(0, flat.size, _MANY):
        part = flat[first : first + _MANY]
        fill_names(names[: part.size], nobody, first, replicates, clients, seed, first_replicate, step, stream)
        uniforms(part, names, round_)


@kernel()
def fill_normal(
    out: Any, clients: Any, where: Any, seed: int, first_replicate: int, round_: int, step: int, stream: int
) -> None:
    """Fill ``out`` (A, replicates, coordinates) with the standard normals of the clients (A, replicates), of client a
    where clients is empty; coordinates 2b and 2b+1 come from block b. Zeros in the replicates where ``where``
    (replicates,) is 0, if it is not empty."""
    slots, replicates, coordinates = out.shape
    flat = out.reshape(slots * replicates, coordinates)
    names = np.empty((min(len(flat), _MANY), 4), dtype=np.uint64)
    for first in range(0, len(flat), _MANY):
        part = flat[first : first + _MANY]
        own = names[: len(part)]
        fill_names(own, clients, first, replicates, np.int64(0), seed, first_replicate, step, stream)
        if where.size > 0:
            normals_where(part, own, where, first, round_)
        else:
            normals(part, own, round_)


@kernel()
def _smallest(keys: Any, k: int, spare: Any) -> float:
    """The k-th smallest of the keys, k >= 1, which are uniforms in (0, 1]. Only those are sorted that share its bucket,
    one of many of equal width."""
    buckets = min(_MANY, len(keys))
    tally = np.zeros(buckets + 1, dtype=np.int64)
    for j in range(len(keys)):
        tally[int(keys[j] * buckets)] += 1
    own = 0
    while k > tally[own]:
        k -= tally[own]
        own += 1
    few = 0
    for j in range(len(keys)):
        spare[few] = keys[j]
        few += int(keys[j] * buckets) == own
    return float(kth_smallest(spare[:few], k - 1))


@kernel()
def fill_subsets(
    out: Any,
    clients: Any,
    sizes: Any,
    counts: Any,
    seed: int,
    first_replicate: int,
    round_: int,
    step: int,
    stream: int,
) -> None:
    """Fill ``out`` (A, replicates, b) with uniform subsets without replacement, in ascending order, then -1.

    Client i = clients[a, s] gets ``counts[i]`` of the numbers 0..sizes[i]-1: those with the smallest keys, where record
    j's key is a uniform of block j // 2. A subset depends only on its address.
    """
    slots, replicates, _ = out.shape
    most = (np.max(sizes) + 1) // 2
    w = np.empty((6, most), dtype=np.uint64)
    u = np.empty(most)
    v = np.empty(most)
    keys = np.empty(2 * most)
    spare = np.empty(2 * most)
    places = np.empty(2 * most, dtype=np.int64)
    names = np.empty((1, 4), dtype=np.uint64)
    for job in range(slots * replicates):
        a = job // replicates
        s = job % replicates
        i = clients[a, s]
        size = sizes[i]
        count = counts[i]
        chosen = out[a, s]
        for j in range(len(chosen)):
            chosen[j] = -1
        if count >= size:
            for j in range(size):
                chosen[j] = j
        elif count > 0:
            fill_names(names, clients, job, replicates, np.int64(0), seed, first_replicate, step, stream)
            blocks = (size + 1) // 2
            _blocks_of(names, np.int64(0), blocks, np.int64(0), blocks, round_, w)
            _units(w[0], w[1], u, blocks)
            _units(w[2], w[3], v, blocks)
            for block in range(blocks):
                keys[2 * block] = u[block]
                keys[2 * block + 1] = v[block]
            bound = _smallest(keys[:size], count, spare)
            found = 0
            for j in range(size):  # without a branch: which records are drawn cannot be predicted
                places[found] = j
                found += keys[j] <= bound
            for j in range(count):
                chosen[j] = places[j]
