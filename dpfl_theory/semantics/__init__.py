"""One description of a round for every exact method.

`rounds` says once what each algorithm does, in a few operations: the gradient of a client, an error of it (even or
skewed), privacy noise, a cohort (without replacement or with it), a coin, a bounded message. A world (`base.World`)
says what these are: exact moments of quadratics with fractions (`rational`), all functions of a class for performance
estimation (`performance`), or plain draws (`drawn`). `base.expected` runs a round on every way in which its choices can
fall and adds up what is observed, weighted by probability; `moments.Moments` repeats a linear round without enumerating
what all of its repetitions draw. The algorithms that simulations run (`dpfl_theory.algorithms`) are written on their
own, and the tests compare both.
"""
