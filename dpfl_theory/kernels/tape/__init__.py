"""A tape: one round of a small simulation, recorded as operations on arrays and replayed for every other round.

On small problems nearly all the time of a round is the overhead of Python and NumPy for each operation. A round runs
once on arrays that record the operations on them (`tracing`, `record`). The record is compiled to a program for a
register machine (`program`), which runs all further rounds in one compiled loop (`virtual_machine`). The first
replayed round is compared with the round that was run normally (`replay`). `operations` lists what can be recorded,
and ``docs/development/tape.md`` describes the design.
"""
