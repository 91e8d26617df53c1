"""The parameters that several families of problems share: type, meaning and unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dpfl_theory.core.parameter import Meaning

Clients = Annotated[int, Meaning("the number n of clients")]
Dimension = Annotated[int, Meaning("the number d of parameters")]
Records = Annotated[int, Meaning("records of each client")]
Features = Annotated[int, Meaning("features of a record")]
Classes = Annotated[int, Meaning("classes of records")]
Heterogeneity = Annotated[float, Meaning("distance between the clients' own models; 0 for equal ones")]
Noise = Annotated[float, Meaning("standard deviation of the targets' noise")]
Threshold = Annotated[
    float | Sequence[float],
    Meaning("where the loss changes from quadratic to linear; one number, or one for each client", "unit of y"),
]
Ridge = Annotated[float, Meaning("ridge/2 times the squared norm is added to every f_i", "F/X^2")]
LabelNoise = Annotated[float, Meaning("fraction of the labels that are replaced by another one")]
TestShare = Annotated[float, Meaning("fraction of the records that is held out")]
Seed = Annotated[int, Meaning("seed of the random data")]

# Real data.
Data = Annotated[str, Meaning("a bundled set's name, or a LIBSVM or NPZ file")]
Partition = Annotated[
    str, Meaning("how records are split among clients: iid, or shards and similarity by label or target")
]
ShardsPerClient = Annotated[int, Meaning("shards of each client, of records sorted by label")]
Percent = Annotated[
    float, Meaning("per cent of each client's records that are independent; the rest is sorted by label")
]
Columns = Annotated[
    int | Sequence[int] | None,
    Meaning("a number of leading principal components, or a list of columns; all without it"),
]
Standardise = Annotated[bool, Meaning("features of mean 0 and variance 1")]
Bias = Annotated[bool, Meaning("append a column of ones")]
RowNorm = Annotated[float | None, Meaning("length of the longest row, to which one factor scales all rows")]
