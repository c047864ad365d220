#!/usr/bin/env python3
"""Writes keller.json: spatial impacts with turning slip, to 20 digits (needs mpmath).

Independent of the solver. While slip turns, the slip speed is a closed form of the slip angle,
    d ln s / d phi = g(phi) / h(phi),
a rational function of z = exp(i phi) whose partial fractions integrate to logarithms. Normal impulse, normal velocity and works are then
tanh-sinh quadratures over phi,
    dJ_n = s / h dphi,  dv_n = k s / h dphi,  dS = s^2 / h dphi,
and events are roots of those. Slip that stops does so at a zero of h. Sticking and renewed slip have constant rates.
"""
import json
import os

from mpmath import mp, mpf, mpc, cos, sin, exp, log, sqrt, pi, quad, findroot, polyroots, atan2, matrix, lu_solve

mp.dps = 30


class Impact:
    def __init__(self, case):
        self.A = [[mpf(float(x)) for x in row] for row in case["A_F"]]
        self.v = [mpf(float(x)) for x in case["v_minus_F"]]
        self.law = case["law"]
        if self.law not in ("newton", "poisson", "energetic"):
            raise ValueError(f"law: found {self.law}, allowed newton, poisson, energetic")
        self.e, self.mu, self.mu_s = (mpf(float(case[k])) for k in ("e", "mu_k", "mu_s"))
        (self.xx, self.xy, self.bx), (_, self.yy, self.by), (_, _, self.c) = self.A
        self.J = self.S = mpf(0)
        self.vt, self.vn = self.v[:2], self.v[2]
        self.restitution = False
        self.Jc = self.Wc = mpf(0)
        self.digit = 0

    def rates(self, phi):
        e = cos(phi), sin(phi)
        r = [self.bx - self.mu * (self.xx * e[0] + self.xy * e[1]), self.by - self.mu * (self.xy * e[0] + self.yy * e[1])]
        return (e[0] * r[0] + e[1] * r[1], e[0] * r[1] - e[1] * r[0], self.c - self.mu * (self.bx * e[0] + self.by * e[1]))

    def friction_impulse(self, J, vt):
        """J_t from momentum: v_t - v_t_minus = B J_t + b J_n."""
        B = matrix([[self.xx, self.xy], [self.xy, self.yy]])
        return lu_solve(B, matrix([vt[0] - self.v[0] - self.bx * J, vt[1] - self.v[1] - self.by * J]))

    def normal_work(self, J, vt, S):
        """Kinetic energy gained less friction's work -mu S (S = integral of s dJ_n while slipping)."""
        Jt = self.friction_impulse(J, vt)
        full = [Jt[0], Jt[1], J]
        half = sum(full[i] * self.A[i][j] * full[j] for i in range(3) for j in range(3)) / 2
        return sum(full[i] * self.v[i] for i in range(3)) + half + self.mu * S

    def residual(self, J, vn, vt, S):
        if not self.restitution:
            return vn
        if self.law == "newton":
            return vn + self.e * self.v[2]
        if self.law == "poisson":
            return J - (1 + self.e) * self.Jc
        return (self.normal_work(J, vt, S) - self.Wc) + self.e ** 2 * self.Wc

    def turning(self):
        """Slip from phi_0 towards the isoclinic where it ends. Returns True when the impact is over, else slip has stopped."""
        s0, phi0 = sqrt(self.vt[0] ** 2 + self.vt[1] ** 2), atan2(self.vt[1], self.vt[0])
        diff, off, mean = self.mu * (self.xx - self.yy) / 2, self.mu * self.xy, self.mu * (self.xx + self.yy) / 2
        # z^2 g and z^2 h as polynomials of z, highest power first: cos = (z + 1/z)/2, sin = (z - 1/z)/(2i).
        lin = mpc(self.bx, -self.by) / 2
        dbl = mpc(diff, -off) / 2
        G = [-dbl, lin, -mean, lin.conjugate(), -dbl.conjugate()]
        H = [-mpc(0, 1) * dbl, mpc(0, 1) * lin, 0, -mpc(0, 1) * lin.conjugate(), mpc(0, 1) * dbl.conjugate()]
        evaluate = lambda p, z: sum(c * z ** (len(p) - 1 - i) for i, c in enumerate(p))
        for phi in (mpf("0.3"), mpf(2)):  # the polynomials must be g and h
            z = exp(mpc(0, phi))
            g, h, _ = self.rates(phi)
            assert abs(evaluate(G, z) / z ** 2 - g) < mpf(10) ** -25 and abs(evaluate(H, z) / z ** 2 - h) < mpf(10) ** -25
        roots = polyroots(H, maxsteps=500, extraprec=400)
        dH = [H[i] * (4 - i) for i in range(4)]
        weights = [evaluate(G, r) / (mpc(0, 1) * r * evaluate(dH, r)) for r in roots]
        at_zero = G[4] / (mpc(0, 1) * H[4])

        known = {}  # the three integrals use the same nodes

        def speed(phi):
            if phi in known:
                return known[phi]
            steps = int(abs(phi - phi0) * 4) + 1
            total = at_zero * mpc(0, phi - phi0)
            for i in range(steps):
                za, zb = (exp(mpc(0, phi0 + (phi - phi0) * k / steps)) for k in (i, i + 1))
                total += sum(w * log((zb - r) / (za - r)) for w, r in zip(weights, roots))
            known[phi] = s0 * exp(total.real)
            return known[phi]

        angles = [atan2(r.imag, r.real) for r in roots if abs(abs(r) - 1) < mpf(10) ** -18]
        sense = 1 if self.rates(phi0)[1] > 0 else -1
        ahead = min((sense * (a - phi0)) % (2 * pi) for a in angles)
        end = phi0 + sense * ahead
        g_end = self.rates(end)[0]

        def integrals(a, b):
            def f(phi):
                s, (_, h, k) = speed(phi), self.rates(phi)
                return matrix([s / h, k * s / h, s * s / h])
            return [quad(lambda phi, i=i: f(phi)[i], [a, b]) for i in range(3)]

        phi, state = phi0, [self.J, self.vn, self.S]
        slip = lambda p: [speed(p) * cos(p), speed(p) * sin(p)]
        node = 0
        while True:
            node += 1
            target = end - sense * ahead * mpf(2) ** (-mpf(node) / 2)
            last = node > 100 or (g_end < 0 and speed(target) < s0 * mpf(10) ** -4)
            if last and g_end < 0:
                target = end
            step = integrals(phi, target)
            after = [x + d for x, d in zip(state, step)]
            vt_after = [mpf(0), mpf(0)] if target == end else slip(target)
            passed = self.residual(after[0], after[1], vt_after, after[2]) >= 0 and after[1] > (state[1] if not self.restitution else 0)
            if passed:
                def f(p):
                    d = integrals(phi, p)
                    x = [a + b for a, b in zip(state, d)]
                    return self.residual(x[0], x[1], slip(p), x[2])
                shrink = mpf(10) ** -12 if target == end else 0
                root = findroot(f, (phi + (target - phi) * mpf(10) ** -9, target - (target - phi) * shrink), solver="anderson", tol=mpf(10) ** -42)
                state = [a + b for a, b in zip(state, integrals(phi, root))]
                phi = root
                node -= 1
                if self.restitution:
                    self.J, self.vn, self.S = state
                    self.vt, self.turn = slip(phi), abs(phi - phi0)
                    return True
                self.restitution, self.Jc, self.Wc = True, state[0], self.normal_work(state[0], slip(phi), state[2])
                state[1] = mpf(0)
                continue
            assert not (self.restitution and after[1] < 0), "compression resumes: choose another case"
            phi, state = target, after
            if last:
                assert g_end < 0, "slip never ends"
                self.J, self.vn, self.S = state
                self.vt, self.turn, self.arrival = [mpf(0), mpf(0)], abs(end - phi0), end
                return False

    def constant(self, rate_t, rate_n, speed_rate):
        """Constant rates from v_t = 0: sticking (all zero but rate_n) or slip along one direction."""
        start = self.J, self.vn, self.S

        def at(p):
            return (start[0] + p, start[1] + rate_n * p, [r * p for r in rate_t], start[2] + speed_rate * p * p / 2)
        if not self.restitution:
            p = -self.vn / rate_n
            self.restitution = True
            self.Jc, _, vt, S = at(p)
            self.Wc = self.normal_work(self.Jc, vt, S)
        scale = (abs(self.v[2]) + abs(self.vn) + 1) / rate_n
        lo = self.Jc - start[0]
        f = lambda p: (lambda J, vn, vt, S: self.residual(J, vn, vt, S))(*at(p))
        p = lo if self.e == 0 else findroot(f, (max(lo, mpf(0)), max(lo, mpf(0)) + 3 * scale), solver="anderson", tol=mpf(10) ** -42)
        self.J, self.vn, self.vt, self.S = at(p)

    def from_rest(self, digit):
        B = matrix([[self.xx, self.xy], [self.xy, self.yy]])
        beta = lu_solve(B, matrix([self.bx, self.by]))
        if sqrt(beta[0] ** 2 + beta[1] ** 2) <= self.mu_s:
            self.digit = digit
            self.constant([mpf(0), mpf(0)], self.c - self.bx * beta[0] - self.by * beta[1], mpf(0))
            return
        self.digit = digit + 1
        # The direction with h = 0 < g, by scanning.
        n = 720
        best = None
        for i in range(n):
            a, b = 2 * pi * i / n, 2 * pi * (i + 1) / n
            if self.rates(a)[1] * self.rates(b)[1] <= 0:
                phi = findroot(lambda p: self.rates(p)[1], (a, b), solver="anderson", tol=mpf(10) ** -42)
                if self.rates(phi)[0] > 0:
                    assert best is None or abs(best - phi) < mpf(10) ** -10
                    best = phi
        g, _, k = self.rates(best)
        if digit != 5:
            turn = (best - self.arrival) % (2 * pi)
            self.turn += min(turn, 2 * pi - turn)
        self.constant([g * cos(best), g * sin(best)], k, g)

    def run(self):
        self.turn = mpf(0)
        if self.vt[0] == 0 and self.vt[1] == 0:
            self.from_rest(5)
        elif not self.turning():
            self.from_rest(3 if self.restitution else 1)
        Jt = self.friction_impulse(self.J, self.vt)
        W = self.normal_work(self.J, self.vt, self.S)
        number = lambda x: mp.nstr(x, 20) if abs(x) > mpf(10) ** -24 else "0.0"
        return {"v_plus_F": [number(x) for x in (*self.vt, self.vn)], "J_F": [number(x) for x in (Jt[0], Jt[1], self.J)],
                "digit": self.digit, "turn_rad": number(self.turn),
                "work": [number(self.Wc), number(W - self.Wc), number(-self.mu * self.S)]}


BOX = [[2.5, -0.6, 0.9], [-0.6, 3.1, -1.4], [0.9, -1.4, 2.2]]
LEAN = [[1.0, 0.0, 0.5], [0.0, 8.0, 0.02], [0.5, 0.02, 1.0]]
SLIDE = [[1.8, 0.3, 1.3], [0.3, 2.4, -0.5], [1.3, -0.5, 1.6]]
STIFF = [[0.71, 0.42, -0.33], [0.42, 0.39, -0.21], [-0.33, -0.21, 0.52]]
CASES = [
    (BOX, [1.3, -0.4, -1.0], "energetic", 0.6, 0.25, 0.25),
    (BOX, [-2.0, 1.5, -0.7], "newton", 0.5, 0.1, 0.1),
    (BOX, [0.2, 0.3, -1.0], "energetic", 0.4, 0.8, 0.9),
    (BOX, [0.7, 0.9, -1.0], "poisson", 0.7, 0.7, 0.7),
    (BOX, [0.49, 0.63, -1.0], "poisson", 0.7, 0.7, 0.7),
    (BOX, [0.56, 0.72, -1.0], "energetic", 0.7, 0.7, 0.7),
    (BOX, [-0.7, -1.26, -1.0], "newton", 0.9, 0.9, 1.0),
    (BOX, [-0.5, -0.9, -1.0], "energetic", 0.9, 0.9, 1.0),
    (LEAN, [-0.2, 0.1, -1.0], "energetic", 0.5, 0.3, 0.3),
    (LEAN, [-0.3, -0.1, -1.0], "newton", 0.8, 0.3, 0.35),
    (LEAN, [-0.9, -0.1, -1.0], "energetic", 0.8, 0.3, 0.3),
    (LEAN, [-0.8, 0.3, -1.0], "poisson", 0.9, 0.3, 0.4),
    (SLIDE, [0.0, 0.0, -1.0], "energetic", 0.5, 0.3, 0.4),
    (SLIDE, [0.0, 0.0, -1.0], "newton", 0.7, 0.9, 1.2),
    (SLIDE, [1.0, 0.2, 0.0], "energetic", 0.6, 2.0, 2.0),
    (SLIDE, [0.8, -0.7, -0.1], "poisson", 0.4, 1.5, 1.5),
    (STIFF, [0.4, -1.1, -0.6], "energetic", 0.3, 0.35, 0.35),
    (STIFF, [-1.0, 0.5, -0.6], "energetic", 1.0, 0.5, 0.6),
    (STIFF, [-0.2, 0.9, -0.8], "newton", 0.2, 0.6, 0.6),
]


def main():
    rows = []
    for A, v, law, e, mu_k, mu_s in CASES:
        case = {"A_F": A, "v_minus_F": v, "law": law, "e": e, "mu_k": mu_k, "mu_s": mu_s}
        result = Impact(case).run()
        print(law, v, result["digit"], result["v_plus_F"])
        rows.append((case, result))
    lines = []
    for case, r in rows:
        numbers = lambda xs: "[" + ", ".join(xs) + "]"
        lines.append('    {"case": ' + json.dumps(case) + ',\n     "v_plus_F": ' + numbers(r["v_plus_F"]) + ',\n     "J_F": ' + numbers(r["J_F"]) +
                     ',\n     "digit": %d, "turn_rad": %s, "work_J": %s}' % (r["digit"], r["turn_rad"], numbers(r["work"])))
    text = ('{"schema": "impactlab.golden/1",\n "source": "Keller\'s equations: closed form of the slip speed, tanh-sinh quadrature, 30 digits",\n'
            ' "digits": 20,\n "regenerate": "data/golden/make_keller.py",\n "cases": [\n' + ",\n".join(lines) + "\n ]}\n")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "keller.json"), "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
