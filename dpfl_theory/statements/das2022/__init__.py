"""Das, Hashemi, Sanghavi, Dhillon: Differentially Private Federated Learning with Normalized Updates (2022).

Read: the full text with Appendices A to H, in a copy that bears neither date nor version number.
"""
