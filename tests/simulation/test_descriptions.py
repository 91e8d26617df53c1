"""What the newer algorithms and their parts say of themselves, and what they refuse, in one sentence each."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from laws.test_algorithm_laws import CASES
from oracles.compare import problem_of
from short_forms import fedavg, model_clipped, scaffold, two_sided

from dpfl_theory.algorithms.averaging import with_momentum
from dpfl_theory.algorithms.error_feedback import DPNormSGD, InformedClip21, NormEC
from dpfl_theory.algorithms.scaffnew import ScaffNew
from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.errors import InputError
from dpfl_theory.simulation import (
    Cohort,
    FullGradient,
    NoisyGradient,
    RecordGradient,
    Schedule,
    Simulation,
    Tabulated,
    WeightedAverage,
    simulate,
)


@pytest.mark.parametrize("case", CASES)
def test_a_description_is_plain_data_and_names_every_field(case: str) -> None:
    """Each field is described: by its own name, or, where it is a part, by what the part says of itself."""
    cls, example = CASES[case]
    algorithm = example.build(cls, 0.4, 1.0, 0.3)
    described = json.loads(json.dumps(algorithm.describe(), allow_nan=False))
    if isinstance(algorithm, Simulation):
        assert described["algorithm"] == cls.name
        for attribute, p in cls.parameters.items():
            assert described[p.symbol] == getattr(algorithm.run.with_defaults(), attribute)
        assert described["cohort"] == algorithm.cohort.describe()
        full = isinstance(algorithm.gradient, FullGradient)
        assert full or described.items() >= json.loads(json.dumps(algorithm.gradient.describe())).items()
        return
    assert described["algorithm"] == cls.__name__
    for field in dataclasses.fields(algorithm):
        value = getattr(algorithm, field.name)
        if field.name == "algorithm":
            assert described["of"] == json.loads(json.dumps(value.describe()))
        elif field.name == "gradient" and not isinstance(value, str):
            assert described.items() >= json.loads(json.dumps(value.describe())).items()
        else:
            assert field.name in described
            if isinstance(value, (int, float)):
                assert described[field.name] == value, "a part overwrites it"


POSITIVE, NOT_NEGATIVE = "a finite positive number is needed", "a finite number that is not negative is needed"
WRONG: list[tuple[Any, str]] = [
    (lambda: two_sided(0.0), f"the local step is 0: {POSITIVE}"),
    (lambda: two_sided(0.1, Tabulated([1.0, 0.0])), f"an entry of the global step is 0: {POSITIVE}"),
    (
        lambda: two_sided(0.1, local_steps=0),
        "the number of local steps is 0: a whole number of at least 1 is needed",
    ),
    (lambda: two_sided(0.1, threshold=-1.0), f"the threshold of a difference is -1: {POSITIVE}"),
    (lambda: two_sided(0.1, sigma=-1.0), f"the noise of one message is -1: {NOT_NEGATIVE}"),
    (lambda: model_clipped(0.1, 0.0), f"the threshold of a model is 0: {POSITIVE}"),
    (
        lambda: scaffold(0.1, warm_start=-1),
        "the number of warm rounds is -1: a whole number of at least 0 is needed",
    ),
    (
        lambda: with_momentum(Scaffold),
        "scaffold keeps a state in addition to the server's vector: give an algorithm without one",
    ),
    (lambda: fedavg(0.1, momentum=-0.5), "the server momentum is -0.5: give a number in [0, 1)"),
    (lambda: fedavg(0.1, momentum=1.0), "the server momentum is 1.0: give a number in [0, 1)"),
    (lambda: Simulation(DPNormSGD(gamma=-0.1, alpha=0.0, sigma=0.0)), f"the step is -0.1: {POSITIVE}"),
    (
        lambda: Simulation(DPNormSGD(gamma=0.1, alpha=0.0, sigma=[0.0, -2.0])),
        f"the noise of the average is -2: {NOT_NEGATIVE}",
    ),
    (lambda: Simulation(NormEC(gamma=0.1, beta=0.0, alpha=0.1, sigma=0.0)), f"the memory step is 0: {POSITIVE}"),
    (
        lambda: Simulation(InformedClip21(gamma=0.1, tau=1.0, sigma=0.0, memory=-1.0)),
        f"the share of the first gradients in the memories is -1: {NOT_NEGATIVE}",
    ),
    (lambda: Simulation(NormEC(gamma=0.1, beta=0.1, sigma=0.0)), "dp-norm-ec needs a value of alpha"),
    (lambda: WeightedAverage(fedavg(0.1), 0.0), f"the ratio of the weights is 0: {POSITIVE}"),
    (
        lambda: WeightedAverage(fedavg(0.1), 1.1),
        "the ratio of the weights is 1.1: it must lie in (0, 1], or later weights fall",
    ),
    (lambda: WeightedAverage(fedavg(0.1), 1.0, 1), "with_start is 1: give true or false"),
]


@pytest.mark.parametrize(("make", "sentence"), WRONG, ids=[w[1] for w in WRONG])
def test_what_cannot_be_used_is_refused_in_one_sentence(make: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value) == sentence


COUNT = "has 2 values for 3 replicates: give one number, or one for each replicate"


@pytest.mark.parametrize(
    ("algorithm", "sentence"),
    [
        (two_sided([0.1, 0.2]), f"the local step {COUNT}"),
        (two_sided(0.1, gradient=NoisyGradient([0.1, 0.2])), f"deviation {COUNT}"),
        (two_sided(0.1, cohort=Cohort("fixed", 9)), "the cohort size is 9: with 6 clients it must lie in (0, 6]"),
        (model_clipped(0.1, [1.0, 2.0]), f"the threshold of a model {COUNT}"),
        (Simulation(DPNormSGD(gamma=0.1, alpha=[1.0, 2.0], sigma=0.0)), f"the smoothing {COUNT}"),
        (
            Simulation(InformedClip21(gamma=0.1, tau=1.0, sigma=0.0, memory=[1.0, 2.0])),
            f"the share of the first gradients in the memories {COUNT}",
        ),
        (scaffold(Schedule([0.1, 0.2])), f"the local step {COUNT}"),
        (scaffold(0.1, cohort=Cohort("with-replacement", 2)), "a client that is drawn twice would write twice: "),
        (
            Simulation(ScaffNew(eta=0.1, p=1.0), gradient=RecordGradient()),
            "problem 'random quadratic, condition 10' has no records: ",
        ),
        (fedavg(0.1, momentum=[0.1, 0.2]), f"the server momentum {COUNT}"),
        (fedavg([0.1, 0.2], momentum=0.8), f"the local step {COUNT}"),
        (WeightedAverage(Simulation(ScaffNew(eta=[0.1, 0.2], p=1.0))), f"the step {COUNT}"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)  # fmt: skip
def test_what_does_not_fit_the_run_is_refused_before_it(algorithm: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        simulate(algorithm, problem_of("dense"), 1, 3, device="cpu")
    assert str(caught.value).startswith(sentence)


def test_a_table_of_steps_that_ends_too_early_is_named() -> None:
    with pytest.raises(InputError, match=r"^the step sizes end before round 2: give one for each round, not 2$"):
        simulate(two_sided(Tabulated(np.array([0.1, 0.2]))), problem_of("dense"), 3, device="cpu")
