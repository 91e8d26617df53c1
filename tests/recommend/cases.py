"""One ordinary set of inputs for each algorithm, and a plain second transcription of what the papers print."""

from __future__ import annotations

from typing import Any

from dpfl_theory.recommend import get

INPUTS: dict[str, dict[str, Any]] = {
    "dp-scaffnew": {
        "clients": 10,
        "dim": 20,
        "smoothness": 1.0,
        "strong_convexity": 0.05,
        "distance": 300.0,
        "gradient_norm_at_optimum": 2.0,
        "clip": 1.0,
        "epsilon": 8.0,
        "delta": 1e-5,
        "calibration": "paper",
        "constant": 4.0,
    },
    "dp-fedavg": {
        "clients": 1000,
        "cohort": 100.0,
        "dim": 20,
        "smoothness": 1.5,
        "lipschitz": 2.0,
        "distance": 30.0,
        "heterogeneity": 0.1,
        "local_steps": 4,
        "alpha": 2.0,
        "epsilon": 4.0,
        "delta": 1e-5,
        "calibration": "paper",
        "constant": 400.0,
    },
    "dp-fedavg-two-sided": {
        "clients": 1000,
        "cohort": 1000.0,  # all, so that 200 000 rounds are accounted for in closed form
        "dim": 10,
        "smoothness": 1.0,
        "lipschitz": 1.5,
        "gap": 2.0,
        "dissimilarity": 0.3,
        "gradient_variance": 0.5,
        "local_steps": 4,
        "rounds": 200_000,
        "epsilon": 3.0,
        "delta": 1e-5,
    },
    "dp-normfedavg": {
        "clients": 1000,
        "cohort": 100.0,
        "dim": 20,
        "smoothness": 1.5,
        "lipschitz": 2.0,
        "distance": 30.0,
        "heterogeneity": 0.0,
        "local_steps": 4,
        "alpha": 2.0,
        "gamma": 7.0,
        "rho": 0.1,
    },
    "dp-norm-ec": {
        "clients": 100,
        "dim": 20,
        "smoothness": 1.0,
        "smoothness_max": 2.0,
        "gap": 30.0,
        "residual": 0.3,
        "alpha": 0.1,
        "epsilon": 4.0,
        "delta": 1e-5,
        "calibration": "paper",
    },
    "dp-fedavg-record": {
        "users": 100,
        "records": 4000,
        "user_rate": 0.25,
        "record_rate": 0.2,
        "dim": 41,
        "smoothness": 1.0,
        "distance": 10.0,
        "clip": 20.0,
        "gradient_variance": 2.0,
        "dissimilarity": 0.5,
        "local_steps": 10,
        "rounds": 500,
        "epsilon": 3.0,
        "delta": 2.5e-6,
        "calibration": "paper",
    },
    "dp-scaffold": {
        "users": 100,
        "records": 4000,
        "user_rate": 0.25,
        "record_rate": 0.2,
        "dim": 41,
        "smoothness": 1.0,
        "strong_convexity": 0.5,
        "distance": 10.0,
        "clip": 20.0,
        "gradient_variance": 2.0,
        "local_steps": 10,
        "rounds": 500,
        "epsilon": 3.0,
        "delta": 2.5e-6,
        "calibration": "paper",
    },
}


def formulas(algorithm: str, **inputs: Any) -> dict[str, Any]:
    """The paper's prescription, without any accounting."""
    return get(algorithm)(**inputs).printed()
