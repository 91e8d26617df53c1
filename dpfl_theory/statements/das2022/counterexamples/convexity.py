# Lemma 10 for f(w) = -w^2/2 (L = 1), eta_k = 1, from w = 1: g_0 = -w, g_1 at w - eta_k g_0.
w, eta, L = 1, 1, 1
now = -w
after = -(w - eta * now)
left, right = after**2, now**2 - (2 / (eta * L) - 1) * (after - now) ** 2
print(left, "against", round(right))
assert left > right
# Bounded below: f' = -w for |w| <= 1 and w - 2 beyond (minimum at w = 2), eta_k = 1, from w = 1/4.
w = 0.25
now, after = -w, -(w + w)
left, right = after**2, now**2 - (after - now) ** 2
print(left, "against", round(right))
assert left > right
