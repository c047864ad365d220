#!/usr/bin/env python3
"""From recordings to coefficients, and what they predict: python3 example.py [OUT]

Runs the planar sample of the project, fits friction and restitution, predicts every impact from its state before, and varies one impact
over angle and friction. Draws figures where matplotlib is installed (Debian: python3-matplotlib), and writes their numbers as CSV anyway.
"""

import sys
from pathlib import Path

import numpy as np

import impactlab

try:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError:
    pyplot = None

here = Path(__file__).resolve().parent
out = Path(sys.argv[1] if len(sys.argv) > 1 else "out/python")
out.mkdir(parents=True, exist_ok=True)

# Recordings to events, and events to coefficients.
experiment = impactlab.load_experiment(here / "../../data/sample/experiment.yaml")
impactlab.run(here / "../../data/sample/experiment.yaml", out / "run", report=False)
events = experiment.load_events(out / "run/events.csv")
events = events[events.arrays()["accepted"]]
fit = next(f for f in impactlab.identify(events, experiment.body)["fits"] if f["law"] == "energetic")
coefficient = fit["parameters"]
for name, p in coefficient.items():
    print(f"{name:7} {p['value']:.4f} +- {p['sd']:.4f}, 95 % [{p['lower95']:.4f}, {p['upper95']:.4f}]")

# Every measured impact by the fitted law, in one call.
states = events.arrays()
predicted = impactlab.predict(
    states["v_minus_F_m_per_s"], states["A_F_per_kg"], coefficient["e_star"]["value"], coefficient["mu_k"]["value"]
)
difference = predicted["v_plus_F_m_per_s"] - states["v_plus_F_m_per_s"]
print(f"{len(events)} impacts, all certified: {predicted['certified'].all()}; "
      f"rms difference of the contact's velocity {np.sqrt((difference[:, [0, 2]] ** 2).mean()):.3f} m/s")
np.savetxt(out / "predicted.csv", np.column_stack([states["v_plus_F_m_per_s"], predicted["v_plus_F_m_per_s"]]), delimiter=",", comments="",
           header=",".join(f"{side}_v_plus_{axis}_m_per_s" for side in ("measured", "predicted") for axis in "xyn"))

# What a bar's orientation and friction make of the same drop: energy lost, on a grid.
theta, mu = np.meshgrid(np.radians(np.linspace(2, 88, 87)), np.linspace(0, 0.6, 61))
angle = theta.ravel() / 2
bar = impactlab.Body.box((0.2, 0, 0.01), 0.06, planar=True)
turned = np.column_stack([np.cos(angle), 0 * angle, -np.sin(angle), 0 * angle])  # planar theta turns about -y
contact = impactlab.contact_states(bar, (0, 0, 1), turned, (0.3, 0, -1.5), (0, 0, 0))
grid = impactlab.predict(contact["v_minus_F_m_per_s"], contact["A_F_per_kg"], 0.6, mu.ravel(), certify=False)
lost = grid["dissipated"].reshape(theta.shape)
np.savetxt(out / "lost.csv", np.column_stack([theta.ravel(), mu.ravel(), lost.ravel()]), delimiter=",", comments="",
           header="theta_rad,mu_k,dissipated")

if pyplot is None:
    print(f"matplotlib is not installed: the numbers of the figures are in {out}")
else:
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4.2), constrained_layout=True)
    for k, axis in ((0, "along the surface"), (2, "normal")):
        left.plot(states["v_plus_F_m_per_s"][:, k], predicted["v_plus_F_m_per_s"][:, k], "o", label=axis)
    left.axline((0, 0), slope=1, color="0.6", zorder=0)
    left.set(xlabel="measured v+ [m/s]", ylabel="predicted v+ [m/s]", title="impacts of the sample")
    left.legend()
    shown = right.pcolormesh(np.degrees(theta), mu, 100 * lost, shading="nearest")
    right.set(xlabel="orientation of the bar [deg]", ylabel="mu", title="share of the energy lost [%]")
    figure.colorbar(shown)
    figure.savefig(out / "figures.png", dpi=120)
    print(f"figures in {out / 'figures.png'}")
