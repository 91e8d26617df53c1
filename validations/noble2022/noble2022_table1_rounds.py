"""noble2022 Tables 1 and 4 and the captions: the rounds T and the epsilons, by the paper's formulas and certified."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.privacy import account, get, largest_rounds
from dpfl_theory.privacy.noble2022 import epsilon_recipe, epsilon_theorem, rounds_recipe, rounds_theorem
from dpfl_theory.validation import Context, style

TITLE = "The number of rounds that a budget affords: the T columns of Tables 1 and 4, and the captions' epsilons"
CAPTION = (
    "Left: the largest number of rounds T with epsilon = 3 for sigma_g = 10 in the setting of Tables 1 and 4 (M = 100 "
    "users, R = 4000 training records each, l = 0.05, s = 0.2, delta = 1/(MR)): printed; by the recipe of Appendix B's "
    "Implementation paragraph; by the three steps of Theorem 4.1's proof without approximation (0 from K = 20 on, not "
    "shown); and certified for DP-SCAFFOLD by a privacy loss distribution. Middle: certified epsilon of the printed T, "
    "for each sigma_g (10 and 160 in the standard profile). Right: the figure captions' epsilons. The recipe pays for "
    "a term of Lemma B.7 that does not vanish as the noise grows; certified accounting does not, although it relies on "
    "less: neither users' sampling nor the other users' noise hides a record there."
)
SOURCE = {"paper": "noble2022", "where": "Tables 1 and 4, Figures 1-8, Appendices B and D.3"}
BUDGET_SECONDS = {"full": 12.0, "paper": 900.0}

STEPS = (1, 5, 10, 20, 40)
PRINTED = {
    10: (542, 488, 428, 324, 72),
    20: (545, 502, 451, 352, 83),
    40: (546, 505, 457, 360, 86),
    80: (546, 506, 458, 362, 87),
    160: (546, 506, 458, 362, 87),
}
TABLE: dict[str, Any] = {"users": 100, "records": 4000, "user_rate": 0.05, "record_rate": 0.2}
SYNTHETIC, FEMNIST, MNIST = (
    {"users": 100, "records": 4000},
    {"users": 40, "records": 2000},
    {"users": 60, "records": 800},
)
CAPTIONS: tuple[dict[str, Any], ...] = (
    {"printed": 13.0, "where": "Figures 1, 3-6", **SYNTHETIC, "user_rate": 0.2, "noise": 60.0, "K": 50, "T": 400},
    {"printed": 11.4, "where": "Figure 2, top", **FEMNIST, "user_rate": 0.2, "noise": 30.0, "K": 50, "T": 400},
    {"printed": 11.5, "where": "Figures 7, 8", **FEMNIST, "user_rate": 0.2, "noise": 30.0, "K": 100, "T": 400},
    {"printed": 7.2, "where": "Figure 2, bottom", **MNIST, "user_rate": 0.2, "noise": 30.0, "K": 50, "T": 100},
    {"printed": 4.2, "where": "D.3.3, l' = l/4", **SYNTHETIC, "user_rate": 0.05, "noise": 60.0, "K": 50, "T": 400},
)
EPSILON = 3.0


def compute(context: Context) -> dict[str, Any]:
    delta = 1 / (TABLE["users"] * TABLE["records"])
    certified_rows = context.pick(full=(10,), paper=tuple(PRINTED))
    spent_rows = context.pick(full=tuple(PRINTED), paper=tuple(PRINTED), standard=(10, 160))
    rows = []
    for noise, printed in PRINTED.items():
        for steps, rounds in zip(STEPS, printed, strict=True):
            setting: dict[str, Any] = {**TABLE, "local_steps": steps, "noise_multiplier": float(noise)}
            run = get("dp-scaffold")(**setting)
            spent = vars(account(run.with_(rounds=rounds), delta=delta).epsilon) if noise in spent_rows else None
            rows.append(
                {
                    "sigma_g": noise,
                    "K": steps,
                    "printed": rounds,
                    "recipe": rounds_recipe(**setting, epsilon=EPSILON, delta=delta),
                    "theorem": rounds_theorem(**setting, epsilon=EPSILON, delta=delta),
                    "certified": largest_rounds(run, epsilon=EPSILON, delta=delta) if noise in certified_rows else None,
                    "epsilon_of_printed": spent,
                }
            )
            context.progress(0.9 * len(rows) / 25)
    captions = []
    for number, case in enumerate(CAPTIONS):
        setting = {
            **{k: case[k] for k in ("users", "records", "user_rate")},
            "record_rate": 0.2,
            "local_steps": case["K"],
            "noise_multiplier": case["noise"],
            "rounds": case["T"],
        }
        own = 1 / (case["users"] * case["records"])
        captions.append(
            {
                **case,
                "recipe": epsilon_recipe(**setting, delta=own).epsilon,
                "theorem": epsilon_theorem(**setting, delta=own).epsilon,
                "certified": vars(account(get("dp-scaffold")(**setting), delta=own).epsilon),
            }
        )
        context.progress(0.9 + 0.1 * (number + 1) / len(CAPTIONS))
    return {
        "configuration": {
            **TABLE,
            "delta": delta,
            "epsilon": EPSILON,
            "algorithm": "dp-scaffold",
            "view": "third party",
        },
        "rows": rows,
        "captions": captions,
        "claims": _claims(rows, captions),
    }


def _claims(rows: list[dict[str, Any]], captions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    exact = sum(r["recipe"] == r["printed"] for r in rows)
    off = max(abs(r["recipe"] - r["printed"]) for r in rows)
    highs = [r["epsilon_of_printed"]["high"] for r in rows if r["epsilon_of_printed"] is not None]
    certified = max(highs)
    close = all(0 <= c["printed"] - c["recipe"] < 0.1 for c in captions)
    spent = [f"{c['certified']['high']:.2f}" for c in captions]
    return [
        {
            "claim": "T in Tables 1 and 4 is the largest number of rounds by the Implementation paragraph's recipe",
            "verdict": "reproduced" if exact == len(rows) else "not-reproduced",
            "expected": "not-reproduced",
            "paper": "25 values of T",
            "measured": f"{exact} of 25 are; the others, sigma_g = 160, differ by {off}: it repeats the row above. The "
            "authors' published script get_epsilon_bound.py, run at these settings, gives the recipe's T in all 25",
        },
        {
            "claim": "with the printed T, DP-SCAFFOLD is (3, 1/(MR))-DP towards a third party",
            "verdict": "reproduced" if certified <= EPSILON else "not-reproduced",
            "expected": "reproduced",
            "paper": "epsilon = 3",
            "measured": f"epsilon is at most {certified:.3g} in {len(highs)} settings",
        },
        {
            "claim": "the captions' epsilons are the recipe's, rounded up to a tenth",
            "verdict": "reproduced" if close else "not-reproduced",
            "expected": "reproduced",
            "paper": ", ".join(f"{c['printed']:g}" for c in captions),
            "measured": ", ".join(f"{c['recipe']:.2f}" for c in captions) + f"; certified {', '.join(spent)}",
        },
    ]


def draw(data: Mapping[str, Any]) -> dict[str, Any]:
    with style.figure_style():
        figure, axes = style.figure(columns=3, width=11.5, height=3.9)
        _rounds(axes[0], [r for r in data["rows"] if r["sigma_g"] == 10])
        _spent(axes[1], data["rows"])
        _captions(axes[2], data["captions"])
    return {"": figure}


def _rounds(axes: Any, rows: list[dict[str, Any]]) -> None:
    steps = [r["K"] for r in rows]
    series = (
        ("certified", "certified, DP-SCAFFOLD", style.PALETTE[2], "o-", (4, 6)),
        ("recipe", "recipe", style.PALETTE[0], "-", (4, 6)),
        ("theorem", "three steps", style.PALETTE[1], "s--", (4, 6)),
    )
    for key, label, colour, form, offset in series:
        shown = [(k, r[key]) for k, r in zip(steps, rows, strict=True) if r[key]]
        axes.plot(*zip(*shown, strict=True), form, color=colour)
        axes.annotate(label, shown[1], xytext=offset, textcoords="offset points", color=colour, fontsize=9)
    axes.plot(steps, [r["printed"] for r in rows], "kx", markersize=7)
    axes.annotate("printed", (steps[3], rows[3]["printed"]), xytext=(2, -13), textcoords="offset points", fontsize=9)
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="local steps K",
        ylabel="rounds T",
        title=r"T for $\epsilon = 3$, $\sigma_g = 10$",
    )
    axes.set_xticks(steps, [str(k) for k in steps])
    axes.minorticks_off()


def _spent(axes: Any, rows: list[dict[str, Any]]) -> None:
    for number, noise in enumerate(PRINTED):
        own = [r for r in rows if r["sigma_g"] == noise and r["epsilon_of_printed"] is not None]
        if not own:
            continue
        steps, high = [r["K"] for r in own], [r["epsilon_of_printed"]["high"] for r in own]
        axes.plot(steps, high, "o-", color=style.PALETTE[number], markersize=3.5)
        axes.annotate(
            f"{noise}",
            (steps[-1], high[-1]),
            xytext=(6, -3),
            textcoords="offset points",
            fontsize=9,
            color=style.PALETTE[number],
        )
    axes.axhline(EPSILON, color=style.BOUND, linestyle="--", linewidth=1.2)
    axes.annotate("claimed", (1, EPSILON), xytext=(0, 4), textcoords="offset points", fontsize=9)
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="local steps K",
        ylabel=r"certified $\epsilon$",
        title=r"$\epsilon$ of the printed T, by $\sigma_g$",
        xlim=(0.9, 75),
    )
    axes.set_xticks(STEPS, [str(k) for k in STEPS])
    axes.set_yticks([0.01, 0.03, 0.1, 0.3, 1, 3], ["0.01", "0.03", "0.1", "0.3", "1", "3"])
    axes.minorticks_off()


def _captions(axes: Any, captions: list[dict[str, Any]]) -> None:
    for row, case in enumerate(reversed(captions)):
        axes.plot([case["certified"]["high"], case["printed"]], [row, row], color=style.NEUTRAL, linewidth=1)
        axes.plot(case["printed"], row, "kx", markersize=7, label="printed" if row == 0 else None)
        axes.plot(case["recipe"], row, "o", color=style.PALETTE[0], label="recipe" if row == 0 else None)
        axes.plot(case["certified"]["high"], row, "o", color=style.PALETTE[2], label="certified" if row == 0 else None)
    names = [f"{c['where']}\nK = {c['K']}, T = {c['T']}" for c in reversed(captions)]
    axes.set_yticks(range(len(captions)), names, fontsize=8)
    axes.set(
        xlabel=r"$\epsilon$", title=r"$\epsilon$ of the captions", xlim=(0, 14.5), ylim=(-0.6, len(captions) - 0.1)
    )
    axes.legend(loc="upper center", ncols=3, fontsize=8, handletextpad=0.2, columnspacing=0.8)
