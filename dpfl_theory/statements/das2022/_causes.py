"""Why printed statements of das2022 fail, each cause told once, and how line 3 of Algorithm 1 is read."""

from __future__ import annotations

from dpfl_theory.statements.errata import Cause

__all__ = [
    "COMPARISON",
    "FIXED",
    "INDEPENDENT",
    "LARGE_EPSILON",
    "RANGE",
    "ROUNDS",
    "SAMPLING",
]

INDEPENDENT = (
    "Each client joins independently with probability r/n, as line 3 of Algorithm 1 is printed: S_k is 'formed by "
    "sampling each client in [n] with probability r/n'. The size of a cohort is then random, with mean r."
)
FIXED = (
    "Every cohort has exactly r clients, drawn without replacement. (7) asks for it, where zeta_k is exactly N(0, "
    "sigma^2); Algorithm 2, without privacy, draws 'r clients chosen uniformly at random', and Appendix G speaks of "
    "the 'number of participating clients' r. Line 3 of Algorithm 1 prints the other reading."
)

SAMPLING = Cause(
    id="das2022.sampling",
    title="The size of a sampled cohort is random",
    text=(
        "Line 3 of Algorithm 1 lets each client join with probability r/n, while line 14 divides by r. The step from "
        "(11) to (12) applies Fact 2 to the cohort's sum as if it had exactly r terms. It has |S_k| terms, so that "
        "Fact 2 gives the factor |S_k|/r, which is correlated with the sum. The second moment of the average is up to "
        "1 + kappa times (12)'s bound, kappa = (1/r)(1 - r/n), with equality where all g_i agree. For clipping the "
        "proof has room for this: for r >= 1 Theorem 4 (a) and the second display of Theorem 6 survive. Normalised "
        "updates do not shrink near the minimiser and leave no room: the term with G^2/(2L) or its like needs the "
        "factor 1 + kappa. With exactly r clients in each round everything holds as printed. Why clipping survives, "
        "with h = eta L E <= 1/4, s the share of clipped clients, g = (1/n) sum g_i, and all in units of eta/(LE): "
        "(i) for r >= 1 the second moment exceeds (12)'s bound by ||g||^2 at most, which costs h ||g||^2. (ii) An "
        "unclipped client pays ||u_i - E c_i||^2, c_i = grad f_i(w*), by the three-point bound <grad f_i(x), w - w*> "
        ">= f_i(w) - f_i(w*) - (L/2) ||w - x||^2 + ||grad f_i(x) - c_i||^2/(2L) at its local iterates x. (iii) A "
        "clipped client pays C^2 (1/2 - eta L), slack of (19) to (22) with Lemma 8's own factor 1 - eta L, and 3 h "
        "C^2/16 more at the largest Delta_i, which the second display counts for it too. (iv) sum c_i = 0 and E "
        "||c_i|| <= C/sqrt(8), so that g = a + b, ||a||^2/(1 - s) at most the mean of what unclipped clients pay, and "
        "||b|| <= (s + min(s, 1 - s)/sqrt(8)) C. (v) With the weight beta = h (1 - s), h ||g||^2 <= ||a||^2/(1 - s) + "
        "h ||b||^2/(1 - beta), and the last term is at most s times what a clipped client pays."
    ),
    example=(
        "n = 2, r = 1, g_1 = g_2 = 1: |S_k| is 0, 1, 2 with probability 1/4, 1/2, 1/4, so that the left side of (12) "
        "is 3/2 and the right side is 1. For (3): n = 40 clients with f_i = h_c(w), the Huber function of threshold "
        "c, c = 1 for one and 1e-6 for the others, r = 3, E = 1, alpha = 1, epsilon = 5, delta = 1e-5, rho = 0.0324, "
        "K = 900, w_0 = 0.02, seed 0, 400 runs: the left side is 0.0359 and the right side 0.0315."
    ),
    reply=(
        "r is meant as the number of participating clients: (7) gives the noise of exactly r messages, Algorithm 2 "
        "draws 'r clients chosen uniformly at random', and Appendix G takes r = 0.2 n. With exactly r clients (12) "
        "is right, and for r = 1000 the difference is below 0.1%."
    ),
    answer=(
        "Under that reading all six statements hold as printed; each is checked so beside the literal one. But line 3 "
        "says 'sampling each client in [n] with probability r/n', and Theorem 3 rests on Theorem 1 of Abadi et al., "
        "which is about independent sampling. Algorithm 2's 'r clients chosen uniformly at random' in line 3, or the "
        "factor 1 + kappa, makes both parts agree. The privacy of exactly r clients then needs its own reference."
    ),
)

ROUNDS = Cause(
    id="das2022.rounds",
    title="Section 4.1 quotes Theorem 4's K with a factor 1/E too much",
    text=(
        "Theorem 4 sets K = (2 alpha gamma/C)/rho^2; Section 4.1 recalls it as (2 alpha gamma/(CE))/rho^2. The "
        "appendix has C_hat E = C in that place, so that C was probably written for C_hat. (4) and (5) are right "
        "with Theorem 4's K. With Section 4.1's own K the run is E times shorter, and the bound that follows has "
        "gamma/E for gamma."
    ),
    example=(
        "(4) for two equal Huber clients, d = 1, L = G = 1, |w_0 - w*| = 20, rho = 0.1, every client in each round: "
        "with E = 2, alpha = 16, K = 1600, that is gamma = 2, the left side is 14.5 and the right side 10.1; with E = "
        "4, alpha = 32, K = 800, gamma = 2 as well, it is 17.0 against 10.1 (64 runs each), and it stays so as alpha "
        "grows: 14.5 for E = 2, alpha = 64, K = 6400, and 17.0 for E = 4, alpha = 128, K = 3200."
    ),
    reply="A misprint in a recalled formula: Theorem 4 has K right, and (4) and (5) are meant with it.",
    answer=(
        "With Theorem 4's K they hold (das2022.eq4.repaired and das2022.eq5.repaired). The misprint counts only for "
        "who takes K from Section 4.1, which no experiment of the paper does: with E = 20 that run is twenty times "
        "too short."
    ),
)
COMPARISON = Cause(
    id="das2022.comparison",
    title="Equal upper bounds do not order what they bound",
    text=(
        "(4) and (5) have one right side, and at the same iterates the left side of (5) is the larger one. But the "
        "two left sides are of different runs, and two upper bounds, equal or not, say nothing of which run ends "
        "lower. Clipping at C = GE keeps the clients' proportions; normalisation gives every client the same weight, "
        "however small its gradient. A client with a small gradient and a direction of its own then slows the common "
        "progress down."
    ),
    example=(
        "n = 2, d = 2, Huber clients f_1 = h_1(w_1) and f_2 = h_0.1(-0.9 w_1 + 0.436 w_2) with common minimiser 0, w_0 "
        "= (20, 50), L = G = E = 1, every client in each round, 256 runs. Mean suboptimality over the rounds, clipping "
        "and normalisation: 4.31 and 8.78 at alpha = 1, 4.29 and 8.77 at alpha = 4, both with rho = 0.1 and gamma = 6; "
        "5.35 and 5.97 at alpha = 1, rho = 0.3, gamma = 53.85 = L ||w_0 - w*||, which makes the bounds least."
    ),
    reply=(
        "Section 4.1 says 'we expect', for asymptotic bounds and typical problems, not that normalisation wins on "
        "every problem; and the experiments bear the expectation out."
    ),
    answer=(
        "The abstract says 'We theoretically show that the resulting normalization-based private FL algorithm "
        "attains better convergence than its clipping-based counterpart on convex objectives in over-parameterized "
        "settings', and contribution (a) 'showing that normalization has better asymptotic convergence'. The example "
        "is convex and over-parameterised, inside Theorem 4, and the factor stays as alpha grows. Experiments are "
        "another matter, and are redone here as the paper has them."
    ),
)
RANGE = Cause(
    id="das2022.range-of-epsilon",
    title="The range of epsilon grows with the number of rounds",
    text=(
        "Theorem 3 is Theorem 1 of Abadi et al. (2016), whose proof chooses a moment of order about "
        "log(1/delta)/epsilon, which must be at least 1, and a sampling probability below 1/(16 z), z being the noise "
        "multiplier, which excludes r = n. As printed nothing but r^2 K/n^2 limits epsilon. With every client in "
        "every round q must be at least about epsilon/(2 log(1/delta)), which grows with K. It matters for epsilon of "
        "the order of 2 log(1/delta) and more; below that q = 4 is enough with every client in every round, for "
        "neighbours one of which has a client's message replaced by noise only (zero-out). Where the client's data "
        "are replaced, as Appendix A's 'differ in exactly one sample' may be read, a message moves by up to 2C, and "
        "every constant is four times as large (16 for 4)."
    ),
    example=(
        "q = 4, r = n, delta = 1e-05, K = 37 and epsilon = 36.9 < r^2 K/n^2: the K averaged updates together are one "
        "Gaussian mechanism whose exact delta is 1.316e-05 by zero-out, and more where the client's data are replaced."
    ),
    reply=(
        "The theorem is quoted from [1] as it stands there; budgets above 2 log(1/delta), 23 for delta = 1e-5, are of "
        "no practical interest, and O(.) may hide a small constant."
    ),
    answer=(
        "For every constant in O(.) and every q there is a number of rounds at which it fails, since the range grows "
        "with K. The condition epsilon <= 2 log(1/delta) is harmless, and all settings of the paper meet it."
    ),
)
LARGE_EPSILON = Cause(
    id="das2022.large-epsilon",
    title="The Gaussian mechanism's condition epsilon < 1 is missing",
    text=(
        "Theorem A.1 of Dwork and Roth is for epsilon < 1. Definition 5 states it for every epsilon. The prescribed "
        "standard deviation falls like 1/epsilon, while for large epsilon a Gaussian needs about 1/sqrt(2 epsilon). "
        "The noise is enough for epsilon <= 3.78 whatever delta is, and for delta = 1e-5 up to 8.42."
    ),
    example=(
        "epsilon = 10, delta = 1e-05, Delta_2 = 1: the variance is 0.2347, and the mechanism's exact delta is "
        "2.265e-05."
    ),
    reply="It is recalled from [13] for background; epsilon < 1 is understood, and no theorem rests on it.",
    answer=(
        "The paper's own epsilon is 5 and 2, beyond the condition, so that it cannot be understood; there the noise "
        "happens to be enough (delta = 1e-5 and 1e-6). The paper's noise comes from Theorem 3, so nothing changes."
    ),
)
