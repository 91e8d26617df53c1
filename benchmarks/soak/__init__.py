"""Faults, for real, against sweeps on this machine: processes killed, interrupted, out of disk, cells that fail."""
