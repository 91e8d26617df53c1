"""Anonymous authors: Balancing Privacy and Performance for Private Federated Learning Algorithms (2023).

Read: the anonymous version under double-blind review, with its appendices.
"""
