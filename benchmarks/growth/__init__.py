"""Scaling of the distributed work: measured on this machine's cores, computed for clusters that are not available."""
