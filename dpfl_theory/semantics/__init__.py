"""One description of a round for every exact method.

`operations.run_round` runs a description (`dpfl_theory.algorithms`) in a few operations: the gradient of a client, an
error of it (even or skewed), privacy noise, a cohort (without replacement or with it), a coin, a bounded message. A
world (`base.World`) interprets these operations: exact moments of quadratics with fractions (`rational`), or all
functions of a class for performance estimation (`performance`).

`base.expected` runs a round for every possible outcome of its choices and adds up the observations, weighted by
probability. `moments.Moments` repeats a linear round without enumerating the draws of all repetitions. The algorithms
that simulations run (`dpfl_theory.simulation`) are written independently, and the tests compare both.
"""
