"""The causes for which printed statements of zhang2021 fail, each described once, for the paper's authors."""

from __future__ import annotations

from dpfl_theory.core import Cause

__all__ = [
    "CAUCHY_FACTOR",
    "FACTOR_UNIT",
    "HUBER_PART",
    "LOST_L",
    "LOST_SIGN",
    "MOMENT_ORDER",
    "SAMPLED_CLIENTS",
    "TWO_METHODS",
]

SAMPLED_CLIENTS = Cause(
    "zhang2021.sampled-clients",
    "The variance of sampling $P$ of $N$ clients is lost from (20) to (21)",
    r"(20) contains $(12/P) \eta_l^2 \eta_g^2 \alpha Q^3 (15 L^2 \eta_l^2 + 1) \sigma_g^2$. In (21) only the part "
    r"with $15 L^2 \eta_l^2$ is left; the other, larger one bounds the variance of the cohort's mean update about the "
    r"clients' mean, which full gradients do not remove. The bounds after it therefore have no term of order $\eta_g "
    r"\eta_l Q \sigma_g^2/P$. Cohorts of $P < N$ clients, drawn uniformly without replacement, need one, times $(N - "
    "P)/(N - 1)$, and $P$ draws with replacement, which justification (ii) of (18) names, need it for every $P$.",
    r"$f_1 = (x - 1)^2/2$ and $f_2 = (x + 1)^2/2$, one of the two takes part $(N = 2, P = Q = 1, L = \sigma_g = 1)$, "
    r"$x^0 = 0$, $\eta_l = 1/1000$, $\eta_g = 20$, $T = 3$, no noise, no clipping. The mean of $E\|\nabla f\|^2$ is "
    "0.0003947, Theorem 3.1 allows 7.5e-05. In the first round $f$ grows by 0.0002, (21) allows 3.72e-07; and (22) "
    "claims that 0 is at most -0.03993.",
    "The standard terms are inherited from Yang et al. and stated up to constants; with full participation no such "
    r"term arises, with identically distributed clients $\sigma_g = 0$, and $P = 1$ is a corner where the limit "
    "$P/(6QL(P - 1))$ is empty.",
    r"The theorem is stated for every $P$ and with explicit constants, and no constant helps: with $\sigma_l = 0$ the "
    r"third term is 0 and the second falls with $\eta_l^2$ only. $P = 1$ is only the smallest instance: two draws of "
    r"two clients, with replacement, exceed the bound too. The abstract of Yang et al. gives $O(\sqrt{Q}/\sqrt{PT} + "
    "1/T)$ for partial participation, which is the rate that the missing term leads to. With full participation of "
    "$N$ different clients, and the $L$ that (20) lost restored, the theorem is not refuted.",
)

LOST_L = Cause(
    "zhang2021.lost-l",
    "A smoothness constant is lost from (19) to (20)",
    r"(19) enters (20) through $(L/2) \eta_g^2$ times 3 (16), 2 (17) and (18), so with the factor $3 L \eta_g^2/(P "
    "N)$. The last two terms of (20) have $30/P$ and $12/P$ where this gives $30 L/P$ and $12 L/P$; their unit is "
    r"that of a squared parameter, not that of the objective. The theorem's limit $\eta_g \eta_l \le P/(48Q)$, which "
    r"is to absorb the term in $\|\nabla f\|^2$, has lost the same $L$, and with it its unit.",
    r"$f_1 = 50 (x - 1)^2$ and $f_2 = 50 (x + 1)^2$, one of the two takes part $(L = \sigma_g = 100, P = Q = \eta_g = "
    r"1)$, $x_t = 0$, $\eta_l = 10^{-6}$: $f$ grows by 5e-07, allowed are 1.215e-07. And for $N = P = Q = 1$, $f = "
    r"100 x^2$, the limit $\eta_g \eta_l = 1/48$ is allowed, with which a round multiplies $x$ by -3.167.",
    r"$L$ may be scaled to 1, as constants are not the point of the proof; and for $P \ge 2$ the other limit of the "
    "steps, $P/(6QL(P - 1))$, has its $L$.",
    r"The other terms keep their $L$, and the theorem's constants are explicit. For $P \ge 2$ the other limit keeps "
    "the method stable, so that the example of the limit is one for $P = 1$ only. With objectives scaled to $L = 1$ "
    "the two terms of (20) have held in every round that was tried; the loss is one of units, not of the argument.",
)

CAUCHY_FACTOR = Cause(
    "zhang2021.cauchy-factor",
    "Cauchy's factor Q in (19)",
    r"$\|\sum_q a_q\|^2 \le Q \sum_q \|a_q\|^2$ holds with $Q$. Line (ii) of (19) has $Q^2$ instead, and line (iii), "
    "which bounds the sum by (15), no longer has any factor before it. So the terms that come from (15) lack a factor "
    r"$Q$, $Q^2 \sigma_l^2$ where $Q^3 \sigma_l^2$ is needed, while the term in $\nabla f_i(x_t)$ has $Q^3$ where "
    "$Q^2$ would do.",
    r"One client, $f = x^2/2$, $x_t = 0$, stochastic gradients $x + n$ with $n = \sigma_l$ or $-\sigma_l$, short "
    r"local steps, $Q = 32$: in units of $\eta_l^4 \sigma_l^2$ the left side is 10416, the right side 10240. With $f "
    r"= -x^2/2$ near $x_t$ and $\eta_l Q L = 0.129$, which the theorem allows, $Q = 29$ is enough: 8453 and 8410.",
    "Powers of $Q$ are constants of the analysis, and the second term's $Q^3$ is larger than it needs to be.",
    "At a stationary point of a homogeneous problem the second term is 0 and cannot make up for the first one. $Q$ "
    "times (15), and $Q^2$ for $Q^3$ in the other term, is all that has to change.",
)

LOST_SIGN = Cause(
    "zhang2021.lost-sign",
    "The sign of the updates in (14)",
    r"The $\Delta_i$ are $-\eta_l \alpha$ times sums of gradients, so the square that completes $\langle\nabla f, "
    r"\Delta\rangle$ has a plus sign. (15) starts with the right square, $\sqrt{Q} \nabla f$ less the mean of the "
    "local gradients.",
    "$f = x^2/2$, $x_t = 1$, one client, one local step of $1/10$, no noise, no clipping: the left side of (14) is "
    "-1/10, the right side $1/10$.",
    "A misprint: (15) bounds the right quantity.",
    "Agreed; nothing that follows is affected. It is listed because an equality that fails is in the proof.",
)

HUBER_PART = Cause(
    "zhang2021.huber-part",
    "The linear part of the Huber loss in (7)",
    r"In the second line of (7) the loss $(\Lambda_i/A_i) f_i$ is printed in place of $(A_i x - b_i)/A_i$. And the "
    r"offset $c^2/2$ is that of a quadratic of curvature 1, not $\Lambda_i A_i^2$. The derivative of the line is then "
    "not the clipped gradient of (6), and the two lines do not meet.",
    r"$A = \Lambda = c = 1$, $b = 0$, $x = 3$: (7) has 4, the integral of the clipped gradient is $5/2$; the printed "
    "derivative is 3, the clipped gradient 1.",
    "A misprint: (6) has the gradient that is meant, and the text says 'Huberized loss'.",
    "Agreed; nothing else in the paper uses the formula.",
)

FACTOR_UNIT = Cause(
    "zhang2021.factor-unit",
    r"The unit of the bound on $|\alpha_i - \tilde\alpha_i|$",
    r"$\alpha = c/\max(c, y)$ has the slope -1/$c$ just above $y = c$, so that two factors differ by at most $|y - "
    "z|/c$. The printed bound lacks the division by $c$: its left side is a pure number, its right side a length.",
    r"$c = 1/2$, $\eta_l = 1$, $Q = 1$, one stochastic gradient that is $1/2$ or 1, each with probability $1/2$: "
    "where it is $1/2$ the factors are 1 and $2/3$, which differ by $1/3$, and the right side is $1/4$.",
    r"The bound is used only to say that its left side is 0 when $\sigma_l = 0$.",
    "That use is not affected: the right side is 0 with and without the division. Only the unit is wrong, and with it "
    "the inequality for $c < 1$.",
)

TWO_METHODS = Cause(
    "zhang2021.two-methods",
    "The caption of Table 1 names gradient clipping",
    "The caption says 'gradient clipping'; Claim 2.2 and Algorithm 2 clip updates. For $Q = 1$ both are the same, as "
    r"Section 2.1 says, and the entry $1/2$ is right. For $Q = \infty$ they are not: with clipped local gradients "
    "every client still goes to its own minimiser, so that endless local steps end at $13/9$ whether or not they are "
    "clipped. The entry $2/3$ is that of clipped updates.",
    "Gradients clipped, endless local steps of $1/50$: the stationary point is $13/9 = 1.4444$, printed $2/3 = "
    "0.6667$. Updates clipped instead: 0.6667.",
    "The caption means difference clipping, the only kind besides model clipping that Section 2.1 has; that section "
    "says that for $Q = 1$ it is gradient clipping.",
    "Agreed: with 'difference clipping' in the caption all four entries are right in the sense of Section 2.1, and so "
    "are both conclusions that the text draws. The word in the caption is the only misprint of the table.",
)

MOMENT_ORDER = Cause(
    "zhang2021.moment-order",
    r"A range of $\varepsilon$ relative to $\ln(1/\delta)$ is missing",
    r"For any constants $u$ and $v$ choose $\delta \le 1/2$ so that $s^2 = v \ln(1/\delta) \ge 1$, and let "
    r"$\varepsilon = 4 s^2$ and $T \ge \varepsilon/u$ rounds with every client in each $(q = 1)$. All rounds together "
    r"are one Gaussian release, and its true $\delta$ exceeds $\Phi(s) - \varphi(s)/(3 s)$, so that no pair of "
    "constants is enough. The theorem is rephrased from Theorem 1 of Abadi et al., whose proof chooses a moment of "
    r"order $\ln(1/\delta)/\varepsilon$; that has to be at least 1, and needs a sampling probability below $1/(16 "
    "z)$, $z$ being a round's noise multiplier. Neither condition is stated in that theorem, nor here.",
    r"For every $u$ and $v$ some true $\delta$ is above 0.7607. With $v = 4$, $u = 1$, $\delta = 10^{-5}$, $P = N$ "
    r"and $T = \varepsilon = 37$ it is 1.361e-05. At $P = N$ and $\varepsilon = 2$ the noise with $v = 4$ has the "
    r"true $\delta$ 6.463e-13 for zero-out neighbours, and 0.0001373 where a client's data set is replaced.",
    r"It is a known theorem, cited as such, and no one uses it with $\varepsilon$ far above $\ln(1/\delta)$ or with "
    "$P = N$.",
    r"Agreed for its use. At $\delta = 10^{-5}$, $N = 1920$ and $P = 80$ the noise with $v = 4$ keeps $\varepsilon = "
    "1.5$ for zero-out neighbours (certified at most 0.964 for $T = 1000$, cohorts of fixed size). The noise with $v "
    r"= 16$ does so where a client's data set is replaced. The words 'for any $\varepsilon \le u q^2 T$' and 'any "
    r"$\delta > 0$' go further, for $P < N$ too (80 of 1920 clients, $\varepsilon = 64 s^2$ and many rounds); the "
    "grade says that they are inherited.",
)
