"""The code of Flower, PyTorch's Opacus, JAX's Optax, and pfl-research, run as it is installed. Each test is skipped
where its library is missing. Only the model is replaced: it is the least squares of the test's clients."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from dpfl_theory.conform.adapters import from_flower, from_jax, from_pfl, from_torch, least_squares
from dpfl_theory.conform.run import conform
from dpfl_theory.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore")
BY_RECORDS = {"weights": "records"}
ONE = {"min_train_nodes": 1, "min_available_nodes": 1}


def library(module: str, package: str) -> Any:
    """An installed library; else the test is skipped, with what would install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        pytest.skip(f"{package} is not installed here: pip install {package}")


def names(found: Any) -> list[str]:
    """The names of the findings."""
    return [fault.name for fault in found.faults]


# ---- Flower ----------------------------------------------------------------------------------------------------------


def trained(view: Any, arrays: Any, eta: float, steps: int, layers: Any, mu: float = 0.0) -> list[Any]:
    """The local steps: the part of an app's ``train`` that depends on the model. mu: of FedProx's term."""
    w = y = np.concatenate(arrays)
    for _ in range(steps):
        y = y - eta * (view.gradient(y) + mu * (y - w))
    return [y[layer] for layer in layers]


def app(view: Any, eta_l: float, Q: int, layers: Any, alike: bool = False) -> Any:
    """A client app, in the form of Flower's quickstarts: it reads the arrays of the message, trains, and replies with
    arrays and the number of its records."""
    from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp

    made = ClientApp()

    @made.train()  # type: ignore[untyped-decorator, unused-ignore]
    def train(message: Message, context: Any) -> Message:
        assert context.node_config["partition-id"] == view.number
        mu = message.content["config"].get("proximal-mu", 0.0)
        arrays = trained(view, message.content["arrays"].to_numpy_ndarrays(), eta_l, Q, layers, mu)
        metrics = MetricRecord({"num-examples": 1 if alike else len(view)})
        return Message(content=RecordDict({"arrays": ArrayRecord(arrays), "metrics": metrics}), reply_to=message)

    return made


def numpy_client(view: Any, eta_l: float, Q: int, layers: Any, alike: bool = False) -> Any:
    """A ``NumPyClient`` with the same training, for the strategies without messages."""
    from flwr.client import NumPyClient

    class Training(NumPyClient):  # type: ignore[misc, unused-ignore]
        def fit(self, parameters: Any, config: Any) -> Any:
            return trained(view, parameters, eta_l, Q, layers), 1 if alike else len(view), {}

    return Training()


def flower(messages: bool, alike: bool = False) -> Any:
    """The module of strategies with or without messages, their arguments for small cohorts, and a client for them.

    alike: whether all clients report the same number of records."""
    kind = "flwr.serverapp.strategy" if messages else "flwr.server.strategy"
    module, client = library(kind, "flwr"), app if messages else numpy_client
    least = ONE if messages else {}

    def of(view: Any, eta_l: float, Q: int, layers: Any) -> Any:
        return client(view, eta_l, Q, layers, alike)

    return module, least, of


@pytest.mark.parametrize("messages", [True, False], ids=["messages", "results"])
def test_fedavg_of_flower(messages: bool) -> None:
    """Its FedAvg weights clients by their numbers of records, as McMahan et al. do."""
    module, least, client = flower(messages)
    round_ = from_flower(lambda: module.FedAvg(**least), client)
    assert conform(round_, "fedavg-two-sided", eta_g=1.0, runs=0, variations=BY_RECORDS).verdict == "conforms"
    assert names(conform(round_, "fedavg-two-sided", eta_g=1.0, runs=0)) == ["weights by numbers of records"]


@pytest.mark.parametrize("name", ["fedavg-mcmahan", "fedavgm", "fedprox"])
def test_other_strategies_of_flower(name: str) -> None:
    """Its FedAvg, FedAvgM with a server's learning rate of 1, and FedProx, whose proximal term its clients add."""
    module, least, client = flower(True)
    makers: dict[str, Any] = {
        "fedavg-mcmahan": lambda: module.FedAvg(**least),
        "fedavgm": lambda beta: module.FedAvgM(server_learning_rate=1.0, server_momentum=beta, **least),
        "fedprox": lambda mu: module.FedProx(proximal_mu=mu, **least),
    }

    def of(view: Any, eta: float, E: int, layers: Any) -> Any:
        return client(view, eta, E, layers)

    found = conform(from_flower(makers[name], of), name, eta_g=1.0, clients=4, runs=0)
    assert found.verdict == "conforms", names(found)


def test_a_strategy_that_waits_for_clients_is_refused() -> None:
    module, _, client = flower(True)
    round_ = from_flower(lambda: module.FedAvg(min_available_nodes=50), client)
    with pytest.raises(InputError, match="waits for more than"):
        conform(round_, "fedavg-two-sided", eta_g=1.0, runs=0)


@pytest.mark.parametrize("messages", [True, False], ids=["messages", "results"])
def test_fixed_clipping_of_flower(messages: bool) -> None:
    """Its wrapper for clipping and noise on the server, around its FedAvg, divides by the norm of an update.

    Its noise is that of equal weights, so records as weights give some clients more influence."""
    module, least, client = flower(messages, alike=True)

    def strategy(noise_multiplier: float, c: float, r: float) -> Any:
        wrapper = module.DifferentialPrivacyServerSideFixedClipping
        return wrapper(module.FedAvg(**least), noise_multiplier, c, int(r))

    fixed: dict[str, Any] = {"eta_g": 1.0, "eta_l": 0.1, "Q": 2, "c": 0.8, "noise_multiplier": 1.3, "clients": 4}
    found = conform(from_flower(strategy, client), "dp-fedavg-two-sided", runs=0, **fixed)
    assert names(found) == ["the function fails"]
    assert "ZeroDivisionError" in found.faults[0].description
    assert "clients of whom one has zero gradient" in found.faults[0].evidence
    client = flower(messages)[2]
    found = conform(from_flower(strategy, client), "dp-fedavg-two-sided", runs=0, **fixed)
    assert names(found)[1:] == ["weights by numbers of records", "more than the declared sensitivity"]


# ---- pfl-research ----------------------------------------------------------------------------------------------------


def pfl_training(module: Any, eta_l: float, eta_g: float, Q: int, postprocessors: list[Any]) -> dict[str, Any]:
    """The objects that its benchmarks and tests give to ``FederatedAveraging().run``."""
    import torch
    from pfl.algorithm import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.hyperparam import NNTrainHyperParams
    from pfl.model.pytorch import PyTorchModel

    central = torch.optim.SGD(module.parameters(), lr=eta_g)
    return {
        "algorithm": FederatedAveraging(),
        "algorithm_params": NNAlgorithmParams(
            central_num_iterations=100, evaluation_frequency=100, train_cohort_size=3, val_cohort_size=0
        ),
        "model": PyTorchModel(module, torch.optim.SGD, central),
        "model_train_params": NNTrainHyperParams(local_num_epochs=Q, local_learning_rate=eta_l, local_batch_size=None),
        "postprocessors": postprocessors,
    }


@pytest.mark.parametrize("weights", ["WeightByUser", "WeightByDatapoints"])
def test_fedavg_of_pfl(weights: str) -> None:
    library("pfl.algorithm", "pfl")
    by = getattr(library("pfl.aggregate.weighting", "pfl"), weights)

    def training(module: Any, eta_l: float, eta_g: float, Q: int, layers: Any) -> Any:
        return pfl_training(module, eta_l, eta_g, Q, [by()])

    meant = BY_RECORDS if weights == "WeightByDatapoints" else {}
    assert conform(from_pfl(training), "fedavg-two-sided", clients=4, runs=0, variations=meant).verdict == "conforms"


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_gaussian_mechanism_of_pfl(factor: float) -> None:
    """Its central Gaussian mechanism; a multiplier of half the declared one is found."""
    privacy, weighting = library("pfl.privacy", "pfl"), library("pfl.aggregate.weighting", "pfl")

    def training(module: Any, eta_l: float, c: float, noise_multiplier: float) -> Any:
        mechanism = privacy.GaussianMechanism(c, factor * noise_multiplier)
        central = privacy.CentrallyAppliedPrivacyMechanism(mechanism)
        return pfl_training(module, eta_l, 1.0, 1, [weighting.WeightByUser(), central])

    fixed: dict[str, Any] = {"eta_g": 1.0, "eta_l": 0.1, "Q": 1, "c": 0.8, "noise_multiplier": 1.3}
    found = conform(from_pfl(training), "dp-fedavg-two-sided", clients=3, cohort=2, runs=0, **fixed)
    assert (found.verdict == "conforms") == (factor == 1.0), names(found)
    assert factor == 1.0 or names(found)[0] == "half the sensitivity"


# ---- Opacus and Optax ------------------------------------------------------------------------------------------------

RECORD_LEVEL: dict[str, Any] = {"eta_l": 0.1, "eta_g": 1.0, "K": 1, "C": 0.8, "sigma_g": 1.3, "s": 1.0}
"""One local step of DP-SGD on all records of a client."""
SMALL: dict[str, Any] = {"clients": 3, "cohort": 2, "relation": "zero-out", "runs": 0}


@pytest.mark.parametrize("engine", [True, False], ids=["PrivacyEngine", "DPOptimizer"])
def test_opacus(engine: bool) -> None:
    """Its optimizer as the clients' local optimizer, made by itself or by its engine as its introduction shows."""
    opacus, optimizers = library("opacus", "opacus"), library("opacus.optimizers", "opacus")
    import torch

    def made(w: Any, x: Any, y: Any, generator: Any, eta_l: float, C: float, sigma_g: float) -> Any:
        """A private module, its optimizer, and its batches."""
        module = least_squares(w)
        sgd = torch.optim.SGD(module.parameters(), lr=eta_l)
        if not engine:
            private = optimizers.DPOptimizer(
                sgd, noise_multiplier=sigma_g, max_grad_norm=C, expected_batch_size=len(y), generator=generator
            )
            return opacus.GradSampleModule(module), private, [(x, y)]
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=len(y))
        return opacus.PrivacyEngine().make_private(
            module=module,
            optimizer=sgd,
            data_loader=loader,
            noise_multiplier=sigma_g,
            max_grad_norm=C,
            poisson_sampling=False,
            noise_generator=generator,
        )

    def round_(
        w: Any, state: Any, clients: Any, cohort: Any, generator: Any, *, eta_l: Any, eta_g: Any, C: Any, sigma_g: Any
    ) -> Any:
        total = torch.zeros_like(w)
        for i in cohort:
            module, optimizer, batches = made(w, *clients[i].records, generator, eta_l, C, sigma_g)
            for x, y in batches:
                optimizer.zero_grad()
                (0.5 * (module(x) - y) ** 2).mean().backward()
                optimizer.step()
            total += module._module.vector() - w
        return w + eta_g * total / len(cohort), state

    found = conform(from_torch(round_), "dp-fedavg-record", **RECORD_LEVEL, **SMALL)
    assert found.verdict == "conforms", names(found)


def test_a_step_of_opacus() -> None:
    """A step of its optimizer over all records, as DP-SGD."""
    opacus, optimizers = library("opacus", "opacus"), library("opacus.optimizers", "opacus")
    import torch

    def round_(
        w: Any, state: Any, clients: Any, cohort: Any, generator: Any, *, eta: Any, C: Any, noise_multiplier: Any
    ) -> Any:
        x, y = (torch.cat(parts) for parts in zip(*(own.records for own in clients)))
        module = opacus.GradSampleModule(least_squares(w))
        optimizer = optimizers.DPOptimizer(
            torch.optim.SGD(module.parameters(), lr=eta),
            noise_multiplier=noise_multiplier,
            max_grad_norm=C,
            expected_batch_size=len(y),
            generator=generator,
        )
        (0.5 * (module(x) - y) ** 2).mean().backward()
        optimizer.step()
        return module._module.vector(), state

    found = conform(from_torch(round_), "dp-sgd", s=1.0, clients=3, relation="zero-out", runs=0)
    assert found.verdict == "conforms", names(found)


def test_optax() -> None:
    """Its private aggregation of gradients as the clients' local optimizer."""
    optax, private = library("optax", "optax"), library("optax.contrib", "optax")
    import jax

    def round_(
        w: Any, state: Any, clients: Any, cohort: Any, key: Any, *, eta_l: Any, eta_g: Any, C: Any, sigma_g: Any
    ) -> Any:
        total = 0.0 * w
        for i, own in zip(cohort, jax.random.split(key, len(cohort))):
            aggregated = private.differentially_private_aggregate(C, sigma_g, own)
            optimizer = optax.chain(aggregated, optax.sgd(eta_l))
            updates, _ = optimizer.update(clients[i].record_gradients(w), optimizer.init(w), w)
            total += updates
        return w + eta_g * total / len(cohort), state

    found = conform(from_jax(round_, compiled=True), "dp-fedavg-record", **RECORD_LEVEL, **SMALL)
    assert found.verdict == "conforms", names(found)


def test_noise_inside_compiled_functions_is_refused() -> None:
    jax = library("jax", "jax")
    drawn = jax.jit(lambda key: jax.random.normal(key, (6,)))

    def round_(w: Any, state: Any, clients: Any, cohort: Any, key: Any) -> Any:
        return w + drawn(key), state

    with pytest.raises(InputError, match="compiled=False"):
        from_jax(round_, compiled=True)(np.zeros(6), None, [], np.arange(0), np.random.default_rng(0))


# ---- ports -----------------------------------------------------------------------------------------------------------


def test_a_port_of_scaffold_to_pytorch() -> None:
    """A port: SCAFFOLD with ``torch.optim.SGD`` for the local steps, from its paper and from no library's code."""
    torch = library("torch", "torch")

    def round_(w: Any, state: Any, clients: Any, cohort: Any, generator: Any, *, eta_l: Any, eta_g: Any, K: int) -> Any:
        c, own = (torch.zeros_like(w), [torch.zeros_like(w) for _ in clients]) if state is None else state
        own, moved, change = list(own), torch.zeros_like(w), torch.zeros_like(w)
        for i in cohort:
            module = least_squares(w)
            (parameter,) = module.parameters()
            optimizer = torch.optim.SGD(module.parameters(), lr=eta_l)
            for _ in range(K):
                optimizer.zero_grad()
                module.loss(*clients[i].records).backward()
                parameter.grad += (c - own[i])[None]
                optimizer.step()
            new = own[i] - c + (w - module.vector()) / (K * eta_l)
            moved, change, own[i] = moved + module.vector() - w, change + new - own[i], new
        return w + eta_g * moved / len(cohort), (c + change / len(clients), own)

    assert conform(from_torch(round_), "scaffold", clients=4, runs=0).verdict == "conforms"
