"""The expectations of das2022, each mapped once to the observables that simulations take for it."""

from __future__ import annotations

from dataclasses import replace

from dpfl_theory.core import Expected

__all__ = ["expected", "of_client"]

EXPECTED = {
    e.name: e
    for e in (
        Expected(
            "E_gap",
            (("suboptimality", 1),),
            (1, 0),
            r"\mathbb{E}[f(w_{\tilde k}) - f(w^*)]",
            "expected suboptimality of the returned iterate, uniform over rounds",
        ),
        Expected(
            "E_weighted_gap",
            (("weighted-excess", 1), ("weighted-heterogeneity", -1)),
            (1, 0),
            r"\mathbb{E}\left[\frac{1}{n}\sum_i \frac{GE}{\|u_i\|}(f_i(w_{\tilde k}) - f_i(w^*))\right]",
            r"expected gap of the clients, each weighted by GE/$\|u_i\|$",
        ),
        Expected(
            "E_weighted_Delta",
            (("weighted-heterogeneity", 1),),
            (1, 0),
            r"\mathbb{E}\left[\frac{1}{n}\sum_i \frac{GE}{\|u_i\|}\Delta_i^*\right]",
            r"expected heterogeneity, weighted by GE/$\|u_i\|$",
        ),
        Expected(
            "E_unclipped_gap",
            (("unclipped-gap", 1),),
            (1, 0),
            r"\mathbb{E}\left[\frac{1}{n}\sum_i 1(\|u_i\| \leq \hat{C}E)(f_i(w_{\tilde k}) - f_i(w^*))\right]",
            "expected gap of the clients whose update is not clipped",
        ),
        Expected(
            "E_clipped_length",
            (("clipped-length", 1),),
            (1, -1),
            r"\mathbb{E}\left[\frac{1}{n}\sum_i 1(\|u_i\| > \hat{C}E)\|u_i\|\right]",
            "expected length of the updates that are clipped",
        ),
        Expected(
            "E_unclipped_Delta",
            (("unclipped-heterogeneity", 1),),
            (1, 0),
            r"\mathbb{E}\left[\frac{1}{n}\sum_i 1(\|u_i\| \leq \hat{C}E)\Delta_i^*\right]",
            "expected heterogeneity of the clients whose update is not clipped",
        ),
        Expected(
            "E_unclipped_share",
            (("unclipped-share", 1),),
            (0, 0),
            r"\mathbb{E}\left[\frac{1}{n}\sum_i 1(\|u_i\| \leq \hat{C}E)\right]",
            "expected share of clients whose update is not clipped",
        ),
        Expected(
            "E_unclipped_weighted_gap",
            (("unclipped-weighted-excess", 1), ("unclipped-weighted-heterogeneity", -1)),
            (1, 0),
            r"\mathbb{E}\left[\frac{1}{n}\sum_i 1(\|u_i\| \leq \hat{C}E)"
            r"\frac{\hat{C}E}{\|u_i\|}(f_i(w_{\tilde k}) - f_i(w^*))\right]",
            r"expected gap of the clients whose update is not longer than $C$, weighted by $C/\|u_i\|$",
        ),
        Expected(
            "E_unclipped_weighted_Delta",
            (("unclipped-weighted-heterogeneity", 1),),
            (1, 0),
            r"\mathbb{E}\left[\frac{1}{n}\sum_i 1(\|u_i\| \leq \hat{C}E)\frac{\hat{C}E}{\|u_i\|}\Delta_i^*\right]",
            r"expected heterogeneity of the clients whose update is not longer than $C$, weighted by $C/\|u_i\|$",
        ),
        Expected(
            "E_rival_gap",
            (("suboptimality", 1),),
            (1, 0),
            r"\mathbb{E}[f(w_{\tilde k}^{\mathrm{clip}}) - f(w^*)]",
            "expected suboptimality of the iterate that clipping returns, with the same noise",
            rival=True,
        ),
        Expected(
            "E_difference",
            (("bounding-difference", 1),),
            (1, -1),
            r"\frac{1}{n}\sum_i \|\mathrm{norm}(u_i, C) - \mathrm{clip}(u_i, C)\|",
            "mean distance between a client's normalised and clipped update",
        ),
        Expected(
            "E_clipped_signal",
            (("clipped-signal", 1),),
            (1, -1),
            r"\left\|\frac{1}{n}\sum_{i \in S_k} \mathrm{clip}(u_i, C)\right\|",
            "length of the cohort's clipped updates, summed, over $n$",
        ),
        Expected(
            "E_normalised_signal",
            (("normalised-signal", 1),),
            (1, -1),
            r"\left\|\frac{1}{n}\sum_{i \in S_k} \mathrm{norm}(u_i, C)\right\|",
            "length of the cohort's normalised updates, summed, over $n$",
        ),
        Expected(
            "distance_before", (("distance-squared", 1),), (0, 2), r"\|w_k - w^*\|^2", ("squared distance to $w^*$")
        ),
        Expected(
            "distance_after",
            (("end-distance-squared", 1),),
            (0, 2),
            r"\|w_{k,E}^{(i)} - w^*\|^2",
            "squared distance to $w^*$ after client $i$'s steps; simulations take the mean over clients and rounds",
        ),
        Expected(
            "displacement",
            (("displacement-squared", 1),),
            (0, 2),
            r"\|w_k - w_{k,\tau}^{(i)}\|^2",
            r"squared displacement of client $i$; simulations take $\tau = E$ and the mean over clients and rounds",
        ),
        Expected(
            "gradients_squared",
            (("local-gradients-squared", 1),),
            (2, -2),
            r"\sum_{\tau=0}^{E-1} \|\nabla f_i(w_{k,\tau}^{(i)})\|^2",
            "client $i$'s squared gradients along its steps; simulations take the mean over clients and rounds",
        ),
        Expected(
            "gradient_now",
            (("local-gradients-squared", 1),),
            (2, -2),
            r"\|\nabla f_i(w_{k,\tau}^{(i)})\|^2",
            r"client $i$'s squared gradient; simulations sum over $\tau$ and take the mean over clients and rounds",
        ),
        Expected(
            "gradient_next",
            (("next-gradients-squared", 1),),
            (2, -2),
            r"\|\nabla f_i(w_{k,\tau+1}^{(i)})\|^2",
            "the same, one local step later",
        ),
        Expected(
            "gradient_change",
            (("gradient-change-squared", 1),),
            (2, -2),
            r"\|\nabla f_i(w_{k,\tau+1}^{(i)}) - \nabla f_i(w_{k,\tau}^{(i)})\|^2",
            "squared change of client $i$'s gradient in a local step; simulations sum and average as above",
        ),
        Expected(
            "second_moment",
            (("signal-squared", 1),),
            (2, -2),
            r"\mathbb{E}_{S_k}\left\|\frac{1}{r}\sum_{i \in S_k} g_i\right\|^2",
            "squared norm of the cohort's average; $g_i$ are unbounded updates in simulations",
        ),
        Expected(
            "mean_square",
            (("update-squared", 1),),
            (2, -2),
            r"\frac{1}{n}\sum_{i=1}^n \|g_i\|^2",
            "mean of the clients' squared norms",
        ),
        Expected(
            "clipped_progress",
            (("clipped-progress", 1),),
            (0, 2),
            r"1(\|u_k^{(i)}\| > C)\,A_i",
            "$A_i$ of a client whose update is clipped; simulations take the mean over clients and rounds",
        ),
        Expected(
            "unclipped_progress",
            (("unclipped-progress", 1),),
            (0, 2),
            r"1(\|u_k^{(i)}\| \leq C)\,A_i",
            "$A_i$ of a client whose update is not clipped; simulations take the mean over clients and rounds",
        ),
        Expected(
            "normalised_progress",
            (("normalised-progress", 1),),
            (0, 2),
            r"1(\|u_k^{(i)}\| \leq C)\,A_i",
            "$A_i$ of a client whose update is lengthened to $C$; simulations take the mean over clients and rounds",
        ),
        Expected(
            "B",
            (("inner-product", 1),),
            (1, 0),
            r"B_i",
            r"$B_i = \langle u_k^{(i)}, w_k - w^*\rangle$; simulations take the mean over clients and rounds",
        ),
        Expected(
            "unclipped_B",
            (("unclipped-inner-product", 1),),
            (1, 0),
            r"1(\|u_k^{(i)}\| \leq C)\,B_i",
            "$B_i$ of a client whose update is not clipped; simulations take the mean over clients and rounds",
        ),
        Expected(
            "approach",
            (("approach", 1),),
            (0, 2),
            r"(\|w_k - w^*\|^2 - \|w_{k,E}^{(i)} - w^*\|^2)",
            "decrease of the squared distance to $w^*$ over client $i$'s steps; simulations take the mean",
        ),
        Expected(
            "update_squared",
            (("update-squared", 1),),
            (2, -2),
            r"\|u_k^{(i)}\|^2",
            "squared length of client $i$'s update; simulations take the mean over clients and rounds",
        ),
    )
}


def expected(*names: str) -> tuple[Expected, ...]:
    """The paper's expectations with these names."""
    return tuple(EXPECTED[name] for name in names)


_CLIENT_LATEX = {
    "E_gap": r"(f_i(w_k) - f_i(w^*))",
    "E_unclipped_gap": r"1(\|u_k^{(i)}\| \leq C)\,(f_i(w_k) - f_i(w^*))",
    "E_unclipped_Delta": r"1(\|u_k^{(i)}\| \leq C)\,\Delta_i^*",
    "E_unclipped_share": r"1(\|u_k^{(i)}\| \leq C)",
    "E_clipped_length": r"1(\|u_k^{(i)}\| > C)\,\|u_k^{(i)}\|",
    "E_unclipped_weighted_gap": r"1(\|u_k^{(i)}\| \leq C)\,z_k^{(i)}(f_i(w_k) - f_i(w^*))",
    "E_unclipped_weighted_Delta": r"1(\|u_k^{(i)}\| \leq C)\,z_k^{(i)}\Delta_i^*",
}


def of_client(*names: str) -> tuple[Expected, ...]:
    """The expectations as a proof step prints them, of one client; simulations average over clients and rounds."""
    meaning = "of client $i$; simulations take the mean over clients and rounds"
    return tuple(
        replace(EXPECTED[n], latex=_CLIENT_LATEX[n], meaning=f"{EXPECTED[n].meaning}, {meaning}")
        if n in _CLIENT_LATEX
        else EXPECTED[n]
        for n in names
    )
