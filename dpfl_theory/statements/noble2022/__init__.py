"""Noble, Bellet, Dieuleveut: Differentially Private Federated Learning on Heterogeneous Data (AISTATS 2022)."""
