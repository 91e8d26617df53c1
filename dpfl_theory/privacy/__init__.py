"""Privacy calibration and accounting."""
