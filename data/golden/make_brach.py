#!/usr/bin/env python3
"""Writes brach.json: bounds of Brach's law for the rod of the Bristol thesis, figures 3.3 to 3.5, recomputed from their definitions.

Nothing here is the closed form of the program: the energy loss is evaluated from the impulse, u_C, u_E and u_M are found by bisection and
golden section in 60 digits."""
import json
import os
from decimal import Decimal as D, getcontext

getcontext().prec = 60


def loss(p, e, u):
    """Share of the energy that the impact can turn over that is lost at the impulse ratio u."""
    a, b, c, v_t, v_n = p
    J_n = -(1 + e) * v_n / (c + u * b)
    gain = J_n * (v_n + u * v_t) + J_n * J_n * (c + 2 * b * u + a * u * u) / 2
    return -gain


def bisect(f, low, high):
    f_low = f(low)
    for _ in range(190):
        middle = (low + high) / 2
        if (f(middle) > 0) == (f_low > 0):
            low = middle
        else:
            high = middle
    return (low + high) / 2


def roots(f, low, high, n, pole):
    """Sign changes of f on a grid that steps over the pole."""
    found, x, f_x = [], low, f(low)
    for i in range(1, n + 1):
        y = low + (high - low) * i / n
        f_y = f(y)
        crossing = (f_x > 0) != (f_y > 0)
        if crossing and not x <= pole <= y:
            found.append(bisect(f, x, y))
        x, f_x = y, f_y
    return found


def bounds(p, e):
    a, b, c, v_t, v_n = p
    u_s = -c / b
    slope = lambda u: loss(p, e, u + D(10) ** -25) - loss(p, e, u - D(10) ** -25)
    slip = lambda u: v_t + (b + u * a) * (-(1 + e) * v_n / (c + u * b))
    grid = lambda f: roots(f, D(-200), D(200), 40000, u_s)
    e_roots = grid(lambda u: loss(p, e, u))
    if e == 1:  # nothing is lost without friction: a root by inspection, found by none of the steps where it is a double sign
        e_roots = [u for u in e_roots if abs(u) > D(10) ** -12] + [D(0)]
    return {"u_s": u_s, "u_C": grid(slip), "u_E": sorted(e_roots), "u_M": grid(slope)}


def main():
    rods = {  # figure: theta, V_T, V_N, theta', cases by e
        "3.3": (None, "-2", "-1.5", "1.9", (6, 6, 6)), "3.4": ("0.5", "4.5", "-3", "-0.8", (3, 7, 7)),
        "3.5": ("2.3", "-2.46", "-2", "2.9", (3, 3, 3))}
    cases = []
    for figure, (theta, V_T, V_N, spin, labels) in rods.items():
        if theta is None:  # tan theta = 2
            s, c = D(2) / D(5).sqrt(), D(1) / D(5).sqrt()
        else:
            s, c = sine(D(theta)), cosine(D(theta))
        for e, label in zip(("0", "0.5", "1"), labels):
            p = (1 + 3 * s * s, -3 * s * c, 1 + 3 * c * c, D(V_T) + s * D(spin), D(V_N) - c * D(spin))
            found = bounds(p, D(e))
            T = (D(V_T) ** 2 + D(V_N) ** 2 + D(spin) ** 2 / 3) / 2
            for key in ("u_C", "u_M"):
                assert len(found[key]) == 1, (figure, e, key, found[key])
            assert len(found["u_E"]) == 2, (figure, e, found["u_E"])
            u_M = found["u_M"][0]
            cases.append({"figure": figure, "A": [float(x) for x in p[:3]], "v": [float(p[3]), float(p[4])], "e": float(e),
                          "u_s": float(found["u_s"]), "u_C": float(found["u_C"][0]), "u_E": [float(x) for x in found["u_E"]],
                          "u_M": float(u_M), "loss_0": float(loss(p, D(e), D(0)) / T), "loss_M": float(loss(p, D(e), u_M) / T),
                          "energy_J": float(T), "case": label})
    text = ('{"schema": "impactlab.golden/1",\n "source": "Bristol thesis, figures 3.3 to 3.5 and table 3.1; case: as printed",\n'
            ' "digits": "15, from 60 digits",\n "regenerate": "data/golden/make_brach.py",\n "cases": [\n' +
            ",\n".join("    " + json.dumps(case) for case in cases) + "\n ]}\n")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "brach.json"), "w") as file:
        file.write(text)


def sine(x):
    term, total, n = x, x, 1
    while abs(term) > D(10) ** -55:
        term *= -x * x / ((n + 1) * (n + 2))
        total, n = total + term, n + 2
    return total


def cosine(x):
    term, total, n = D(1), D(1), 0
    while abs(term) > D(10) ** -55:
        term *= -x * x / ((n + 1) * (n + 2))
        total, n = total + term, n + 2
    return total


if __name__ == "__main__":
    main()
