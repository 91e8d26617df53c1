"""Zhang, Chen, Hong, Wu, Yi: Understanding Clipping for Federated Learning: Convergence and Client-Level Differential
Privacy (2021)."""
