"""Mutation testing: small changes of the code that turns numbers into a verdict or an epsilon, and the tests that
detect them.

``python -m benchmarks.mutation`` takes cosmic-ray's operators and a few of its own (`benchmarks.mutation.mutants`).
cosmic-ray starts a new process for each mutant, which here takes seconds of imports. This runner collects the tests
once, forks for each mutant, puts the changed code in place (`benchmarks.mutation.plant`) and runs only the tests that
execute the changed line, the fastest first (`benchmarks.mutation.run`).

A mutant is *killed* when a test fails, or exceeds its limit of time or memory. It is *equivalent* when
``equivalent.json`` gives the reason why it cannot change a result. All others are *surviving*.
"""
