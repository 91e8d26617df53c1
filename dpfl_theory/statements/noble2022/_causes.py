"""The causes for which printed statements of noble2022 fail, each reported once to the paper's authors; each has a
script in counterexamples/."""

from __future__ import annotations

from dpfl_theory.core import Cause

__all__ = [
    "FIXED_STEP",
    "LOST_ROOT",
    "ORDER_OF_NOISE",
    "REPEATED_ROW",
    "RETURNING_USER",
    "SPREAD_OF_POINTS",
    "USERS_SAMPLING",
]

RETURNING_USER = Cause(
    "noble2022.returning-user",
    "a user that returns sends its earlier noisy gradient a second time",
    "Claim B.1 is proved for the server, which knows $c_i^{t-1}$; for a third party the proof says 'in a similar "
    r"manner'. But a third party does not know $c_i^{t-1}$. A user that returns sends $\Delta c_i = c_i^+ - c_i$, and "
    "its model is corrected by $c - c_i$. So its earlier noisy gradient enters a second sum, among other users' "
    "noise. The two sums together average the others' noise out, which DP-FedAvg's sums do not. (A third party is not "
    "given the cohorts. Further coordinates, where the other users' gradients differ, show them to every observer of "
    "$x^t$, and $R$ may be large.)",
    r"$M = 3$, $lM = 2$, $T = 2$, $K = s = 1$, $\sigma_g = 2$. The record moves its gradient by 1 in round 1 and by "
    r"-1 in round 2, in units of $2C/(sR)$. Over the nine equally likely pairs of cohorts $\mu^2 \sigma_g^2$ ($\mu$ "
    "of Gaussian DP) of the view is 1, 1.4, 0.6, 1.4, 1, 0.6, 0.4, 0.4, 0 for DP-SCAFFOLD. It is at most 1, 1, 0.5, "
    r"1, 1, 0.5, 0.5, 0.5, 0 for DP-FedAvg. So at $\varepsilon = 1$ $\delta$ is at least 0.0056 for DP-SCAFFOLD and at "
    "most 0.0033 for DP-FedAvg.",
    "The claim is meant as 'both satisfy the same bound'; a third party sees only the final model, and not the "
    "cohorts.",
    "Both parts of Claim B.1 say 'the same level of privacy' and let a third party see $(x^t, c^t)$ at any $t$; "
    "footnote 1 lets it see every $x^t$, and $x^1$ and $x^2$ suffice here; the cohorts are shown by the data. The "
    "bound that B.4 gives both algorithms counts on the noise of all $lM$ users, and this is what DP-SCAFFOLD loses. "
    "(Of $x^t$ alone nothing is shown.)",
)

USERS_SAMPLING = Cause(
    "noble2022.users-sampling",
    "amplification by sampling users is applied to a mechanism that hides one record only",
    "Step 2 applies Lemma B.2 to the sample of users. The lemma amplifies a mechanism that is private for whatever is "
    r"sampled, here a user's whole data set; Step 1's $\varepsilon_a$ holds for one record of a user. A user's other "
    r"records may show whether it takes part. Then a round gives $(\varepsilon_a, l \delta')$, not $(\log(1 + l "
    r"(e^{\varepsilon_a} - 1)), l \delta')$: sampling users makes a user's rounds fewer and hides nothing in them. In "
    r"$T$ rounds a user takes part $l T$ times, which the noise has to hide. So $\sqrt{l T} s$ counts, where the "
    r"order has $l s \sqrt{T}$: at its $\sigma_g$ $\varepsilon$ grows without limit as $l$ falls. The formulas "
    "'without "
    "approximation' fail for the same reason, and need no Assumption 1 (Section 4.1).",
    r"User 0's gradients are $-C$, all other users' are $C$, $lM = K = 1$, $\delta = 10^{-6}$: the message shows "
    "whether it is user 0's, since it lies $sR$ units of $2C/(sR)$ off. One round, $T = 1$, where $x^1$ is the final "
    r"model, $M = 1000$, $R = 1000$, $s = 0.5$, $\sigma_g = 5$: Steps 1 to 3 without approximation claim "
    r"$\varepsilon$ 0.00625; the true one is 0.2214. Many rounds, where $x^1, \dots, x^T$ are seen, as footnote 1 "
    r"allows, and $\sigma_g$ is the order with the constant 1 at $\varepsilon = 0.5$. For $s = 0.1$ and $R = 10000$: "
    r"$M = 100$, $T = 20000$, $\sigma_g = 4.79$: the true $\varepsilon$ is 1.334; $M = 1000$, $T = 2000000$, "
    r"$\sigma_g = 5.07$: 4.330; $M = 10000$, $T = 200000000$, $\sigma_g = 5.32$: 15.785. For $s = 0.01$ and $R = "
    r"100000$: $M = 100$, $T = 2000000$, $\sigma_g = 5.32$: 1.147; $M = 1000$, $T = 200000000$, $\sigma_g = 5.57$: "
    r"3.852; $M = 10000$, $T = 20000000000$, $\sigma_g = 5.80$: 14.132.",
    r"Lemma B.2 is standard; the theorem says that $x^T$ is private, and not $x^1, \dots, x^T$; $s = 0.1$ is not $s = "
    "o(1)$, as Assumption 1-(i) asks, orders hide constants, and users' data are not arranged like that in practice.",
    "For $T = 1$, $x^1$ is $x^T$. For many rounds footnote 1 gives the same guarantee where every global model is "
    "observed, and Steps 2 and 3 compose all rounds. $x^T$ of these linear losses shows less, since the noise of all "
    "rounds is in it. But the theorem has no condition on the losses: they may write each round into a coordinate of "
    r"its own and enlarge it there in the next round. If $R$ is large enough for this, $x^T$ alone shows $x^1, \dots, "
    "x^T$ as closely as one likes. Definition 2.1 asks for all neighbouring data sets, and these are two. A smaller "
    r"$s$ changes little: $s$ cancels at the $\sigma_g$ of the theorem, up to logarithms, and no constant keeps up "
    r"with $M$ at fixed $\delta$. The lemma itself is right: its premise, for elements of the set that is sampled "
    "from, is what Step 1 does not give. (The paper's paragraph on finer results says that the combined sampling is "
    "not uniform; that concerns a sharper result, not this step.)",
)

ORDER_OF_NOISE = Cause(
    "noble2022.order-of-noise",
    r"the order of $\sigma_g$ needs more than Assumption 1",
    r"The step from Assumption 1-(i) and 1-(iii) to $(\alpha, O(s^2 \alpha/\sigma_g^2))$-RDP keeps the $s^2$ term of "
    r"Lemma B.7. The terms $s^j e^{j(j-1)/(2 \sigma_g^2)}$, $j \ge 3$, are smaller only while $\alpha$ is at most of "
    r"the order $\sigma_g^2 \log(1/s)$. The $\alpha$ that minimises the bound, of the order $\sigma_g "
    r"\sqrt{\log(1/\delta)}/(s \sqrt{K})$, is far beyond that when $s$ is small. The order needs, among other "
    r"conditions, $\sigma_g$ bounded below and $\log(1/\delta)$ small compared with $\sigma_g^2 K s^2 \log(1/s)^2$.",
    r"$K = 1$, $M = 2$, $l = 1/2$, $\varepsilon = 1/2$, so that $\varepsilon_s = 1$, $\delta = 10^{-6}$, $T = 2/s$: "
    r"with the constant 1 $\sigma_g$ tends to 0 with $s$, as Assumption 1 allows. At $s = 1/1048576$ $\sigma_g = "
    r"0.0280$, and the largest of the $T$ numbers shows whether the record was used: at $\varepsilon_s = 1$ "
    r"$\delta$ is "
    r"at least 0.63, where 1.5e-6 is claimed. Even where $\sigma_g$ does not fall: one round, $K = T = 1$, $M = 2$, "
    r"$l = 1/2$, $\varepsilon = 1/2$, so that $\varepsilon_s = 1$, and $\sigma_g = 1$. With the constant 1 the order "
    r"is 0.944 at $s = 1/15$, $\delta = 10^{-6}$, 0.992 at $s = 1/70$, $\delta = 10^{-30}$, and 0.998 at $s = 1/231$, "
    r"$\delta = 10^{-100}$. The server receives user 0's noisy gradient with probability $l$, and its true "
    r"$\varepsilon$ at $\delta_s$ is 1.53, 7.02, 15.87. No constant times $\varepsilon_s = 1$ is above them all, "
    r"since $\delta$ and $s$ may be arbitrarily small.",
    r"Assumption 1 is called the 'high privacy regime', and Appendix B.2's remark says 'when $\sigma_g^2$ is large'; "
    "orders are meant for usual settings.",
    r"A lower bound on $\sigma_g$ does not save the order: at any fixed $\sigma_g$, with $s$ as the order gives it, "
    r"$\varepsilon$ grows without limit as $\delta$ falls, as here at $\sigma_g = 1$. Assumption 1-(iii) compares "
    r"$\sigma_g$ with $s \sqrt{K/\log(2Tl/\delta)}$, which tends to 0 with $s$, so that $\sigma_g$ may tend to 0 as "
    "well. The complete formulas, which the experiments use, are not concerned.",
)

REPEATED_ROW = Cause(
    "noble2022.repeated-row",
    r"the row of $\sigma_g = 160$ repeats that of $\sigma_g = 80$",
    r"We read the table as Appendix B.4's paragraph Implementation with the variance $lM \sigma_g^2$, $R = 4000$ "
    r"records in training and $\delta = 1/(MR)$. This is the reading that gives 22 of the 25 entries exactly. Under "
    "it three entries of the last row are one too small: those at $K = 5$, 10 and 20. The authors' published script, "
    "get_epsilon_bound.py, gives the same: 507, 459 and 363 for the three, and the printed $T$ for the 22 others. The "
    r"printed row is the one of $\sigma_g = 80$.",
    r"$\sigma_g = 160$, $l = 0.05$, $s = 0.2$: the largest $T$ with $\varepsilon \le 3$ are 546, 507, 459, 363, 87 "
    "for $K = 1$, 5, 10, 20, 40, where 546, 506, 458, 362, 87 are printed. Epsilon is 2.99993 at $K = 5$, $T = 507$, "
    r"2.99956 at $K = 10$, $T = 459$, and 2.99985 at $K = 20$, $T = 363$. At $K = 10$ every order $\alpha$ from "
    r"6.9965 to 7.0120 gives $\varepsilon \le 3$. For $\sigma_g = 10$, $K = 20$ only those from 6.9984 to 7.0019 give "
    "the printed 324.",
    r"The numbers come from a grid over $\alpha$, and a coarser grid gives smaller $T$; one round does not matter.",
    r"One grid must have an order between 6.9984 and 7.0019 to give the 324 at $\sigma_g = 10$, $K = 20$, and each of "
    "those gives 459 at $K = 10$. At $K = 5$ and 20 an order from 6.9994 to 7.0025 and from 6.9987 to 7.0012 is "
    "needed, and the grid of the published script has one. The runs are as private as claimed, since fewer rounds are "
    "more private, but a sentence of Appendix D.3.2 depends on the row: that lower subsampling ratios are needed 'to "
    r"obtain different values for $T$ when $\sigma_g = 80$ and $\sigma_g = 160$'. At the paper's own ratios they "
    "differ already, by one round.",
)

SPREAD_OF_POINTS = Cause(
    "noble2022.spread-of-points",
    "gradients at the points that noise has moved are taken for their expectation",
    r"The second display is said to follow from the first 'directly'. But the first has $\sum_k \nabla "
    r"F_i(y_i^{k-1})$ where the second has its expectation given $y^0$. And for $K \ge 2$ the points $y_i^{k-1}$ are "
    "themselves spread by the errors of earlier steps. The corollary's head takes all three expectations "
    "'conditionally to the users' sampling ${C^t}'$; the third display has only $y^0$ as its condition, and its proof "
    "takes 'the expectation over $C^t$'. We claim more against the third display only if the inner expectation "
    "$E[c^t]$ is over $C^t$ too, against the head: then users that differ spread $c^t$ even without any error, and "
    "the right side has no term for that.",
    r"$M = l = 1$, $K = 2$, $F(x) = 1$ - cos $x$ $(\nu = 1)$ from $x^0 = \pi$, two records with the gradients $F'(x) "
    r"+ 1$ and $F'(x) - 1$, one of them drawn in each step. $V = 1$ and $\eta_l = 1/48$, the step of Theorem C.1 for "
    r"$\eta_g = 1$. The variance of $c$ is 0.5105, the bound $V/(KlM) = 0.5$, that is $1/2$.",
    "For convex $F_i$ and short steps the points do not spread, and Theorem C.1 uses no others in its convex parts.",
    "The corollary is stated under only Assumptions 2 and 3, and the non-convex part uses it too. For convex $F_i$ "
    r"and $\eta_l \le 2/\nu$ the second display does hold given all $c_i^{t-1}$ as well as $C^t$ and $y^0$: that is "
    "the repaired form. The third holds there too, if $E[c^t]$ is given $C^t$, as the head says. With $E[c^t]$ over "
    "the cohorts, as the proof may be read, it fails for convex $F_i$ and short steps.",
)

LOST_ROOT = Cause(
    "noble2022.lost-root-of-nu",
    r"the noise term lacks a factor $\sqrt{\nu}$",
    r"The left side has the unit of a squared gradient; $\sqrt{F_0} (\varsigma + \Sigma_g)$ has it only after a "
    r"factor $\sqrt{\nu}$. Multiplying the objective or the parameters by a constant therefore changes the ratio of "
    r"the two sides, and no constant is enough for all $\nu$. (The paper adapts a proof of others; its source was not "
    "compared.)",
    r"$F(x) = \nu x^2/2$ up to $|x| = 1$ and linear beyond, $x^0 = 1$, $M = l = K = s = \eta_g = 1$, $T = 4c$, "
    r"$\Sigma_g^2 = 32 T \nu F_0$. For $c = 1$, $\nu = 1000$ the left side is at least $724 F_0$ for every step size "
    r"and all weights, the right side $503 F_0$; for $c = 10$, $\nu = 100000$ they are $72367 F_0$ and $50298 F_0$.",
    r"A misprint: $\nu$ is a constant, and constants are omitted.",
    r"$\nu$ is in the second term, so that it is not among the constants that are omitted, and Theorem C.1 (3) prints "
    "the same first term.",
)

FIXED_STEP = Cause(
    "noble2022.fixed-step",
    "the step size that the rate needs is not the one that is printed",
    r"Lemma C.7 gives $2 D_0^2/(\tilde\eta T) + 20 \tilde\eta W$ for the mean excess, $W$ the noise, and a round of "
    r"DP-FedAvg gives the same form. The printed rate is that of the best $\tilde\eta$, which shrinks with $T$, with "
    r"$D_0$ and with 1/noise. Lemma C.8 states it for every $\eta_l$ up to a limit, and the theorems state it for the "
    r"limit itself. The words '$\eta_l$ as low as possible' are where it is set to the largest. With a step that does "
    "not shrink, the noise of the last rounds stays. The iterates' mean then keeps a distance from $x^*$ where the "
    "curvature differs on its two sides.",
    r"Theorem C.1, $M = l = K = s = 1$, $\nu = 10$, $\Sigma_g = 1$, so that $\eta_l = 1/240$. Part (2), $T = 1$, "
    r"$F(x) = \nu x^2/2$ near $x^*$: for $c = 1$ and $D_0 = 1/50000$ the excess is 2.17 times the right side, for $c "
    r"= 1000$ and $D_0 = 1/50000000$ too. Over many rounds, $F'(x) = 10x$ for $x > 0$ and $x$ for $x < 0$ $(\mu = "
    r"1)$: from $x^0 = -0.017$ the mean of $x^t$ is at most -0.0150 in 20000 rounds, so that $E F \ge 0.00011$ for "
    r"all weights, while part (1) has 0.00005 there for $c = 1$: $c \ge 2.26$ is needed, and more in proportion to "
    r"$T$. For part (2) at $T = 400$ it is $c \ge 0.13$.",
    "The step is to be chosen in the range, as in the results that the proof cites; Lemma C.8 says 'there exist'.",
    r"The words 'there exist' in Lemma C.8 concern weights; $\eta_l$ is any in the range. Theorems C.1 and C.2 then "
    r"fix it by a formula without $T$, $D_0$ or noise. Read as 'for some $\eta_l$' the convex half of the lemma "
    "holds: so it is repaired, and so Theorem 4.2, which only says that step sizes exist, holds. Table 2 has $l$ and "
    "$s$ in (0, 1), but Section 4.2 considers '$l = 1$'. It is no loss that $s = 1$ here: with several records that "
    r"are all equal and $\varsigma = 0$ the instances are the same for every $s$ with $sR \ge 1$. The reason is that "
    r"only $\Sigma_g$ enters, and $s$ and $R$ enter only through it.",
)
