"""Noble, Bellet, Dieuleveut: Differentially Private Federated Learning on Heterogeneous Data (AISTATS 2022).

Read: the version hal-03905078v1, submitted on December 17, 2022, with its appendices.
"""
