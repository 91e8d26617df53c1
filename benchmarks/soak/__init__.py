"""Real faults during sweeps on this machine: killed and interrupted processes, a full disk, and cells that fail."""
