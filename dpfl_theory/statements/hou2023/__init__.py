"""hou2023: Balancing Privacy and Performance for Private Federated Learning Algorithms (2023)."""
