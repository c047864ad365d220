#!/usr/bin/env python3
"""Writes printed.json: planar impacts whose outcome the literature prints, with the unit of the last printed digit."""
import json
import math
import os


def planar(a, b, c, v_x, v_n, law, e, mu_k, mu_s):
    return {"A_F": [[a, 0.0, b], [0.0, 0.5 * (a + c), 0.0], [b, 0.0, c]], "v_minus_F": [v_x, 0.0, v_n], "law": law, "e": e, "mu_k": mu_k, "mu_s": mu_s}


def shen_townsend():
    """Shen & Townsend 1998, example 1: the double pendulum of Kane & Levinson against a wall; Poisson's law."""
    length, m, q1, q2 = 2.0, 3.0, math.radians(20), math.radians(30)
    M = [[4 / 3 * m * length ** 2, m * length ** 2 / 2 * math.cos(q2 - q1)], [0, m * length ** 2 / 3]]
    M[1][0] = M[0][1]
    det = M[0][0] * M[1][1] - M[0][1] ** 2
    inverse = [[M[1][1] / det, -M[0][1] / det], [-M[0][1] / det, M[0][0] / det]]
    t, n = [length * math.cos(q1), length * math.cos(q2)], [length * math.sin(q1), length * math.sin(q2)]
    product = lambda x, y: sum(x[i] * inverse[i][j] * y[j] for i in range(2) for j in range(2))
    rate = [-0.1, -0.2]
    u = [sum(r * q for r, q in zip(row, rate)) for row in (t, n)]
    rows = [  # e, mu_s, mu, J_n, v_t, v_n, digit
        (0.5, 0.25, 0.2, 0.9193, 0.04186, 0.10955, 4), (0.5, 0.5, 0.4, 0.7464, 0.01900, 0.09178, 4),
        (0.3, 0.5, 0.4, 0.6469, 0.00092, 0.07847, 4), (0.7, 0.51, 0.5, 0.7733, 0.01893, 0.09228, 4),
        (0.5, 0.0, 0.0, 1.1964, 0.07234, 0.13420, 4), (0.2, 0.5, 0.4, 0.5971, -0.03722, 0.05368, 0),
        (0.7, 0.63, 0.5, 0.7733, 0.0, 0.08048, 3)]
    for e, mu_s, mu, J_n, v_t, v_n, digit in rows:
        yield {"case": planar(product(t, t), product(t, n), product(n, n), u[0], u[1], "poisson", e, mu, mu_s),
               "v_plus_F": [v_t, 0.0, v_n], "v_unit": 1e-5, "J_n": J_n, "J_unit": 1e-4, "digit": digit}


def rod():
    """The Bristol thesis, digest A2: end of a uniform rod (length and mass one) at the angle theta; energetic law."""
    rows = [  # theta, mu, e, v_t, v_n, v_t_plus, v_n_plus, digit
        (0.61, 1.50, 0.90, 0.88, -0.37, 0.278848908, 0.333000000, 0), (0.53, 0.05, 0.90, -1.31, -0.26, -1.500277992, 0.234000000, 0),
        (1.60, 0.20, 0.80, 0.43, -0.41, 0, 0.329765933, 3), (1.52, 0.50, 0.70, -1.09, -0.33, 0, 0.231757214, 3),
        (0.18, 1.20, 0.80, 0.46, -1.31, 0, 0.941886825, 1), (0.21, 1.20, 0.80, -0.24, -1.22, 0, 1.035080940, 1),
        (0.63, 0.30, 0.80, 1.15, -1.29, -0.105030285, 0.944727768, 4), (2.73, 0.05, 0.80, -0.52, -1.26, 0.198559484, 0.993991181, 4),
        (0.98, 0.10, 0.90, 0.93, -1.45, -0.924678355, 1.218751570, 2), (2.04, 0.10, 0.70, -0.86, -1.85, 1.231976301, 1.223441351, 2)]
    for theta, mu, e, v_t, v_n, v_t_plus, v_n_plus, digit in rows:
        s, c = math.sin(theta), math.cos(theta)
        yield {"case": planar(1 + 3 * s * s, -3 * s * c, 1 + 3 * c * c, v_t, v_n, "energetic", e, mu, mu),
               "v_plus_F": [v_t_plus, 0.0, v_n_plus], "v_unit": 1e-9, "digit": digit}


def pressed_rod():
    """The Bristol thesis, section 4.6: the rod at atan 2, v_n = 0, pressed on the ground by friction alone."""
    s, c = math.sin(math.atan(2)), math.cos(math.atan(2))
    for mu, v_n, v_n_plus in ((1.4, 0.0, 0.0445288), (1.5, 0.0, 0.0672673), (2.0, 0.0, 0.1122722), (1.5, -0.5, 0.3940307)):
        yield {"case": planar(1 + 3 * s * s, -3 * s * c, 1 + 3 * c * c, -1.0, v_n, "energetic", 0.5, mu, mu),
               "v_plus_F": [0.0, 0.0, v_n_plus], "v_unit": 1e-7, "digit": 1}


def main():
    cases = [dict(row, source=source.__doc__) for source in (shen_townsend, rod, pressed_rod) for row in source()]
    text = ('{"schema": "impactlab.golden/1",\n "source": "printed results of the literature, each case names its own",\n'
            ' "digits": "v_unit and J_unit: one unit of the last printed digit",\n "regenerate": "data/golden/make_printed.py",\n "cases": [\n' +
            ",\n".join("    " + json.dumps(case) for case in cases) + "\n ]}\n")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "printed.json"), "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
