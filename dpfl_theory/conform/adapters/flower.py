"""Rounds of Flower: its strategies on the server, and its clients through the simulation engine's own conversion of
messages. Clients are called in this process, one after the other, without Ray."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dpfl_theory.conform.adapters.common import Round, asked, needed, taking
from dpfl_theory.conform.user_function import replaced
from dpfl_theory.conform.world import Client
from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Array

MODULES = (
    "app",
    "app.message",
    "common",
    "clientapp",
    "compat.common.recorddict_compat",
    "client",
    "supercore.task_identity",
)
SERVER, FIRST = 1, 100
"""The numbers of the server's node and of the first client's."""


def from_flower(strategy: Callable[..., Any], client: Callable[..., Any]) -> Round:
    """A round of a Flower strategy with Flower clients.

    strategy: ``strategy(**parameters)`` makes the strategy, once for a run: one of ``flwr.serverapp.strategy`` (with
        messages) or of ``flwr.server.strategy``.
    client: ``client(view, **parameters)`` makes a ``ClientApp``, a ``Client`` or a ``NumPyClient`` from a client as a
        round sees it. Its context is kept over the rounds. An object that has only ``fit(parameters, config)`` is
        called directly.

    Both take hyper-parameters by name. ``layers`` gives the model's layers: where one of them takes it, each layer is
    an array of its own, else w is one array.

    The strategy's own functions choose the clients from the round's cohort, write the messages, and aggregate the
    replies. Each message passes through ``ClientApp``, converted as the simulation engine does. Give strategies a
    least number of clients of 1 (``min_train_nodes=1``), since they wait for more than there are.

    Raises EnvironmentFault where Flower is not installed.
    """
    flwr = _Flower()
    of_strategy, of_client = asked(strategy, 0), asked(client, 1)
    names = [*of_strategy, *of_client]

    def round(w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, **hyperparameters: Any) -> Any:
        def own(wanted: Sequence[str]) -> dict[str, Any]:
            return {name: hyperparameters[name] for name in wanted}

        now, contexts, number = (strategy(**own(of_strategy)), {}, 1) if state is None else state
        layers = hyperparameters.get("layers", (slice(None),))
        members = [int(i) for i in cohort]

        def reply(i: int, message: Any) -> Any:
            """The reply of client i, whose context is kept."""
            if i not in contexts:
                contexts[i] = flwr.context(i, len(clients))
            return flwr.app(client(clients[i], **own(of_client)))(message, contexts[i])

        def fitted(i: int, instructions: Any) -> Any:
            """The result of client i for a strategy without messages."""
            made = client(clients[i], **own(of_client))
            if not flwr.is_client(made):
                return flwr.plain_fit(made, instructions)
            return flwr.to_result(reply(i, flwr.to_message(i, instructions)))

        with flwr.as_server():
            arrays = [w[layer] for layer in layers]
            by_messages = hasattr(now, "configure_train")
            play = flwr.by_messages if by_messages else flwr.by_results
            found = play(now, number, arrays, members, reply if by_messages else fitted)
        return (w if found is None else np.concatenate(found)), (now, contexts, number + 1)

    return taking(round, names)


class _Flower:
    """Flower's modules, and what is done with them."""

    def __init__(self) -> None:
        needed("flwr", "Flower")
        found = [needed(f"flwr.{name}", "a Flower with message-based apps (flwr 1.42)") for name in MODULES]
        self._app, self._message, self.common, self._clientapp, self._compat, self._client, task = found
        self._task = task.TaskIdentity

    def as_server(self) -> Any:
        """This process has the identity of a server, as messages need one, and nothing is logged in every round."""
        identity = {"_task_id": 1, "_run_id": 0, "_node_id": SERVER}
        own = {(self._task, name): value for name, value in identity.items()}
        return replaced({(logging.getLogger("flwr"), "disabled"): True, **own})

    def context(self, i: int, clients: int) -> Any:
        """The context of a client of a simulation."""
        config = {"partition-id": i, "num-partitions": clients}
        return self._app.Context(
            run_id=0, node_id=FIRST + i, node_config=config, state=self._app.RecordDict(), run_config={}
        )

    def is_client(self, made: Any) -> bool:
        """Whether this is one of Flower's clients or apps."""
        kinds = (self._clientapp.ClientApp, self._client.Client, self._client.NumPyClient)
        return isinstance(made, kinds)

    def app(self, made: Any) -> Any:
        """A client as a ``ClientApp``."""
        if isinstance(made, self._clientapp.ClientApp):
            return made
        if not self.is_client(made):
            need = "give a ClientApp, a Client or a NumPyClient"
            raise InputError(f"the client is {type(made).__name__}, which Flower's messages do not reach: {need}")
        return self._clientapp.ClientApp(client_fn=lambda context: made.to_client())

    def to_message(self, i: int, instructions: Any) -> Any:
        """Instructions as the message that the simulation engine makes of them."""
        metadata = self._app.Metadata(
            run_id=0,
            message_id="",
            group_id="",
            src_node_id=SERVER,
            dst_node_id=FIRST + i,
            reply_to_message_id="",
            created_at=0.0,
            ttl=self._app.DEFAULT_TTL,
            message_type=self._app.MessageType.TRAIN,
        )
        content = self._compat.fitins_to_recorddict(instructions, keep_input=True)
        return self._message.make_message(content=content, metadata=metadata)

    def to_result(self, reply: Any) -> Any:
        """A client's reply as a result."""
        return self._compat.recorddict_to_fitres(reply.content, keep_input=False)

    def plain_fit(self, made: Any, instructions: Any) -> Any:
        """The result of an object that has only ``fit``."""
        common = self.common
        arrays, count, metrics = made.fit(common.parameters_to_ndarrays(instructions.parameters), instructions.config)
        status = common.Status(common.Code.OK, "")
        return common.FitRes(status, common.ndarrays_to_parameters(arrays), count, metrics)

    def by_results(self, now: Any, number: int, arrays: Sequence[Array], members: Sequence[int], fitted: Any) -> Any:
        """A round of a strategy of ``flwr.server.strategy``."""
        parameters = self.common.ndarrays_to_parameters(list(arrays))
        asked = now.configure_fit(number, parameters, _Manager(members))
        results = [(proxy, fitted(proxy.number, instructions)) for proxy, instructions in asked]
        found, _ = now.aggregate_fit(number, results, [])
        return None if found is None else self.common.parameters_to_ndarrays(found)

    def by_messages(self, now: Any, number: int, arrays: Sequence[Array], members: Sequence[int], reply: Any) -> Any:
        """A round of a strategy of ``flwr.serverapp.strategy``."""
        if not members:
            return None  # it would wait for a client
        record, config = self._app.ArrayRecord(list(arrays)), self._app.ConfigRecord()
        messages = now.configure_train(number, record, config, _Grid(members))
        replies = [
            reply(one.metadata.dst_node_id - FIRST, one)
            for one in sorted(messages, key=lambda m: m.metadata.dst_node_id)
        ]
        found, _ = now.aggregate_train(number, replies)
        return None if found is None else found.to_numpy_ndarrays()


class _Proxy:
    """A client as a strategy sees it."""

    def __init__(self, number: int) -> None:
        self.number, self.cid = number, str(number)


class _Manager:
    """The clients of a round, all of which are sampled."""

    def __init__(self, members: Sequence[int]) -> None:
        self._members = [_Proxy(number) for number in members]

    def num_available(self) -> int:
        """Their number."""
        return len(self._members)

    def sample(self, *_: Any, **__: Any) -> list[_Proxy]:
        """All of them."""
        return self._members


class _Grid:
    """The nodes of a round, which a strategy of messages samples from."""

    ASKED = 2
    """How often a strategy that does not wait may ask for them."""

    def __init__(self, members: Sequence[int]) -> None:
        self._members, self._asked = members, 0

    def get_node_ids(self) -> Iterator[int]:
        """Their numbers."""
        self._asked += 1
        if self._asked > self.ASKED:
            need = "make it with min_train_nodes=1 and min_available_nodes=1"
            raise InputError(f"the strategy waits for more than the {len(self._members)} clients of a round: {need}")
        return iter([FIRST + i for i in self._members])
