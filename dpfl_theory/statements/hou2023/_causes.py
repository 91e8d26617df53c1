"""Why printed statements of hou2023 fail, each cause told once."""

from __future__ import annotations

from dpfl_theory.statements.errata import Cause

__all__ = ["EXPECTED_ROUNDS", "NOISE_IN_SHIFTS", "NOISE_IN_UPDATES", "STARTING_POINT"]

EXPECTED_ROUNDS = Cause(
    id="hou2023.expected-rounds",
    title="An expected number of rounds, and a range of epsilon that grows with it",
    text=(
        "Lemma 1 is Theorem 1 of Abadi et al. (2016), which is about a fixed number of rounds; the expected one, pT, "
        "was put in. Where p < 1 more rounds than expected take place with a probability that does not depend on "
        "delta, so that for small delta no constant v is enough, however small epsilon is. And the proof of Abadi et "
        "al. chooses a moment of order about ln(1/delta)/epsilon, which must be at least 1: with p = 1 v must be at "
        "least about epsilon/(2 ln(1/delta)), which matters for epsilon of the order of 2 ln(1/delta) and more. T in "
        "place of pT and epsilon <= 2 ln(1/delta) repair both with v = 4; so does the number of rounds that is "
        "exceeded with probability delta/2, with ln(2/delta)."
    ),
    example=(
        "v = 4, all messages and coins seen, exact delta. p = 1, T = 37, epsilon = 37, delta = 1e-5 (1e-05): "
        "1.361e-05. p = 1/20, T = 20 (one round expected), epsilon = 1, delta = 1e-7 (1e-07): 1.125e-07."
    ),
    reply=(
        "'Given the expected number of communication rounds pT' supposes that pT rounds take place, as they do in "
        "the experiments, where the number of local steps divides T; and the rest is as Abadi et al. state it."
    ),
    answer=(
        "Algorithm 2, to which Theorem 1 applies the lemma, flips a coin in each iteration, so that the number is "
        "random. If pT rounds do take place the second failure disappears; the first stays, for every u and v, since "
        "epsilon <= u pT grows with T. Neither matters at the paper's own budgets: there v between 1.1 and 2.6 is "
        "enough."
    ),
)
STARTING_POINT = Cause(
    id="hou2023.starting-point",
    title="psi_0 depends on the step size and on p",
    text=(
        "B.2 minimises theta^T and p^2/(1 - theta) over eta and p and takes psi_0 for a constant. It is defined with "
        "eta^2/p^2: psi_0 = ||x_0 - x*||^2 + (eta^2/p^2) ||h_0 - h*||^2. Where the optimal shifts are not known a "
        "larger p or a smaller eta lowers the first term, and the bound at the prescribed values can exceed its "
        "minimum by any factor. With h_0 = h* the corollary is right, for T* >= 1."
    ),
    example=(
        "N = 2, d = 1, f_i(x) = x^2/8 +- 3x, L = 1, mu = 1/4, x_0 = 1, h_0 = 0, v C^2 ln(1/delta)/epsilon^2 = 2: (2) "
        "is 37.2 at eta* = 1, p* = 1/2, T* = 5.81; at eta = 1/16, p = 1/8 it is 29.2 at the same T and 10.4 at T = 1."
    ),
    reply=(
        "The choice is the usual one for ScaffNew: it makes the rate best, and the noise term is the same for all p "
        "<= sqrt(mu eta). psi_T has the weight eta^2/p^2 as well, so that bounds for different choices are of "
        "different quantities."
    ),
    answer=(
        "Corollary 1 says that the choice 'minimizes the upper-bound for E[psi_T] in equation 2', at the same T too "
        "it does not. The part of psi_T that matters, ||x_T - x*||^2, is the same for all choices, and (2) bounds "
        "it. For the rate alone, as T grows without noise, the choice is the best one."
    ),
)
NOISE_IN_UPDATES = Cause(
    id="hou2023.noise-in-updates",
    title="Noise in proportion to C enters the next updates",
    text=(
        "That updates shrink is shown without noise. With Lemma 1's noise each communication adds to the models, and "
        "by h_{t+1} = h_t + (p/eta)(mean Delta - Delta_i) to the control variates, a part of each client's noise, "
        "whatever eta is; the next message returns it. sigma is in proportion to C, so that a larger C does not "
        "help: after pT communications sigma/C = sqrt(v pT ln(1/delta))/epsilon. A run with a second iteration "
        "exceeds C with some probability, and long runs do so in nearly every round."
    ),
    example=(
        "N = 1, d = 1, f(x) = x^2/2, eta = p = C = 1, x_0 = x* = 0, sigma^2 = T, that is v ln(1/delta)/epsilon^2 = 1 "
        "(100000 runs): each message but the first is minus the noise before it. The last message exceeds C with "
        "probability 0.48 for T = 2 and 0.92 for T = 100, as does each one between."
    ),
    reply=(
        "Assumption (B) is an assumption, and 'clipping is only active for the first few rounds' is observed in "
        "Appendix C.1: for the first client of Fed-IXI it takes less than five rounds. Theorem 1 may suppose what it "
        "likes."
    ),
    answer=(
        "An assumption is no error, and Theorem 1 stands as an implication. The remark, though, says 'we show' of "
        "the algorithm with its noise, and it is what makes the assumption harmless; for DP-ScaffNew with Lemma 1's "
        "noise it fails in the strongly convex setting of the theorem, from the second round to the last. A run of a "
        "network with a small step may be different."
    ),
)
NOISE_IN_SHIFTS = Cause(
    id="hou2023.noise-in-shifts",
    title="With noise the control variates do not vanish",
    text=(
        "What is carried over holds for ScaffNew without noise, where h_t converges to h* = 0. With noise each "
        "communication adds (p/eta)(A(e_t) - e_t) to the control variates, of variance (p/eta)^2 (1 - 1/N) sigma^2 "
        "in each coordinate of each client. The practical conclusion of the remark, that the results apply to "
        "DP-FedAvg, is true here: Theorem 1's bound holds for DP-FedAvg with the same coins."
    ),
    example=(
        "N = 2, d = 1, f_i(x) = x^2/2, x_0 = h_0 = 0, eta = p = 1, sigma^2 = 1: ||h_t||^2 over both clients has the "
        "mean 1 at t = 1 and still at t = 200, where a zero vector is promised, and DP-FedAvg's is 0 throughout."
    ),
    reply=(
        "'Converges towards a zero vector' is meant of the noiseless dynamics, or up to the noise; and that the "
        "results apply to DP-FedAvg is right."
    ),
    answer=(
        "The sentence stands in a section on the private algorithms and says 'DP-ScaffNew becomes DP-FedAvg'. With "
        "noise the two never agree: the control variates' variance is stationary. What is right of it is entered, "
        "repaired, and holds."
    ),
)
