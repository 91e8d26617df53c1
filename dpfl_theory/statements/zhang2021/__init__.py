"""Zhang, Chen, Hong, Wu, Yi: Understanding Clipping for Federated Learning: Convergence and Client-Level Differential
Privacy (2021).

Read: the version dated June 28, 2021, with its appendix.
"""
