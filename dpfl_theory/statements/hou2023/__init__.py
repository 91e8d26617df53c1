"""Anonymous authors: Balancing Privacy and Performance for Private Federated Learning Algorithms (2023)."""
