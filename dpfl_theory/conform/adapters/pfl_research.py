"""Rounds of pfl-research: its algorithms, simulated backend and privacy mechanisms, on PyTorch models."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dpfl_theory.conform.adapters.common import Round, asked, needed, taking
from dpfl_theory.conform.adapters.pytorch import from_torch, least_squares


def from_pfl(training: Callable[..., Any]) -> Round:
    """A round of an algorithm of pfl-research: one iteration of its ``run``, on its ``SimulatedBackend``.

    training: ``training(module, **parameters)`` gives, once for a run, the keyword arguments of ``run``
        (``algorithm_params``, ``model``, ``model_train_params``), with ``algorithm`` and ``postprocessors`` besides.
        It takes hyper-parameters by name. ``module`` is the clients' model (`least_squares`).

    The backend gives the clients of the round's cohort, whichever size the algorithm asks for. Differences of models
    are kept in double precision, so that they can be compared.

    Raises EnvironmentFault where pfl-research or PyTorch is not installed.
    """
    torch = needed("torch", "PyTorch")
    needed("pfl", "pfl-research")
    simulate, data = needed("pfl.aggregate.simulate", "pfl-research"), needed("pfl.data.dataset", "pfl-research")
    callbacks, metrics = needed("pfl.callback.base", "pfl-research"), needed("pfl.metrics", "pfl-research")
    federated = needed("pfl.data.federated_dataset", "pfl-research")

    class Users(federated.FederatedDatasetBase):  # type: ignore[misc, name-defined]
        """The members of the round's cohort."""

        def __init__(self, members: Sequence[Any]) -> None:
            super().__init__()
            self._members = [data.Dataset(tuple(own.records), user_id=str(own.number)) for own in members]

        def __next__(self) -> Any:
            raise StopIteration

        def get_cohort(self, cohort_size: int) -> Iterator[Any]:
            return iter([(user, self._get_seed()) for user in self._members])

    class OneIteration(callbacks.TrainingProcessCallback):  # type: ignore[misc, name-defined]
        """Ends the run after an iteration."""

        def after_central_iteration(self, *_: Any, **__: Any) -> Any:
            return True, metrics.Metrics()

    def initial(w: Any, hyperparameters: Any) -> dict[str, Any]:
        """The arguments of a run, and its module."""
        layers = hyperparameters.get("layers", (slice(None),))
        module = least_squares(w, layers)
        module.metrics = lambda x, y: {}
        own = dict(training(module, **{name: hyperparameters[name] for name in names}))
        differences = own["model"]._model_diff
        for name, variable in own["model"].variable_map.items():
            differences[name] = torch.empty_like(variable)
        return {"module": module, **own}

    def round(w: Any, state: Any, clients: Any, cohort: Any, generator: Any, **hyperparameters: Any) -> Any:
        with _numpy_seeded(generator.initial_seed()):
            own = initial(w, hyperparameters) if state is None else state
            rest = {k: v for k, v in own.items() if k not in ("module", "algorithm", "postprocessors")}
            users = Users([clients[i] for i in cohort])
            backend = simulate.SimulatedBackend(users, users, own.get("postprocessors"))
            own["algorithm"].run(backend=backend, callbacks=[OneIteration()], send_metrics_to_platform=False, **rest)
        return own["module"].vector(), own

    names = asked(training, 1)
    return from_torch(taking(round, names))


@contextlib.contextmanager
def _numpy_seeded(seed: int) -> Iterator[None]:
    """NumPy's global generator, from which the library seeds its own, has this seed inside the context."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed % 2**32)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
