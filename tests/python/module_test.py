"""The Python module against the program: the same numbers, faults by name, other threads running. Needs numpy and a built module."""

import ast
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import numpy as np

import impactlab

PROGRAM = os.environ["IMPACTLAB_PROGRAM"]
SOURCE = Path(os.environ["IMPACTLAB_SOURCE"])
DATA = SOURCE / "data"


def program(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise AssertionError(done.stderr)
    return done.stdout


def random_states(n, width, seed):
    """Contacts of random bodies: positive definite A, velocities that approach."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, width, width))
    A = root @ root.transpose(0, 2, 1) + 0.3 * np.eye(width)
    v = rng.normal(size=(n, width))
    v[:, -1] = -np.abs(v[:, -1]) - 0.1
    return v, A, rng.uniform(0, 1, n), rng.uniform(0, 0.8, n)


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="a folder ")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class Laws(Scratch):
    def states_of_program(self, v, A, e, mu):
        axes = "xn" if v.shape[1] == 2 else "xyn"
        pairs = [(i, j) for i in range(len(axes)) for j in range(i, len(axes))]
        with open(self.folder / "states.csv", "w") as file:
            names = [f"v_minus_F_{a}_m_per_s" for a in axes] + [f"A_F_{axes[i]}{axes[j]}_per_kg" for i, j in pairs]
            print(",".join(["name", *names, "e", "mu_k"]), file=file)
            for k in range(len(v)):
                cells = [*v[k], *(A[k, i, j] for i, j in pairs), e[k], mu[k]]
                print(",".join([f"s{k}", *(repr(float(x)) for x in cells)]), file=file)
        return json.loads(program("predict", "--states", self.folder / "states.csv", "--json"))["states"]

    def check_against_program(self, width, n, laws):
        v, A, e, mu = random_states(n, width, 3 + width)
        A = 0.5 * (A + A.transpose(0, 2, 1))
        keep = [0, 2] if width == 2 else [0, 1, 2]
        of_program = self.states_of_program(v, A, e, mu)
        self.assertEqual(len(of_program), n)
        for law in laws:
            ours = impactlab.predict(v, A, e, mu, law=law)
            for k, state in enumerate(of_program):
                theirs = next(o for o in state["outcomes"] if o["law"] == law)
                self.assertEqual(theirs["status"], ours["status"][k])
                self.assertEqual(theirs["course"], ours["course"][k])
                self.assertEqual([theirs["J_F_N_s"][c] for c in keep], list(ours["J_F_N_s"][k]))
                self.assertEqual([theirs["v_plus_F_m_per_s"][c] for c in keep], list(ours["v_plus_F_m_per_s"][k]))
                self.assertEqual(theirs["energy_change_J"], ours["energy_change_J"][k])
                self.assertEqual(theirs["turn_rad"], ours["turn_rad"][k])
                self.assertEqual(theirs["certificate"]["ok"], ours["certified"][k])
        return v, A, e, mu, of_program

    def test_planar_outcomes_are_those_of_the_program(self):
        v, A, e, mu, of_program = self.check_against_program(2, 40, impactlab.LAWS)
        found = impactlab.energetic_map(v, A, e, mu)
        self.assertGreater(len(set(found["region"])), 3)
        for k, state in enumerate(of_program):
            self.assertEqual(state["region"], found["region"][k])
            for name in ("mu_slide", "mu_slide_compression", "mu_hold", "mu_press"):
                bound = state["critical"][name]
                self.assertEqual(np.inf if bound is None else bound, abs(found[name][k]) if bound is None else found[name][k])

    def test_spatial_outcomes_are_those_of_the_program(self):
        self.check_against_program(3, 20, impactlab.LAWS[:3])
        refused = impactlab.predict((0.1, 0.2, -1), np.eye(3), law="smith")
        self.assertFalse(refused["usable"][0])
        self.assertIn("planar", refused["reason"][0])

    def test_one_value_stands_for_all_cases(self):
        v, A, e, mu = random_states(5, 2, 1)
        one = impactlab.predict(v, A[0], 0.5, mu)
        for k in range(5):
            alone = impactlab.predict(v[k], A[0], 0.5, mu[k])
            self.assertEqual(list(alone["v_plus_F_m_per_s"][0]), list(one["v_plus_F_m_per_s"][k]))
        self.assertEqual(impactlab.predict(np.zeros((0, 2)), np.eye(2))["J_F_N_s"].shape, (0, 2))

    def test_momentum_balance_holds_and_bad_cases_stay_in_place(self):
        v, A, e, mu = random_states(200, 3, 9)
        out = impactlab.predict(v, A, e, mu)
        change = np.einsum("nij,nj->ni", A, out["J_F_N_s"])
        np.testing.assert_allclose(out["v_plus_F_m_per_s"], v + change, rtol=0, atol=1e-12 * np.abs(A).max() * 10)
        v[7] = np.nan
        A[8, 0, 1] += 1
        bad = impactlab.predict(v, A, e, mu)
        self.assertEqual({7, 8}, set(np.flatnonzero(bad["status"] == "invalid")))
        self.assertTrue(np.isnan(bad["J_F_N_s"][[7, 8]]).all())
        self.assertTrue(all(bad["reason"][[7, 8]]))

    def test_derivatives_are_those_of_differences(self):
        v, A, e, mu = random_states(30, 3, 5)
        exact = impactlab.derivatives(v, A, e, mu)
        h = 1e-6
        agree = 0
        for column, (i, j) in enumerate([(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]):
            step = np.zeros((3, 3))
            step[i, j] = step[j, i] = h
            sides = [impactlab.predict(v, A + s * step, e, mu, certify=False)["v_plus_F_m_per_s"] for s in (1, -1)]
            agree += np.isclose(exact["dv_plus_F"][:, :, 3 + column], (sides[0] - sides[1]) / (2 * h), rtol=1e-4, atol=1e-5).all(axis=1).sum()
        sides = [impactlab.predict(v, A, e, mu + s * h, certify=False)["J_F_N_s"] for s in (1, -1)]
        agree += np.isclose(exact["dJ_F"][:, :, 10] + exact["dJ_F"][:, :, 11], (sides[0] - sides[1]) / (2 * h), rtol=1e-4, atol=1e-5).all(axis=1).sum()
        self.assertGreater(agree, 0.97 * 7 * 30)  # a case may change its course within the step

    def test_routh_path_ends_where_poisson_does(self):
        out = impactlab.routh((0.93, -1.45), [[3.07, -1.39], [-1.39, 1.93]], 0.9, 0.1)
        poisson = impactlab.predict((0.93, -1.45), [[3.07, -1.39], [-1.39, 1.93]], 0.9, 0.1, law="poisson")
        np.testing.assert_allclose(out["path_N_s"][-1], poisson["J_F_N_s"][0], atol=1e-12)
        self.assertIn("compression", out["lines_N_s"])

    def test_a_rod_that_slides_jams_beyond_the_critical_friction(self):
        # Uniform rod of unit mass and half length 1: A of its end at the angle theta, by hand.
        theta = 1.1
        sine, cosine = np.sin(theta), np.cos(theta)
        A = np.array([[1 + 3 * sine**2, -3 * sine * cosine], [-3 * sine * cosine, 1 + 3 * cosine**2]])
        critical = impactlab.rod_critical_friction(theta)
        self.assertAlmostEqual(critical["mu"][0], (1 / 3 + cosine**2) / (sine * cosine), places=12)
        self.assertAlmostEqual(critical["least_mu"][0], 4 / 3, places=12)
        self.assertAlmostEqual(critical["least_theta_rad"][0], np.arctan(2), places=12)
        beyond = 1.01 * critical["mu"][0]
        # Slip to the left presses this rod against the floor: A_tn < 0.
        out = impactlab.painleve([-1, 0], A, [beyond, beyond, 0.99 * critical["mu"][0], 0.1], [-9.81, 9.81, -9.81, 9.81])
        self.assertEqual(list(out["regime"]), ["inconsistent", "indeterminate", "contact", "separation"])
        np.testing.assert_allclose(out["mu_press"], critical["mu"][0], rtol=1e-12)
        self.assertTrue((out["k_n_per_kg"][:2] < 0).all() and (out["k_n_per_kg"][2:] > 0).all())
        self.assertEqual(impactlab.painleve([1, 0], A, beyond, -9.81)["regime"][0], "contact")
        self.assertEqual(impactlab.painleve([-1, -0.1], A, beyond, -9.81)["regime"][0], "moving")
        self.assertEqual(impactlab.painleve([-1, 0], -A, beyond, -9.81)["regime"][0], "invalid")
        jump = impactlab.predict([-1, 0], A, 0.5, beyond)
        self.assertEqual(jump["v_plus_F_m_per_s"][0, 0], 0)
        self.assertGreater(jump["v_plus_F_m_per_s"][0, 1], 0)
        with self.assertRaisesRegex(impactlab.ConfigError, "free_acceleration_n_m_per_s2: found 3 cases, allowed 1 or 2"):
            impactlab.painleve([[-1, 0], [1, 0]], A, 0.1, [1, 2, 3])

    def test_compliant_contacts_imply_their_restitution(self):
        zeta, mass, k = 0.3, 2.0, 8.0
        c = 2 * zeta * np.sqrt(k * mass)
        root = np.sqrt(1 - zeta**2)
        printed = impactlab.compliant_restitution("spring_dashpot_printed", mass, 1.5, stiffness=k, damping=c)[0]
        self.assertAlmostEqual(printed, np.exp(-np.pi * zeta / root), places=14)
        self.assertGreater(impactlab.compliant_restitution("spring_dashpot", mass, 1.5, stiffness=k, damping=c)[0], printed)
        self.assertEqual(impactlab.compliant_restitution("hertz", mass, 1.5)[0], 1)
        self.assertAlmostEqual(impactlab.compliant_restitution("hertz_hysteresis", mass, 1.5, residual=0.36)[0], 0.8, places=14)
        speeds = np.array([0.5, 1.0, 2.0])
        d = impactlab.hunt_crossley_damping(0.7, speeds)
        np.testing.assert_allclose(impactlab.compliant_restitution("hunt_crossley", mass, speeds, damping=d), 0.7, rtol=1e-12)
        slow = impactlab.compliant_restitution("hunt_crossley", mass, 1e-3, damping=0.1)[0]
        self.assertAlmostEqual(slow, impactlab.compliant_restitution("hunt_crossley_first_order", mass, 1e-3, damping=0.1)[0], places=8)
        np.testing.assert_allclose(impactlab.speed_restitution(speeds, 0.2, 0.5), 1 - 0.2 * np.sqrt(speeds), rtol=1e-15)
        self.assertEqual(len(impactlab.COMPLIANT_LAWS), 7)
        with self.assertRaisesRegex(impactlab.ConfigError, "law: found 'hook', allowed spring_dashpot"):
            impactlab.compliant_restitution("hook", 1, 1)
        with self.assertRaisesRegex(impactlab.ConfigError, "speed"):
            impactlab.compliant_restitution("hunt_crossley_first_order", 1, 0)


class Systems(Scratch):
    def test_predictions_are_those_of_the_program(self):
        for name in ("bar_on_two_stops", "000_cradle_3", "000_rocking_block_space"):
            file = DATA / "systems" / f"{name}.yaml"
            theirs = json.loads(program("predict", file, "--json"))
            self.assertEqual(theirs, impactlab.predict_system(file))
            text = impactlab.predict_system_yaml(file.read_text())
            self.assertEqual(theirs["laws"], text["laws"])

    def test_motion_is_that_of_the_program(self):
        for name in ("cube_toss", "double_pendulum_on_belt"):
            file = DATA / "scenarios" / f"{name}.yaml"
            program("simulate", file, "--out", self.folder / name, "--no-page", "--quiet")
            ours = impactlab.simulate(file)
            self.assertEqual(json.loads((self.folder / name / "summary.json").read_text())["final"], ours["summary"]["final"])
            table = impactlab.load_run(self.folder / name / "trajectory.csv")["tables"]["trajectory"]
            np.testing.assert_array_equal(table["t_s"], ours["t_s"])
            for kind in ("q", "u"):
                for column, values in ours[kind].items():
                    np.testing.assert_array_equal(table[column.replace(" ", "_")], values)
            np.testing.assert_array_equal(table["energy_J"], ours["kinetic_J"] + ours["potential_J"])
            for contact, columns in ours["contacts"].items():
                np.testing.assert_array_equal(table[f"gap_{contact.replace(' ', '_')}_m"], columns["gap_m"])
                self.assertEqual(list(table[f"mode_{contact.replace(' ', '_')}"]), list(columns["mode"]))
            theirs = impactlab.load_run(self.folder / name / "events.csv")["tables"]["events"]
            place = {int(number): row for row, number in reversed(list(enumerate(theirs["event"])))}  # first row of every event
            self.assertEqual(len(place), len(ours["events"]))
            for number, event in enumerate(ours["events"]):
                row = place[number]
                self.assertEqual((theirs["kind"][row], theirs["t_s"][row]), (event["kind"], event["t_s"]))
                if "J_F_N_s" in event:
                    self.assertEqual(event["J_F_N_s"].shape[0], len(event["contacts"]))
                    self.assertEqual(theirs["J_F_n_N_s"][row], event["J_F_N_s"][0, -1])
            self.assertTrue(any("J_F_N_s" in event for event in ours["events"]))
            for poses in ours["poses"].values():
                np.testing.assert_allclose(poses[:, :3, :3] @ poses[:, :3, :3].transpose(0, 2, 1), np.broadcast_to(np.eye(3), (len(poses), 3, 3)),
                                           atol=1e-12)


class Orbits(Scratch):
    """The ball of chapter 5 of the Bristol thesis, on a floor at sin(w t): closed forms of its orbit with one bounce a period."""

    FILE = DATA / "scenarios/ball_on_vibrating_floor.yaml"
    START = {"every_contact.e": 0.9, "bodies.0.position_m.1": 6.3626, "planes.0.phase_rad": 4.5312, "planes.0.frequency_rad_per_s": 3.0}

    def test_multipliers_of_the_orbit_with_one_bounce_a_period(self):
        orbit = impactlab.find_orbit(self.FILE, numbers=self.START)
        self.assertTrue(orbit["usable"], orbit["reason"])
        self.assertTrue(orbit["stable"])
        self.assertEqual(orbit["impacts"], 1)
        self.assertAlmostEqual(orbit["period_s"], 2 * np.pi / 3, places=12)
        self.assertLess(orbit["residual"], 1e-9)
        swinging = orbit["multipliers"][np.abs(orbit["multipliers"] - 1) > 1e-3]
        np.testing.assert_allclose(swinging.real, -0.723847, atol=1e-6)
        np.testing.assert_allclose(np.abs(swinging.imag), 0.534833, atol=1e-6)
        self.assertAlmostEqual(abs(swinging[0]), 0.9, places=6)  # Liouville: the product is e^2

    def test_the_branch_doubles_its_period_where_the_closed_form_says(self):
        e, g = 0.9, 9.81
        a, b = np.pi * (1 - e) / (1 + e), 2 * (1 + e * e) / (1 + e) ** 2
        doubling = np.sqrt(g * np.hypot(a, b))
        branch = impactlab.follow_orbit(self.FILE, "planes.0.frequency_rad_per_s", 3.0, 0.1, 2.5, doubling + 0.03, numbers=self.START)
        self.assertEqual([found["kind"] for found in branch["bifurcations"]], ["period_doubling"], branch["end"])
        self.assertAlmostEqual(branch["bifurcations"][0]["value"], doubling, places=6)
        self.assertEqual(list(branch["stable"]), list(branch["value"] < doubling))
        self.assertEqual(branch["multipliers"].shape, (len(branch["value"]), 6))
        self.assertIn("leaves the range", branch["end"])
        np.testing.assert_allclose(branch["period_s"], 2 * np.pi / branch["value"], rtol=1e-12)

    def test_says_why_there_is_none(self):
        orbit = impactlab.find_orbit(DATA / "scenarios/bouncing_ball.yaml", period_s=5)
        self.assertFalse(orbit["usable"])
        self.assertIn("lasts", orbit["reason"])
        with self.assertRaisesRegex(impactlab.ConfigError, "period_s: found 0, allowed above 0"):
            impactlab.find_orbit(DATA / "scenarios/bouncing_ball.yaml")
        with self.assertRaisesRegex(impactlab.ConfigError, "frequency"):
            impactlab.follow_orbit(self.FILE, "planes.0.frequency", 3.0, 0.1, 2.5, 4)
        with self.assertRaisesRegex(impactlab.ConfigError, "allowed a range around 3"):
            impactlab.follow_orbit(self.FILE, "planes.0.frequency_rad_per_s", 3.0, 0.1, 4, 5)


class Fits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = Path(cls.scratch.name)
        cls.file = DATA / "sample/experiment.yaml"
        program("reconstruct", cls.file, "--out", cls.folder / "run", "--quiet")
        program("identify", cls.file, "--events", cls.folder / "run/events.csv", "--out", cls.folder / "fit")
        cls.fit = json.loads((cls.folder / "fit/fit.json").read_text())
        cls.experiment = impactlab.load_experiment(cls.file)
        cls.events = cls.experiment.load_events(cls.folder / "run/events.csv")

    def test_fit_is_that_of_the_program(self):
        ours = self.experiment.identify(self.events)
        audit = ours.pop("states_audit")
        self.assertEqual(self.fit, ours)
        self.assertEqual(json.loads((self.folder / "fit/states_audit.json").read_text()), audit)
        mu = ours["fits"][-1]["parameters"]["mu_k"]
        self.assertTrue(mu["identifiable"])
        self.assertLess(mu["lower95"], mu["value"])

    def test_fit_with_options_of_a_call_is_the_same(self):
        ours = impactlab.identify(self.events, self.experiment.body, laws=["energetic"])
        theirs = next(f for f in self.fit["fits"] if f["law"] == "energetic")
        self.assertEqual(theirs["parameters"], ours["fits"][0]["parameters"])
        gauss = impactlab.identify(self.events, self.experiment.body, laws=["energetic"], likelihood="gaussian")
        self.assertEqual(gauss["fits"][0]["likelihood"], "gaussian")

    def test_impacts_that_stick_bound_friction_from_below_only(self):
        rng, n, mass, radius = np.random.default_rng(1), 12, 0.1, 0.02
        ball = impactlab.Body.ball(radius, mass)
        v = np.column_stack([rng.uniform(0.05, 0.2, n), np.zeros(n), -rng.uniform(1, 2, n)])
        contact = impactlab.contact_states(ball, (0, 0, radius), (1, 0, 0, 0), v, (0, 0, 0))
        outcome = impactlab.predict(contact["v_minus_F_m_per_s"], contact["A_F_per_kg"], 0.6, 0.4)
        self.assertEqual(set(outcome["course"]), {"1"})
        J_W = np.einsum("nij,nj->ni", contact["R_WF"], outcome["J_F_N_s"])
        spin = np.cross((0, 0, -radius), J_W) / (0.4 * mass * radius**2)
        events = impactlab.Events.from_arrays(
            ball, v_minus_m_per_s=v, omega_minus_rad_per_s=(0, 0, 0), v_plus_m_per_s=v + J_W / mass + 1e-3 * rng.normal(size=(n, 3)),
            omega_plus_rad_per_s=spin + 0.02 * rng.normal(size=(n, 3)), lever_m=(0, 0, -radius),
            cov=np.diag([1e-6] * 3 + [4e-4] * 3 + [1e-6] * 3 + [4e-4] * 3 + [1e-10] * 3))
        found = impactlab.identify(events, ball, laws=["energetic"])["fits"][0]["parameters"]
        self.assertFalse(found["mu_k"]["identifiable"])
        self.assertIn("bounded below only", found["mu_k"]["reason"])
        self.assertIsNone(found["mu_k"]["upper95"])
        self.assertTrue(found["e_star"]["identifiable"])
        self.assertTrue(found["e_star"]["lower95"] < 0.6 < found["e_star"]["upper95"])

    def test_events_of_arrays_give_the_same_fit(self):
        accepted = self.events[self.events.arrays()["accepted"]]
        self.assertLess(len(accepted), len(self.events))
        a = accepted.arrays()
        self.assertEqual(a["cov"].shape, (len(accepted), 15, 15))
        names = ("v_minus_m_per_s", "omega_minus_rad_per_s", "v_plus_m_per_s", "omega_plus_rad_per_s", "lever_m", "cov", "quaternion",
                 "position_m")
        made = impactlab.Events.from_arrays(self.experiment.body, recording=list(a["recording"]), **{name: a[name] for name in names})
        for name in ("A_F_per_kg", "v_minus_F_m_per_s", "v_plus_F_m_per_s"):
            np.testing.assert_allclose(made.arrays()[name], a[name], rtol=1e-12, atol=1e-14)
        ours = impactlab.identify(made, self.experiment.body, laws=["energetic"])["fits"][0]["parameters"]
        theirs = impactlab.identify(accepted, self.experiment.body, laws=["energetic"])["fits"][0]["parameters"]
        for name in ("mu_k", "e_star"):
            for figure in ("value", "sd", "lower95", "upper95"):
                self.assertAlmostEqual(ours[name][figure], theirs[name][figure], delta=1e-6)
        made.write(self.folder / "made")
        again = self.experiment.load_events(self.folder / "made/events.csv")
        np.testing.assert_allclose(again.arrays()["cov"], a["cov"], rtol=1e-12, atol=1e-300)

    def test_arrays_are_audited_as_a_table_is(self):
        a = self.events[self.events.arrays()["accepted"]].arrays()
        names = ("v_minus_m_per_s", "omega_minus_rad_per_s", "v_plus_m_per_s", "omega_plus_rad_per_s", "lever_m", "cov", "quaternion",
                 "position_m")
        floor = {"normal": self.experiment.floor_normal, "offset_m": self.experiment.floor_offset_m,
                 "gravity_m_per_s2": self.experiment.gravity_m_per_s2}
        verdicts = set()
        for spin in (1, 1.25, -1):  # right, of another inertia or clock, and of the other sense
            given = {name: a[name] for name in names}
            for name in ("omega_minus_rad_per_s", "omega_plus_rad_per_s"):
                given[name] = spin * given[name]
            made = impactlab.Events.from_arrays(self.experiment.body, recording=list(a["recording"]), **given, **floor)
            folder = self.folder / f"spin {spin}"
            made.write(folder)
            with open(folder / "events.csv") as file:
                rows = list(csv.DictReader(file))
            with open(folder / "states.csv", "w", newline="") as file:  # as somebody else writes them
                columns = [name for name in rows[0] if not name.startswith("A_F_")]
                table = csv.DictWriter(file, columns, extrasaction="ignore")
                table.writeheader()
                table.writerows(rows)
            (folder / "events_cov.csv").rename(folder / "states_cov.csv")
            program("identify", self.file, "--events", folder / "states.csv", "--out", folder / "fit")
            theirs = json.loads((folder / "fit/fit.json").read_text())
            ours = self.experiment.identify(made)
            self.assertEqual(theirs["verdict"], ours["verdict"])
            self.assertEqual(theirs["reason"], ours["reason"])
            verdicts.add(ours["states_audit"]["verdict"]["verdict"])
            for one, other in zip(theirs["fits"], ours["fits"], strict=True):
                self.assertEqual(one["parameters"].keys(), other["parameters"].keys())
                for name in one["parameters"]:
                    for figure in ("value", "lower95", "upper95"):
                        left, right = one["parameters"][name][figure], other["parameters"][name][figure]
                        if left is None or right is None:
                            self.assertEqual(left, right)
                        else:
                            self.assertAlmostEqual(left, right, delta=1e-6)
        self.assertGreater(len(verdicts), 1)

    def test_contact_states_are_those_of_the_events(self):
        a = self.events[self.events.arrays()["accepted"]].arrays()
        found = impactlab.contact_states(self.experiment.body, a["position_m"], a["quaternion"], a["v_minus_m_per_s"], a["omega_minus_rad_per_s"],
                                         normal=self.experiment.floor_normal, offset_m=self.experiment.floor_offset_m)
        np.testing.assert_allclose(found["A_F_per_kg"], a["A_F_per_kg"], rtol=1e-6, atol=1e-3)
        np.testing.assert_allclose(found["v_minus_F_m_per_s"], a["v_minus_F_m_per_s"], atol=1e-3)

    def test_a_run_is_that_of_the_program_and_its_folder_is_read(self):
        self.assertEqual(impactlab.run(self.file, self.folder / "ours", report=False), 0)
        program("run", self.file, "--out", self.folder / "theirs", "--no-report", "--quiet")
        for name in ("events.csv", "events_cov.csv", "fit.json", "validation.csv"):
            self.assertEqual((self.folder / "theirs" / name).read_bytes(), (self.folder / "ours" / name).read_bytes(), name)
        read = impactlab.load_run(self.folder / "ours")
        with open(self.folder / "ours/events.csv") as file:
            rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
        self.assertEqual([float(row["v_minus_z_m_per_s"] or "nan") for row in rows if row["accepted"] == "1"],
                         list(read["tables"]["events"]["v_minus_z_m_per_s"][read["tables"]["events"]["accepted"] == 1]))
        components, cov = read["matrices"]["events_cov_matrix"]
        self.assertEqual(tuple(components), impactlab.EVENT_COMPONENTS)
        self.assertEqual(cov.shape[1:], (15, 15))
        self.assertEqual(impactlab.run(self.file, self.folder / "ours", report=False, require=["accepted>=1000"]), 1)  # says so on the error output


class Cameras(Scratch):
    def test_rig_projects_as_its_model_says_and_triangulates_back(self):
        rig = impactlab.load_rig(DATA / "sample/incline/rig.yaml")
        points = np.random.default_rng(2).uniform(-0.1, 0.1, (20, 3)) + (0, 0, 0.1)
        images = np.stack([rig.project(name, points) for name in rig.cameras], axis=1)
        self.assertTrue(np.isfinite(images).all())
        for k, name in enumerate(rig.cameras):
            camera = rig.camera(name)
            self.assertEqual(camera["model"], "brown")
            i = camera["intrinsics"]
            p = (np.linalg.inv(camera["X_WC"]) @ np.column_stack([points, np.ones(20)]).T).T[:, :3]
            a, b = p[:, 0] / p[:, 2], p[:, 1] / p[:, 2]
            r2 = a * a + b * b
            s = 1 + i["k1"] * r2 + i["k2"] * r2**2 + i["k3"] * r2**3
            q = np.column_stack([i["fx_px"] * (s * a + 2 * i["p1"] * a * b + i["p2"] * (r2 + 2 * a * a)) + i["cx_px"],
                                 i["fy_px"] * (s * b + i["p1"] * (r2 + 2 * b * b) + 2 * i["p2"] * a * b) + i["cy_px"]])
            np.testing.assert_allclose(images[:, k], q, atol=1e-9)
            centre, ray = rig.rays(name, images[:, k])
            np.testing.assert_allclose(np.cross(ray, points - centre), 0, atol=1e-9)
        found = rig.triangulate(images, 0.01 * np.eye(2))
        self.assertTrue(found["usable"].all())
        np.testing.assert_allclose(found["p_m"], points, atol=1e-8)
        self.assertTrue((np.linalg.eigvalsh(found["cov_m2"] - found["cov_pixels_m2"]) > -1e-15).all())
        images[3, 0] = np.nan
        self.assertEqual(list(np.flatnonzero(~rig.triangulate(images, 0.01 * np.eye(2))["usable"])), [3])
        self.assertEqual(rig.covariance.shape, (len(rig.parameter_names),) * 2 if rig.covariance.size else (0, 0))
        (self.folder / "rig.yaml").write_text(rig.yaml())
        self.assertEqual(impactlab.load_rig(self.folder / "rig.yaml").yaml(), rig.yaml())

    def test_a_rigid_move_is_measured_as_rigid_unless_the_lens_is_wrong(self):
        rig = impactlab.load_rig(DATA / "sample/incline/rig.yaml")
        x, y = np.meshgrid(np.linspace(-0.1, 0.1, 7), np.linspace(-0.1, 0.1, 7))
        before = np.column_stack([x.ravel(), y.ravel(), 0.1 + 0.02 * np.sin(40 * x.ravel())])
        turn = np.array([[np.cos(0.1), -np.sin(0.1), 0], [np.sin(0.1), np.cos(0.1), 0], [0, 0, 1]])
        after = before @ turn.T + (0.01, 0.02, -0.01)
        images = [np.stack([rig.project(name, p) for name in rig.cameras], axis=1) for p in (before, after)]
        noise = np.random.default_rng(5).normal(scale=0.02, size=(2, *images[0].shape))
        found = rig.rigidity(images[0] + noise[0], images[1] + noise[1], 4e-4 * np.eye(2))
        self.assertTrue(found["usable"], found["reason"])
        self.assertTrue(found["rigid"], found["verdict"])
        np.testing.assert_allclose(found["motion_W"][:3, :3], turn, atol=1e-3)
        self.assertEqual(found["residual_m"].shape, (49, 3))
        bent = after + np.column_stack([0 * x.ravel(), 0 * x.ravel(), 0.3 * x.ravel() ** 2])
        images[1] = np.stack([rig.project(name, bent) for name in rig.cameras], axis=1)
        self.assertFalse(rig.rigidity(images[0] + noise[0], images[1] + noise[1], 4e-4 * np.eye(2))["rigid"])
        images[0][:, 1] = np.nan
        self.assertFalse(rig.rigidity(images[0], images[1], 4e-4 * np.eye(2))["usable"])  # one camera does not triangulate

    def test_tracks_are_read_with_covariances_and_a_fault_names_its_cell(self):
        file = self.folder / "tracks.csv"
        header = "recording,camera,marker,frame,t_s,x_px,y_px,cov_xx_px2,cov_xy_px2,cov_yy_px2"
        rows = ["drop,left,a,0,0.0,10.5,20.25,0.04,0.01,0.09", "drop,left,a,1,0.01,11.5,21.25,0.04,0.01,0.09", "other,right,b,4,0.5,1,2,1,0,1"]
        file.write_text("\n".join([header, *rows]) + "\n")
        drop, other = impactlab.load_tracks(file)
        self.assertEqual((drop["recording"], drop["cameras"], drop["markers"]), ("drop", ["left"], ["a"]))
        np.testing.assert_array_equal(drop["q_px"], [[10.5, 20.25], [11.5, 21.25]])
        np.testing.assert_array_equal(drop["cov_px2"][1], [[0.04, 0.01], [0.01, 0.09]])
        self.assertEqual((other["frame"][0], other["t_s"][0]), (4, 0.5))
        file.write_text("\n".join([header, rows[0], rows[1].replace("0.04", "-1")]) + "\n")
        with self.assertRaisesRegex(impactlab.DataError, "row 3"):
            impactlab.load_tracks(file)


class Faults(Scratch):
    def refuse(self, error, pattern, call, *arguments, **named):
        with self.assertRaisesRegex(error, pattern):
            call(*arguments, **named)

    def test_shapes_dtypes_and_names_are_told(self):
        wrong = impactlab.ConfigError
        self.assertTrue(issubclass(wrong, ValueError) and issubclass(impactlab.DataError, ValueError))
        self.assertEqual(wrong.__module__, "impactlab")
        self.refuse(wrong, r"v_minus_F_m_per_s: found shape \(4,\), allowed \(2,\), \(3,\), \(n, 2\), \(n, 3\)", impactlab.predict, np.ones(4), np.eye(2))
        self.refuse(wrong, r"A_F_per_kg: found 3 cases, allowed 1 or 5, the number of v_minus", impactlab.predict, np.ones((5, 2)), np.ones((3, 2, 2)))
        self.refuse(wrong, r"A_F_per_kg: allowed 2 x 2 with velocities", impactlab.predict, np.ones((5, 2)), np.eye(3))
        self.refuse(wrong, r"mu_k: found dtype <U1, allowed numbers", impactlab.predict, (0, -1), np.eye(2), 0.5, "a")
        self.refuse(wrong, r"A_F_per_kg: found dtype complex128", impactlab.predict, (0, -1), np.eye(2) * 1j)
        self.refuse(wrong, r"mu_k: found dtype bool", impactlab.predict, (0, -1), np.eye(2), 0.5, True)
        self.refuse(wrong, r"law: found 'stronge', allowed energetic", impactlab.predict, (0, -1), np.eye(2), law="stronge")
        self.refuse(wrong, r"mass", impactlab.Body.ball, 0.01, -1)
        body = impactlab.Body.ball(0.01, 0.1)
        self.refuse(wrong, r"quaternion: case 1: found a length of 2", impactlab.contact_states, body, (0, 0, 1), [[1, 0, 0, 0], [2, 0, 0, 0]], (0, 0, -1), (0, 0, 0))
        v = dict(v_minus_m_per_s=(0, 0, -1), omega_minus_rad_per_s=(0, 0, 0), v_plus_m_per_s=(0, 0, 1), omega_plus_rad_per_s=(0, 0, 0), lever_m=(0, 0, -0.01))
        cov = np.eye(15)
        cov[3, 4] = 0.5
        self.refuse(wrong, r"cov: case 0: allowed a symmetric matrix", impactlab.Events.from_arrays, body, **v, cov=cov)
        self.refuse(wrong, r"recording: found 1 names, allowed 2", impactlab.Events.from_arrays, body, **{**v, "lever_m": np.full((2, 3), 0.01)}, recording=["a"])
        flat = impactlab.Body.ball(0.01, 0.1, planar=True)
        self.refuse(wrong, r"v_minus_y: case 0: found 1, allowed 0 in planar motion", impactlab.Events.from_arrays, flat, **{**v, "v_minus_m_per_s": (0, 1, -1)})
        self.refuse(wrong, r"laws: found brach, allowed newton", impactlab.identify, impactlab.Events.from_arrays(body, **v), body, laws=["brach"])
        self.refuse(TypeError, r"incompatible", impactlab.predict)
        self.refuse(wrong, r"threads: found -1, allowed 0", impactlab.predict, (0, -1), np.eye(2), threads=-1)
        masked = np.ma.array([[0.0, -1.0], [0.0, -2.0]], mask=[[False, False], [False, True]])
        self.refuse(wrong, r"v_minus_F_m_per_s: found masked values", impactlab.predict, masked, np.eye(2))
        impactlab.predict(np.ma.array([0.0, -1.0]), np.eye(2))  # a mask that hides nothing
        rig = impactlab.load_rig(DATA / "sample/incline/rig.yaml")
        self.refuse(wrong, r"camera: found 'middle', allowed left, right", rig.project, "middle", (0, 0, 0))

    def test_files_are_told_by_line_or_row(self):
        self.refuse(impactlab.ConfigError, r"system:1: bodies: .* is bodes in line 2 meant", impactlab.predict_system_yaml, "schema: impactlab.system/1\nbodes: 3\n")
        self.refuse((impactlab.ConfigError, impactlab.DataError), r"nowhere.yaml", impactlab.load_experiment, self.folder / "nowhere.yaml")
        (self.folder / "events.csv").write_text("recording,v_minus_x_m_per_s\na,1\n")
        self.refuse(impactlab.DataError, r"no column", impactlab.load_events, self.folder / "events.csv", impactlab.Body.ball(0.1, 1))
        self.refuse(impactlab.DataError, r"nothing", impactlab.load_run, self.folder / "nothing")
        (self.folder / "file").write_text("")
        self.refuse(OSError, r"file", impactlab.run, DATA / "sample/experiment.yaml", self.folder / "file", report=False)


class Threads(unittest.TestCase):
    def test_other_threads_run_during_a_call(self):
        v, A, e, mu = random_states(20000, 3, 4)
        window, stamps = [], []

        def work():
            window.append(time.perf_counter())
            impactlab.predict(v, A, e, mu, threads=1)
            window.append(time.perf_counter())

        thread = threading.Thread(target=work)
        thread.start()
        while thread.is_alive():
            stamps.append(time.perf_counter())
            time.sleep(0.001)
        thread.join()
        # Within the middle of the call no other thread would have had a turn.
        first, last = window[0] + 0.2 * (window[1] - window[0]), window[0] + 0.6 * (window[1] - window[0])
        self.assertGreater(sum(first < s < last for s in stamps), 3)

    def test_results_do_not_depend_on_threads(self):
        v, A, e, mu = random_states(3000, 3, 6)
        one, two = (impactlab.predict(v, A, e, mu, threads=n, certify=False) for n in (1, 4))
        np.testing.assert_array_equal(one["v_plus_F_m_per_s"], two["v_plus_F_m_per_s"])

    def test_ctrl_c_ends_a_long_call(self):
        text = (DATA / "scenarios/ball_on_vibrating_floor.yaml").read_text()
        script = ("import impactlab, sys\nprint('ready', flush=True)\ntry:\n    impactlab.simulate_yaml(sys.stdin.read())\n"
                  "except KeyboardInterrupt as stop:\n    print('stopped', stop)\nprint(sum(range(10)))\n")
        text = text.replace("duration_s: 60, sample_step_s: 0.02", "duration_s: 900000, sample_step_s: 10")
        child = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdout.close)
        self.assertEqual(child.stdout.readline(), "ready\n")
        child.stdin.write(text)
        child.stdin.close()
        time.sleep(1)
        self.assertIsNone(child.poll())
        child.send_signal(signal.SIGINT)
        child.wait(20)
        self.assertEqual(child.stdout.read(), "stopped interrupted; files that were not complete were not kept; the same command again goes on from what was\n45\n")


class Stub(unittest.TestCase):
    """Every public name with its signature stands in the stub, and nothing else does."""

    def signature(self, function, drop_self):
        line = function.__doc__.splitlines()[0]
        arguments = ast.parse(f"def {line}: ...").body[0].args
        return self.parts(arguments, drop_self)

    def parts(self, arguments, drop_self):
        names = [a.arg for a in arguments.args][1 if drop_self else 0:]
        defaults = [ast.literal_eval(d) for d in arguments.defaults]
        keywords = [(a.arg, ast.literal_eval(d) if d else "required") for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)]
        return names, defaults, keywords

    def test_stub_agrees_with_the_module(self):
        stub = ast.parse((Path(impactlab.__file__).parent / "__init__.pyi").read_text())
        functions = {n.name: n for n in stub.body if isinstance(n, ast.FunctionDef)}
        classes = {n.name: n for n in stub.body if isinstance(n, ast.ClassDef)}
        values = {n.target.id for n in stub.body if isinstance(n, ast.AnnAssign)}
        self.assertEqual(set(impactlab.__all__), set(functions) | set(classes) | values)
        from impactlab import _impactlab

        self.assertEqual({n for n in vars(_impactlab) if not n.startswith("_")} | {"__version__"}, set(impactlab.__all__))
        for name, node in functions.items():
            of_module, declared = self.signature(getattr(impactlab, name), False), self.parts(node.args, False)
            # The list of all laws is "..." in the stub: the module takes it from the table of laws.
            keywords = dict(of_module[2])
            for i, (keyword, default) in enumerate(declared[2]):
                if default is Ellipsis and keyword == "laws":
                    declared[2][i] = (keyword, keywords.get(keyword))
            self.assertEqual(of_module, declared, name)
        for name, node in classes.items():
            kind = getattr(impactlab, name)
            members = {n.name: n for n in node.body if isinstance(n, ast.FunctionDef)}
            public = {n for n in vars(kind) if not n.startswith("_")} | ({"__len__", "__getitem__"} & set(vars(kind)))
            self.assertEqual(public - {"args"}, set(members), name)
            for member, declared in members.items():
                marks = {d.id for d in declared.decorator_list}
                if "property" in marks:
                    self.assertIsInstance(vars(kind)[member], property)
                    continue
                of_module = self.signature(getattr(kind, member), "staticmethod" not in marks)
                self.assertEqual(of_module, self.parts(declared.args, "staticmethod" not in marks), f"{name}.{member}")

    def test_everything_public_is_documented(self):
        for name in impactlab.__all__:
            thing = getattr(impactlab, name)
            if callable(thing):
                text = thing.__doc__ if isinstance(thing, type) else "\n".join(thing.__doc__.splitlines()[1:]).strip()
                self.assertGreater(len(text), 20, name)


class Example(Scratch):
    def test_example_runs(self):
        done = subprocess.run([sys.executable, SOURCE / "pipelines/python/example.py", self.folder / "out"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("all certified: True", done.stdout)
        predicted = np.loadtxt(self.folder / "out/predicted.csv", delimiter=",", skiprows=1)
        self.assertGreater(len(predicted), 8)
        self.assertGreater(np.corrcoef(predicted[:, 2], predicted[:, 5])[0, 1], 0.9)
        lost = np.loadtxt(self.folder / "out/lost.csv", delimiter=",", skiprows=1)
        self.assertTrue(((lost[:, 2] >= 0) & (lost[:, 2] <= 1)).all())
        self.assertLess(lost[lost[:, 1] == 0, 2].max(), 1 - 0.6**2 + 1e-9)


class Speed(unittest.TestCase):
    def test_large_batches_and_their_speed(self):
        for width, n in ((2, 100000), (3, 10000)):
            v, A, e, mu = random_states(n, width, 8)
            for certify in (False, True):
                start = time.perf_counter()
                out = impactlab.predict(v, A, e, mu, certify=certify)
                seconds = time.perf_counter() - start
                print(f"{'planar' if width == 2 else 'spatial'} x {n}{', certified' if certify else ''}: {seconds:.3f} s, {1e6 * seconds / n:.2f} us each")
            self.assertTrue(out["usable"].all())
            self.assertTrue(out["certified"].all(), out["failed_checks"][~out["certified"]][:3])


if __name__ == "__main__":
    unittest.main()
