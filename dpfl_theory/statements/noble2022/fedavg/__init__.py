"""DP-FedAvg: Theorem C.2, its repair and the proof."""
