# Two clients, f_i(x) = x^2/2, eta = p = 1, x_0 = h_0 = 0, sigma^2 = 1: E||h_t||^2 of Algorithm 2, exactly.
import numpy as np

J = np.full((2, 2), 0.5)
step = np.block([[np.zeros((2, 2)), np.eye(2)], [np.zeros((2, 2)), np.eye(2)]])  # xhat = x - (x - h) = h
send = np.block([[J, np.zeros((2, 2))], [J - np.eye(2), np.eye(2)]])  # x = mean(xhat), h + mean(xhat) - xhat
noise = np.vstack([J, J - np.eye(2)])
moments = np.zeros((4, 4))
for t in range(1, 201):
    moments = send @ step @ moments @ step.T @ send.T + noise @ noise.T
    if t in (1, 200):
        print(f"t = {t}: E||h_t||^2 = {np.trace(moments[2:, 2:]):.0f}")
assert np.trace(moments[2:, 2:]) > 0.99
