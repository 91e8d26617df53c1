"""noble2022: Differentially Private Federated Learning on Heterogeneous Data (AISTATS 2022)."""
