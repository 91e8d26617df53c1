"""The experiments of noble2022 Section 5 and Appendix D.3, shared by the scripts of its figures and tables.

The full profile keeps the dynamics of a run and shrinks the data: fewer users, a twentieth of the records, and a
twentieth of the noise multiplier. So the noise of one local step, 2C sigma_g/(sR), is the paper's. Its privacy differs
from the paper's, and is reported. The paper profile is at the paper's scale; there the step size is tuned on the first
`TUNING_ROUNDS` rounds.

The paper does not define FedSGD uniquely: Section 2 calls it "a single local update", Section 5 "FedAvg with Ks = 1"
together with s = 0.2 "for all of the datasets", and the published code runs 1/s local steps. ``FedSGD`` is the latter,
K = 1/s at the share s; ``FedSGD-one-step`` takes K = 1 step on all records, s = 1.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from scipy.stats import t as student

from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.algorithms.two_step_sizes import TwoSidedFedAvg
from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.privacy import account, get
from dpfl_theory.privacy.noble2022 import epsilon_recipe
from dpfl_theory.problems.base import Certificate, Constants
from dpfl_theory.problems.linear_model import LinearModel, linear_data
from dpfl_theory.problems.minimise import minimise
from dpfl_theory.problems.noble2022 import Split, similarity_split, synthetic_split
from dpfl_theory.problems.risk import global_risk
from dpfl_theory.problems.smoothness import spectral
from dpfl_theory.runtime import threads
from dpfl_theory.simulation import Cohort, RecordGradient, Simulation, simulate
from dpfl_theory.simulation.base import Algorithm
from dpfl_theory.simulation.metrics import accuracy
from dpfl_theory.validation import Context, elsewhere, style

ONE_STEP = "DP-FedSGD-one-step"
ALGORITHMS = ("FedAvg", "FedSGD", "SCAFFOLD-warm", "DP-FedAvg", "DP-FedSGD", ONE_STEP, "DP-SCAFFOLD-warm")
SHOWN_ALONE = ("FedSGD", "SCAFFOLD-warm")  # no claim concerns them: two runs are shown, one in the standard profile
COLOURS = {
    "FedAvg": style.PALETTE[0],
    "FedSGD": style.PALETTE[4],
    "FedSGD-one-step": style.PALETTE[3],
    "SCAFFOLD-warm": style.PALETTE[2],
}
PUBLISHED_CODE = (
    "The authors' published code, read and not run, departs from the paper's text, which these runs follow. It seeds "
    "torch with one number for all users in each local step: all of them draw the same batch indices, and add the same "
    "standard normal vector times their own thresholds. It clips each parameter tensor by itself, and its optimisers "
    "ignore weight_decay, the ridge. Printed values may differ from measured ones for these reasons."
)
"""Printed wherever measured values are compared with printed ones. File and line: `torch.manual_seed(500 * (times + 1)
* (glob_iter + 1) + epoch + 1)` in flearn/users/user_avg.py and user_scaffold.py; flearn/optimizers/fedoptimizer.py."""
TEST_SHARE = 0.2
LEVELS = ((0.0, 0.0), (1.0, 1.0), (5.0, 5.0))  # (alpha, beta) in Section 5
SIMILARITIES = (100.0, 10.0, 0.0)  # gamma in Section 5, the lowest heterogeneity first
IMAGES = "labelled records as LIBSVM text or NPZ with arrays x and y, for 40 users with 2500 records each"
STEP_GRID = tuple(float(x) for x in np.geomspace(0.02, 40.0, 10))
FOLDS = 5
TUNING_ROUNDS = 100
Name = TypeVar("Name")


@dataclass(frozen=True)
class Data:
    """Which records, over how many users: ``heterogeneity`` is (alpha, beta) for ``synthetic`` and (gamma,) for real
    data, named in ``source``."""

    source: str
    heterogeneity: tuple[float, ...]
    users: int
    records: int | None

    @property
    def label(self) -> str:
        """For titles."""
        if self.source == "synthetic":
            return rf"$(\alpha, \beta) = ({self.heterogeneity[0]:g}, {self.heterogeneity[1]:g})$"
        return rf"$\gamma = {self.heterogeneity[0]:g}$% similar"

    @property
    def name(self) -> str:
        """For sentences."""
        return self.label.replace("$", "").replace("\\", "")

    def split(self, seed: int) -> Split:
        """The training problem and the held-out records."""
        if self.source == "synthetic":
            alpha, beta = self.heterogeneity
            return synthetic_split(clients=self.users, records=self.records or 0, alpha=alpha, beta=beta, seed=seed)
        gamma = self.heterogeneity[0]
        return similarity_split(self.source, clients=self.users, percent=gamma, records=self.records, seed=seed)


@dataclass(frozen=True)
class Setting:
    """One experiment: shares l of users and s of records, K local steps, T rounds, noise multiplier sigma_g."""

    data: Data
    user_rate: float
    record_rate: float
    local_steps: int
    rounds: int
    noise_multiplier: float
    replicates: int
    every: int

    def __str__(self) -> str:
        """For names of points."""
        noise = f"sigma_g = {self.noise_multiplier:g}"
        rates = f"l = {self.user_rate:g}, s = {self.record_rate:g}"
        return f"{self.data.name}, {rates}, K = {self.local_steps}, T = {self.rounds}, {noise}"


class Train(LinearModel):
    """Training records of which only the minimum of f is needed: no client's own minimum is computed."""

    @functools.cached_property
    def constants(self) -> Constants:
        """The minimum of f and the curvatures; unknown values are NaN."""
        with threads.single_blas():
            curvature = spectral(self.data)
            best = minimise(global_risk(self.data), curvature.mu_f)
        unknown = np.full(self.n, math.nan)
        return Constants(
            L_i=curvature.L_i,
            L_f=curvature.L_f,
            mu_i=curvature.mu_i,
            mu_f=curvature.mu_f,
            G_i=unknown,
            G_record=math.nan,
            w_star=best.w,
            f_star=best.value,
            f_i_star=unknown,
            f_i_at_star=unknown,
            unique=best.unique,
            certificates={"f_star": Certificate(best.kind, best.error, best.text)},
        )


@functools.lru_cache(maxsize=4)
def split_of(data: Data, seed: int) -> Split:
    """The split of these data, kept while the scripts that use it run one after the other."""
    split = data.split(seed)
    return replace(split, train=Train(split.train.data, split.train.name))


def points(context: Context, calls: Mapping[Name, partial[Any]], part: int, of: int) -> dict[Name, Any]:
    """The results of these calls, by name, as one of several parts of a script's work. They are points: they are
    cached, and several processes compute them."""
    own = replace(context, progress=context.part(part, of))
    about = [", ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in calls]
    return dict(zip(calls, own.each(list(calls.values()), about), strict=True))


def ends(context: Context, values: Sequence[Name]) -> Sequence[Name]:
    """The values that a figure varies; in the standard profile only the lowest and the highest heterogeneity."""
    return context.pick(full=values, paper=values, standard=(values[0], values[-1]))


def synthetic(context: Context, alpha: float, beta: float) -> Data:
    """The D.2 data: M = 100 users with R = 5000 records each, or the full and the standard profile's 40 with 250."""
    users, records = context.pick(full=(40, 250), paper=(100, 5000))
    return Data("synthetic", (alpha, beta), users, records)


def real(context: Context, gamma: float) -> Data:
    """Digits over 20 users, or the user's data over M = 40 users with R = 2500 records each, as the paper's FEMNIST."""
    named = context.data
    if named is None:
        return Data("digits", (gamma,), 20, None)
    return Data(named, (gamma,), 40, 2500)


def judged(
    context: Context, claims: Sequence[Mapping[str, Any]], *, synthetic: str = "", images: bool = False, more: str = ""
) -> list[dict[str, Any]]:
    """The paper's claims on accuracy or loss, with any differences from the paper's setting.

    synthetic: the full profile's scale in words, where the claims concern synthetic data, of which the standard one
    differs in the number of rounds; images: whether they concern
    image data; more: the differences of every profile.
    """
    differs = [more] if more else []
    if synthetic:
        differs += context.pick(full=[synthetic], paper=[], standard=[synthetic.replace("40 rounds", "24 rounds")])
    if images and context.data is None:
        differs.append("scikit-learn's digits (1797 images of 10 classes) replace FEMNIST (47 classes)")
    elif images:
        differs.append("the data are those named with --data, which may not be the paper's FEMNIST")
    return [elsewhere(claim, "; ".join(differs)) if differs else dict(claim) for claim in claims]


QUICK = "40 users with 250 records and 40 rounds, where the paper has 100 users with 5000 and 400 rounds"
"""The full profile of Figures 1 and 3 to 6."""


def noise_multiplier(printed: float, printed_records: int, records: float) -> float:
    """sigma_g for which one local step has the paper's noise 2C sigma_g/(sR), with ``records`` records of a user."""
    return printed * min(1.0, records / printed_records)


def algorithm(
    name: str, setting: Setting, eta_0: Any, threshold: float | str = "median", warm: int | None = None
) -> Algorithm:
    """One of the algorithms of Figure 1, in FedSGD's two readings with Ks = 1. Local steps are eta_0/(sK), the global
    step is 1. With privacy, gradients are clipped at the median of their lengths (D.1)."""
    users = setting.data.users
    size = math.floor(setting.user_rate * users * (1.0 + 1e-12))
    cohort = Cohort("fixed", size)
    private, kind = name.startswith("DP-"), name.removeprefix("DP-")
    share, steps = {
        "FedSGD": (setting.record_rate, round(1.0 / setting.record_rate)),
        "FedSGD-one-step": (1.0, 1),
    }.get(kind, (setting.record_rate, setting.local_steps))
    bound: dict[str, Any] = {"threshold": threshold, "noise_multiplier": setting.noise_multiplier} if private else {}
    gradient = RecordGradient(share=share, **bound)
    step = np.asarray(eta_0, dtype=np.float64) / (share * steps)
    local = float(step) if step.ndim == 0 else [float(x) for x in step]
    if kind.startswith("SCAFFOLD"):
        if warm is None:  # Section 3.3: typically 4/l rounds; in a short run a quarter of all at most
            warm = min(round(4.0 / setting.user_rate), setting.rounds // 4) if kind.endswith("warm") else 0
        run = Scaffold(eta_l=local, eta_g=1.0, K=steps).with_values(warm_start=warm)
        return Simulation(run, cohort, gradient)
    return Simulation(TwoSidedFedAvg(eta_l=local, eta_g=1.0, Q=steps), cohort, gradient)


def _fold(data: LinearData, number: int, seed: int) -> Split:
    """Training records without one of `FOLDS` random parts of every client, and that part."""
    rng = np.random.default_rng([seed, 2])
    keep, held = [], []
    for a, b in zip(data.offsets[:-1], data.offsets[1:]):
        order = a + rng.permutation(b - a)
        part = np.array_split(order, FOLDS)[number]
        held.append(np.sort(part))
        keep.append(np.sort(np.setdiff1d(order, part)))
    made = [
        linear_data(data.x, data.y, rows, data.loss, ridge=data.ridge, classes=data.classes) for rows in (keep, held)
    ]
    return Split(LinearModel(made[0], "a fold's training records"), made[1])


@functools.cache
def tuned(
    name: str,
    setting: Setting,
    seed: int,
    folds: int,
    device: str,
    grid: tuple[float, ...] = STEP_GRID,
    most: int = TUNING_ROUNDS,
    tried: range | None = None,
) -> dict[str, Any]:
    """eta_0 by cross-validation on the training records (D.1): the grid's values are the replicates of one run, which
    ends after ``most`` rounds. ``tried``: the values that are tried, by default all; each has the same noise in both
    cases.

    The best mean accuracy on held-out folds over the last tenth of the rounds; in a tie the smallest step.
    """
    own = range(len(grid)) if tried is None else tried
    steps = [grid[i] for i in own]
    data = split_of(setting.data, seed).train.data
    short = replace(setting, rounds=min(setting.rounds, most))
    scores = np.zeros(len(steps))
    for number in range(folds):
        part = _fold(data, number, seed)
        measure = accuracy(part.test)
        every = max(1, short.rounds // 40)
        run = simulate(
            algorithm(name, short, steps),
            part.train,
            short.rounds,
            len(steps),
            seed + 1,
            observe=[measure],
            first_replicate=own.start,
            series=True,
            every=every,
            device=device,
        )
        series = run[measure.name].every_round
        scores += np.nan_to_num(series[-max(1, len(series) // 10) :]).mean(axis=0) / folds
    best = int(np.argmax(scores))
    return {"eta_0": steps[best], "scores": scores.tolist(), "at_edge": best in (0, len(steps) - 1)}


@functools.cache
def measured(
    name: str, setting: Setting, eta_0: float, seed: int, device: str, warm: int | None = None
) -> dict[str, np.ndarray]:
    """Series (observed rounds, replicates): log10 train loss gap, test accuracy and gradient dissimilarity."""
    found = _series(name, setting, eta_0, seed, device, warm, ("suboptimality", "gradient-dissimilarity"))
    return {**found, "loss": np.log10(np.maximum(found["suboptimality"], 1e-300))}


@functools.cache
def accuracies(
    name: str, setting: Setting, eta_0: float, seed: int, device: str, warm: int | None = None
) -> np.ndarray:
    """Only the test accuracy (observed rounds, replicates), which needs neither the minimum nor clients' gradients."""
    return _series(name, setting, eta_0, seed, device, warm, ())["test-accuracy"]


def _series(
    name: str, setting: Setting, eta_0: float, seed: int, device: str, warm: int | None, others: tuple[str, ...]
) -> dict[str, np.ndarray]:
    split = split_of(setting.data, seed)
    measure = accuracy(split.test)
    run = simulate(
        algorithm(name, setting, eta_0, warm=warm),
        split.train,
        setting.rounds,
        setting.replicates,
        seed,
        observe=[measure, *others],
        series=True,
        every=setting.every,
        device=device,
    )
    return {n: run[n].every_round for n in (measure.name, *others)}


def observed_rounds(setting: Setting) -> list[int]:
    """The rounds after which a series' values were taken."""
    return [*range(0, setting.rounds, setting.every), setting.rounds]


def privacy(setting: Setting, training: float) -> dict[str, Any]:
    """Epsilon towards a third party at delta = 1/(MR): the paper's recipe, and certified."""
    # Heterogeneity costs no privacy: data that differ only in it share one accounting.
    return _spent(replace(setting, data=replace(setting.data, heterogeneity=()), replicates=1, every=1), int(training))


@functools.cache
def _spent(setting: Setting, records: int) -> dict[str, Any]:
    described: dict[str, Any] = {
        "users": setting.data.users,
        "records": records,
        "user_rate": setting.user_rate,
        "record_rate": setting.record_rate,
        "local_steps": setting.local_steps,
        "noise_multiplier": setting.noise_multiplier,
        "rounds": setting.rounds,
    }
    delta = 1.0 / (setting.data.users * records)
    own = {k: described[k] for k in ("users", "records", "user_rate", "noise_multiplier", "rounds")}
    epoch = get("dp-scaffold")(**{**described, "local_steps": round(1.0 / setting.record_rate)})
    return {
        "delta": delta,
        "recipe": epsilon_recipe(**described, delta=delta).epsilon,
        "certified_were_the_threshold_fixed": vars(account(get("dp-scaffold")(**described), delta=delta).epsilon),
        "DP-FedSGD, certified_were_the_threshold_fixed": vars(account(epoch, delta=delta).epsilon),
        f"{ONE_STEP}, certified_were_the_threshold_fixed": vars(account(get("dp-fedsgd")(**own), delta=delta).epsilon),
    }


Limits = tuple[float, float, float]
"""A mean, and its lower and upper limit."""


def interval(values: Any, confidence: float = 0.95) -> Limits:
    """Mean and Student limits of independent runs."""
    x = np.asarray(values, dtype=np.float64)
    mean = float(x.mean())
    if len(x) < 2:
        return mean, -math.inf, math.inf
    half = float(student.ppf(0.5 + confidence / 2, len(x) - 1) * x.std(ddof=1) / math.sqrt(len(x)))
    return mean, mean - half, mean + half


def simultaneous(samples: Mapping[Name, Any], confidence: float = 0.95) -> dict[Name, Limits]:
    """Mean and limits of all comparisons of one claim: together the limits hold with this probability (Bonferroni)."""
    each = 1.0 - (1.0 - confidence) / len(samples)
    return {name: interval(values, each) for name, values in samples.items()}


def all_within(limits: Mapping[Name, Limits], least: float = 0.0, most: float = math.inf) -> str:
    """The verdict on "every mean lies between least and most": not reproduced when some limits lie wholly outside."""
    if any(high < least or low > most for _, low, high in limits.values()):
        return "not-reproduced"
    return "reproduced" if all(low > least and high < most for _, low, high in limits.values()) else "inconclusive"


def joined(verdicts: Sequence[str]) -> str:
    """The verdict on a claim of several parts, from theirs."""
    if "not-reproduced" in verdicts:
        return "not-reproduced"
    return "reproduced" if set(verdicts) == {"reproduced"} else "inconclusive"


def on_record(expected: str | None) -> dict[str, str]:
    """The known verdict of a claim, where the runs decide it."""
    return {} if expected is None else {"expected": expected}


def at_end(series: np.ndarray) -> np.ndarray:
    """Each replicate's mean over the last tenth of the observed rounds, as D.3.2 reports it."""
    return np.asarray(series[-max(1, len(series) // 10) :].mean(axis=0))


def records_of(data: Data, seed: int) -> float:
    """The number of a user's records, held-out ones included."""
    if data.records is not None:
        return float(data.records)
    split = split_of(data, seed)
    return (len(split.train.data.x) + len(split.test.x)) / data.users
