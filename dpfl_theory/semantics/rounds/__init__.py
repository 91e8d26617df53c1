"""One round of each algorithm, written once in the operations of a world.

fedavg          zhang2021 Algorithm 3, hou2023 Algorithm 1, noble2022 Algorithm 2, das2022 Algorithm 1: one round of
                (DP-)FedAvg and DP-NormFedAvg
scaffnew        hou2023 Algorithm 2: one iteration of ScaffNew and DP-ScaffNew
scaffold        noble2022 Algorithm 1: one round of DP-SCAFFOLD
error_feedback  shulgin2025 Algorithm 1: one round of Clip21 and alpha-NormEC
"""
