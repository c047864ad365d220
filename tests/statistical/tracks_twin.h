#pragma once
// One experiment of stereo drops at the level of tracks, repeated: what a laboratory does not know
// of its cameras, clocks, markers and body is drawn anew each time, the impacts stay the same. The
// whole back half of the chain makes coefficients of the tracks.

#include <fmt/format.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "impact/body/event.h"
#include "impact/law/solve.h"
#include "pipelines/run/run.h"
#include "tests/reconstruction/drop_scene.h"

namespace impactlab::twin {

// What is drawn in a repeat; the others are as the estimator takes them to be.
struct Drawn {
  bool pixels = true, clocks = true, cameras = true, layout = true, inertia = true, outline = true;
};

struct TracksExperiment {
  CameraRig rig;
  std::vector<test::Drop> drops;
  std::vector<test::Path> paths;
  ImpactModel model;
  Plane floor;
  double rate = 120;         // [1/s]
  double layout_sd = 1e-4;   // of every coordinate of a marker, the same in all drops [m]
  double inertia_sd = 0.01;  // of all moments together, relative
  double outline_sd = 5e-4;  // of half the length and the radius of a rod [m]
  // What differs from impact to impact by more than is measured: friction and restitution,
  // relative; where the impulse acts on the edge [m].
  double scatter = 0, patch = 0;
};

// The free flight after an impact by the law, until anything touches again. False where that is no
// single impact with some flight after it, or where the digit of its case is none of `cases`
// (empty: any).
inline bool Obey(const ImpactModel& model, double least_after, const std::string& cases,
                 test::Drop* drop, const Eigen::Vector3d& beside = Eigen::Vector3d::Zero()) {
  const test::Flying& m = drop->minus;
  ImpactEvent event;
  event.X_WB.linear() = m.R;
  event.X_WB.translation() = m.p;
  event.v_minus = event.v_plus = m.v;
  event.omega_minus = event.omega_plus = m.omega;
  event.p_WP = m.p + test::LowestLever(drop->body, m.R, drop->normal);
  UpdateContact(event, drop->body, drop->floor(), drop->gravity);
  const ImpactOutcome outcome = Solve(event.contact, model);
  if (!cases.empty() && cases.find(outcome.path_case.Name()[0]) == std::string::npos) return false;
  const Eigen::Vector3d J = event.contact.X_WF.linear() * outcome.J_F,
                        lever = event.p_WP - m.p + beside;
  drop->plus = m;
  drop->plus.v += J / drop->body.mass;
  drop->plus.omega += m.R * drop->body.inertia_B.inverse() * m.R.transpose() * lever.cross(J);
  test::Flying after = drop->plus;
  drop->end = 0;
  while (drop->end < 0.2) {
    after = test::Fly(after, drop->body.inertia_B, drop->gravity, 2e-3);
    if (test::Heights(drop->body, after, drop->normal)[0] <= 0) break;
    drop->end += 2e-3;
  }
  drop->end -= 2e-3;
  return drop->end > least_after;
}

// The same impacts as they come out this time.
inline void Scatter(TracksExperiment* e, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  if (!(e->scatter > 0) && !(e->patch > 0)) return;
  e->paths.clear();
  for (test::Drop& drop : e->drops) {
    const test::Drop before = drop;
    do {
      drop = before;
      ImpactModel model = e->model;
      model.mu_k = model.mu_s = e->model.mu_k * (1 + e->scatter * normal(random));
      model.e = std::clamp(e->model.e * (1 + e->scatter * normal(random)), 0.0, 1.0);
      Eigen::Vector3d beside = e->patch * test::Normal3(random);
      beside -= drop.normal * drop.normal.dot(beside);
      if (Obey(model, 0.05, {}, &drop, beside)) break;
    } while (true);
    e->paths.emplace_back(drop);
  }
}

// Sun 2017's cameras: 1280 x 720, f about 1060 px, 0.9 m away, 0.34 m apart, calibrated by 15
// pairs of boards with 0.1 px a corner.
inline TracksExperiment MakeTracksExperiment(
    test::Thing thing, int drops, double slope, std::uint64_t seed,
    const ImpactModel& model = {{.e = 0.55, .mu_k = 0.25, .mu_s = 0.25},
                                RestitutionLaw::kEnergetic},
    const std::string& cases = {}) {
  std::mt19937_64 random(seed);
  TracksExperiment e;
  e.rig = test::DropRig(2);
  test::CalibrateByBoards(&e.rig, 15, 0.1, random);
  e.model = model;
  const Eigen::Vector3d n(std::sin(slope), 0, std::cos(slope));
  while (static_cast<int>(e.drops.size()) < drops) {
    test::Drop drop = test::DrawDrop(thing, random, 0.2, n);
    if (Obey(e.model, 0.07, cases, &drop)) e.drops.push_back(drop);
  }
  e.floor = e.drops.front().floor();
  for (const test::Drop& drop : e.drops) e.paths.emplace_back(drop);
  return e;
}

struct TracksRepeat {
  impactlab::Experiment experiment;
  MarkerRecordings markers;  // with the layout as the analysis has it
  Analysis analysis;
  std::vector<double> offset;     // true one of the second camera, by drop [s]
  std::vector<test::Drop> drops;  // as they came out
};

// What the cameras record, and what the laboratory believes of it.
inline TracksRepeat Record(const TracksExperiment& as_drawn, const Drawn& drawn,
                           std::mt19937_64& random) {
  TracksExperiment e = as_drawn;
  Scatter(&e, random);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(-1, 1);
  TracksRepeat out;
  MarkerRecordings& markers = out.markers;
  markers.rig = drawn.cameras ? test::Miscalibrated(e.rig, random) : e.rig;
  markers.layout = e.drops.front().markers;
  // The laboratory has the drawing; the markers sit beside it, as the body turns: on a rod whose
  // roll nobody knows that is not the same as a drawing that is off.
  if (drawn.layout)
    for (std::size_t m = 0; m < markers.layout.size(); ++m) {
      const Eigen::Vector3d beside = e.layout_sd * test::Normal3(random);
      for (test::Drop& drop : e.drops) drop.markers[m].p_BM += beside;
    }
  for (std::size_t i = 0; i < e.drops.size(); ++i) {
    test::Filming filming;
    filming.rate = e.rate;
    filming.offset[1] = drawn.clocks ? uniform(random) / e.rate : 0.3 / e.rate;
    if (!drawn.pixels) filming.pixel_sd = 1e-6;
    out.offset.push_back(filming.offset[1]);
    MarkerTracks tracks = test::Film(e.drops[i], e.paths[i], e.rig, filming, random);
    // What the estimator is told of the noise is the same where none is drawn.
    for (TrackPoint& point : tracks.points)
      point.cov = std::pow(test::Filming{}.pixel_sd, 2) * Eigen::Matrix2d::Identity();
    tracks.recording = fmt::format("drop_{:02}", i + 1);
    MarkerRecording& recording = markers.recordings.emplace_back();
    recording.tracks = std::move(tracks);
    recording.offset_sd = 1 / e.rate;
  }
  out.drops = e.drops;
  impactlab::Experiment& experiment = out.experiment;
  experiment.name = "twin";
  experiment.body = e.drops.front().body;
  if (drawn.inertia) experiment.body.inertia_B *= 1 + e.inertia_sd * normal(random);
  experiment.outline_sd = e.drops.front().body.shape == BodyShape::kRod ? e.outline_sd : 0;
  if (drawn.outline && experiment.outline_sd > 0) {
    experiment.body.half_length += e.outline_sd * normal(random);
    experiment.body.radius = std::max(0.5 * experiment.body.radius,
                                      experiment.body.radius + e.outline_sd * normal(random));
  }
  experiment.floor = e.floor;
  experiment.motion.flight.gravity_W = e.drops.front().gravity;
  experiment.bundle.offset_sd = experiment.bundle.exposure = -1;
  experiment.inertia_sd = e.inertia_sd;
  experiment.markers.emplace();
  experiment.markers->plan.identity.layout_sd = e.layout_sd;
  experiment.laws = {RestitutionLaw::kEnergetic};
  experiment.identify.bootstrap = experiment.identify.grid = 0;
  experiment.identify.influence = false;
  return out;
}

// `intervals`: with intervals and error budget, else the coefficients alone.
inline TracksRepeat Repeat(const TracksExperiment& e, const Drawn& drawn, bool intervals,
                           std::mt19937_64& random) {
  TracksRepeat out = Record(e, drawn, random);
  impactlab::Experiment& experiment = out.experiment;
  MarkerRecordings& markers = out.markers;
  experiment.identify.intervals = intervals;
  Analysis& analysis = out.analysis;
  const RunContext silent = {.threads = 1, .quiet = true};
  BundleFits campaign = FitBundles(experiment, markers, e.floor, "", silent);
  analysis.drops = std::move(campaign.drops);
  analysis.layout = std::move(campaign.layout);
  analysis.fit_seconds = std::move(campaign.seconds);
  markers = WithLayout(std::move(markers), analysis.layout);
  for (const std::vector<ImpactBundle>& drops : analysis.drops) {
    analysis.motion.emplace_back();
    for (const ImpactBundle& drop : drops) analysis.motion.back().events.push_back(drop.event);
  }
  FitsWithBudget together = IdentifyTogether(experiment, markers, analysis, intervals, silent);
  analysis.fit = std::move(together.fit);
  analysis.budget = std::move(together.budget);
  return out;
}

}  // namespace impactlab::twin
