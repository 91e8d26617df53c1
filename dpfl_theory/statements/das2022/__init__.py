"""Das, Hashemi, Sanghavi, Dhillon: Differentially Private Federated Learning with Normalized Updates (2022)."""
