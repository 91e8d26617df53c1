"""The exact verifier: decides whether rational data prove or refute an inequality, without any search.

The vectors v_0, v_1, ... may have any dimension; f_0, f_1, ... are numbers. A `Form` is a linear combination of inner
products <v_i, v_j> and numbers f_m, plus a constant. A condition is a form that is at most 0, or equal to 0.

`proves`: objective <= bound follows from the conditions C_1, C_2, ... if there are multipliers l_1, l_2, ... such that

    bound - objective + sum_i l_i C_i  =  <S, G> + c,    S positive semidefinite,    c >= 0,

where G is the Gram matrix of the vectors. The multiplier of an inequality must not be negative; that of an equality may
be. `refutes`: vectors and numbers that meet every condition and give left > right are a counterexample.

Every number is an integer or a fraction; a floating-point number raises TypeError. This module imports only the
standard library. It is the only place of the package that decides these questions; solvers only propose.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

Matrix = Sequence[Sequence[Fraction]]
ZERO = Fraction(0)


@dataclass(frozen=True)
class Form:
    """sum c_ij <v_i, v_j> + sum a_m f_m + constant.

    products: c_ij by (i, j) with i <= j; values: a_m by m. As a condition it is at most 0, or 0 with ``equality``.
    """

    products: Mapping[tuple[int, int], Fraction] = field(default_factory=dict)
    values: Mapping[int, Fraction] = field(default_factory=dict)
    constant: Fraction = ZERO
    equality: bool = False

    def __post_init__(self) -> None:
        if not all(0 <= i <= j for i, j in self.products) or not all(m >= 0 for m in self.values):
            raise ValueError("products are named by 0 <= i <= j, values by m >= 0")
        _require_rational((*self.products.values(), *self.values.values(), self.constant))

    def evaluate(self, gram: Matrix, values: Sequence[Fraction]) -> Fraction:
        """Its value, for the inner products and the numbers that are given."""
        squares = sum((c * gram[i][j] for (i, j), c in self.products.items()), ZERO)
        return squares + sum((a * values[m] for m, a in self.values.items()), ZERO) + self.constant


def combined(terms: Iterable[tuple[Fraction, Form]]) -> Form:
    """The linear combination of forms with these factors; terms that cancel are left out.

    >>> one = Form({(0, 0): Fraction(1)}, constant=Fraction(2))
    >>> combined([(Fraction(3), one), (Fraction(-3), one)])
    Form(products={}, values={}, constant=Fraction(0, 1), equality=False)
    """
    products: dict[tuple[int, int], Fraction] = {}
    values: dict[int, Fraction] = {}
    constant = ZERO
    for factor, form in terms:
        _require_rational((factor,))
        for pair, c in form.products.items():
            products[pair] = products.get(pair, ZERO) + factor * c
        for m, a in form.values.items():
            values[m] = values.get(m, ZERO) + factor * a
        constant += factor * form.constant
    return Form({p: c for p, c in products.items() if c}, {m: a for m, a in values.items() if a}, constant)


def is_positive_semidefinite(matrix: Matrix) -> bool:
    """Whether a symmetric rational matrix is positive semidefinite: all pivots of S = L D L^T are at least 0, and the
    row of a zero pivot is zero. ValueError for a matrix that is not symmetric.

    >>> is_positive_semidefinite([[1, 1], [1, 1]]), is_positive_semidefinite([[1, 2], [2, 1]])
    (True, False)
    >>> is_positive_semidefinite([[0, 1], [1, 1]])
    False
    """
    _require_rational(x for row in matrix for x in row)
    rest = [[Fraction(x) for x in row] for row in matrix]
    size = len(rest)
    if any(len(row) != size for row in rest) or any(rest[i][j] != rest[j][i] for i in range(size) for j in range(i)):
        raise ValueError("the matrix is not symmetric")
    upper = [row[i:] for i, row in enumerate(rest)]
    while upper:
        row, *later = upper
        pivot = row[0]
        if pivot < 0 or (pivot == 0 and any(row)):
            return False
        if pivot > 0:
            shares = [x / pivot for x in row]
            later = [[x - shares[i] * y for x, y in zip(own, row[i:])] for i, own in enumerate(later, 1)]
        upper = later
    return True


def proves(objective: Form, conditions: Sequence[Form], bound: Fraction, multipliers: Sequence[Fraction]) -> bool:
    """Whether the multipliers, one for each condition, prove that objective <= bound wherever the conditions hold.

    >>> square = Form({(0, 0): Fraction(1)})
    >>> at_most_one = Form({(0, 0): Fraction(1)}, constant=Fraction(-1))
    >>> proves(square, [at_most_one], Fraction(1), [Fraction(1)])
    True
    >>> proves(square, [at_most_one], Fraction(999, 1000), [Fraction(1)])
    False
    """
    _require_rational((bound, *multipliers))
    if len(multipliers) != len(conditions):
        return False
    if any(v < 0 and not c.equality for v, c in zip(multipliers, conditions)):
        return False
    slack = combined([(Fraction(-1), objective), *zip(multipliers, conditions)])
    if slack.values or bound + slack.constant < 0:
        return False
    return is_positive_semidefinite(_matrix(slack))


def _matrix(form: Form) -> list[list[Fraction]]:
    """The symmetric matrix of a form's products, of the vectors that occur."""
    occurring = sorted({i for pair in form.products for i in pair})
    place = {i: k for k, i in enumerate(occurring)}
    matrix = [[ZERO] * len(occurring) for _ in occurring]
    for (i, j), c in form.products.items():
        matrix[place[i]][place[j]] += c / 2
        matrix[place[j]][place[i]] += c / 2
    return matrix


def gram_of(points: Matrix) -> list[list[Fraction]]:
    """The inner products of points with rational coordinates."""
    _require_rational(x for point in points for x in point)
    if len({len(point) for point in points}) > 1:
        raise ValueError("points of one space have equally many coordinates")
    return [[sum((a * b for a, b in zip(p, q)), ZERO) for q in points] for p in points]


def meets(conditions: Iterable[Form], points: Matrix, values: Sequence[Fraction]) -> bool:
    """Whether these points and numbers meet every condition."""
    _require_rational(values)
    gram = gram_of(points)
    found = ((form.evaluate(gram, values), form.equality) for form in conditions)
    return all(value == 0 if equality else value <= 0 for value, equality in found)


def refutes(left: Form, right: Form, conditions: Iterable[Form], points: Matrix, values: Sequence[Fraction]) -> bool:
    """Whether these points and numbers meet every condition and left > right there."""
    gram = gram_of(points)
    return left.evaluate(gram, values) > right.evaluate(gram, values) and meets(conditions, points, values)


def _require_rational(numbers: Iterable[object]) -> None:
    for number in numbers:
        if not isinstance(number, (int, Fraction)):
            raise TypeError(f"the verifier takes fractions, not {type(number).__name__}")
