"""Algorithms that this package or one of its commands lacks, with the nearest one: for messages about unknown names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping

_FEDAVG, _SCAFFOLD, _SCAFFNEW = ((name, f"dp-{name}") for name in ("fedavg", "scaffold", "scaffnew"))
_SERVER = "with plain gradient descent on the server {} is FedAvg"
RELATED: Mapping[str, tuple[Collection[str], str]] = {
    "fedprox": (_FEDAVG, "without its proximal term FedProx is FedAvg"),
    "fednova": (_FEDAVG, "with the same number of local steps on all clients FedNova is FedAvg"),
    "fedopt": (("fedadam",), "FedAdam, FedYogi and FedAdagrad are FedOpt with these optimizers"),
    "fedadam": (_FEDAVG, _SERVER.format("FedAdam")),
    "fedyogi": (_FEDAVG, _SERVER.format("FedYogi")),
    "fedadagrad": (_FEDAVG, _SERVER.format("FedAdagrad")),
    "fedavgm": (_FEDAVG, "without momentum on the server FedAvgM is FedAvg"),
    "fedsgd": (("dp-fedsgd", *_FEDAVG), "FedSGD is FedAvg with one local step"),
    "feddyn": (_SCAFFOLD, "FedDyn too corrects client drift by a state of each client"),
    "mime": (_SCAFFOLD, "Mime too corrects client drift by control variates"),
    "mimelite": (_SCAFFOLD, "Mime too corrects client drift by control variates"),
    "fedlin": (_SCAFFOLD, "FedLin too corrects client drift, by the server's gradient"),
    "proxskip": (_SCAFFNEW, "ScaffNew is ProxSkip for averaging over clients"),
    "tamuna": (_SCAFFNEW, "TAMUNA extends ScaffNew by partial participation and compression"),
    "ef14": (("dp-clip21", "dp-norm-ec"), "both use EF21, another form of error feedback"),
    "ef21": (("dp-clip21", "dp-norm-ec"), "Clip21 is EF21 with clipping"),
    "adaptiveclipping": (("dp-fedavg-adaptive",), "it is DP-FedAvg with adaptive clipping"),
}
"""The nearest algorithms and why, by name without hyphens and without ``dp``; the first known one of them is named."""
_OTHERS = (
    "apfl ditto fedac fedasync fedbn fedbuff feddane fedpa fedpd fedper fedrep fedsam fedsplit moon pfedme perfedavg "
    "qfedavg qffl scaffoldm stem vrlsgd"
)
"""Algorithms without a near one in this package: for them no other spelling is suggested."""


def instead(name: str, known: Iterable[str]) -> str:
    """The advice for an unknown algorithm name: another spelling, or the nearest algorithm and why.

    >>> instead("fedavgg", ["fedavg", "scaffold"])
    "did you mean 'fedavg'?"
    >>> instead("FedNova", ["fedavg"])
    "the nearest is 'fedavg': with the same number of local steps on all clients FedNova is FedAvg; choose from fedavg"
    >>> instead("Fed-Nova", ["fedavg", "fednova"])
    "did you mean 'fednova'?"
    >>> instead("moon", ["fedavg", "scaffold"])
    'choose from fedavg, scaffold'
    """
    names = sorted(known)
    listed = f"choose from {', '.join(names)}" if names else "none is known"
    letters = re.sub(r"[^a-z0-9]", "", name.lower())
    if same := [one for one in names if one.replace("-", "") == letters]:
        return f"did you mean {same[0]!r}?"
    plain = letters.removeprefix("dp")
    candidates, why = RELATED.get(plain, ((), ""))
    if nearest := [candidate for candidate in candidates if candidate in names]:
        return f"the nearest is {nearest[0]!r}: {why}; {listed}"
    if plain in _OTHERS.split() or plain in RELATED:
        return listed
    begin = [one for one in names if len(name) > 2 and one.startswith(name.lower())]
    near = begin if 0 < len(begin) <= 3 else difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.75)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else listed
