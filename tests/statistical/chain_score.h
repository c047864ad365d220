#pragma once
// One experiment of the chain study: filmed, calibrated, tracked, fitted, and held against its
// truth.

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "data/base/core_seconds.h"
#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/number_json.h"
#include "pipelines/run/run.h"
#include "pipelines/synth/video_outline.h"
#include "tests/statistical/chain_scenes.h"

namespace impactlab::test {

struct ChainTruth {
  double t = 0;  // common clock [s]
  ImpactEvent event;
};

// The first impacts of all drops, in W of the scene.
inline std::vector<ChainTruth> TruthOf(const VideoScene& scene) {
  std::vector<ChainTruth> out;
  for (int drop = 1; drop <= scene.motion.drops; ++drop) {
    const pipelines::Film film = pipelines::MakeFilm(scene, drop);
    ChainTruth truth{film.release + film.motion.strikes.front().t,
                     film.motion.strikes.front().event};
    truth.event.X_WB.translation() += film.shift;
    out.push_back(truth);
  }
  return out;
}

// Errors and their standard deviations, components of one quantity side by side.
inline nlohmann::json ErrorsOf(const Vector3d& error, const Eigen::Matrix3d& cov,
                               const Eigen::Matrix3d& seen) {
  // In the two or three directions that are seen.
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> eigen(seen);
  nlohmann::json json;
  for (int i = 0; i < 3; ++i) {
    if (eigen.eigenvalues()[i] < 0.5) continue;
    const Vector3d d = eigen.eigenvectors().col(i);
    json["error"].push_back(d.dot(error));
    json["sd"].push_back(std::sqrt(d.dot(cov * d)));
  }
  return json;
}

inline nlohmann::json ScoreDropFit(const ImpactBundle& fit, const ChainTruth& truth,
                                   const ChainScene& chain) {
  const ImpactEvent &e = fit.event, &t = truth.event;
  const Eigen::Matrix3d all = Eigen::Matrix3d::Identity();
  const Vector3d axis = t.X_WB.linear().col(2);
  const Eigen::Matrix3d seen =
      chain.kind == "rod" ? Eigen::Matrix3d(all - axis * axis.transpose()) : all;
  const auto block = [&](int k) { return Eigen::Matrix3d(e.cov.block<3, 3>(k, k)); };
  const auto one = [](double error, double sd) {
    return nlohmann::json{{"error", {error}}, {"sd", {sd}}};
  };
  nlohmann::json json;
  json["accepted"] = e.accepted;
  json["detail"] = e.accepted ? "" : e.detail;
  json["frames"] = {e.frames_minus, e.frames_plus};
  json["noise_scale"] = fit.noise_scale;
  json["position"] = ErrorsOf(e.X_WB.translation() - t.X_WB.translation(),
                              fit.cov.block<3, 3>(kDropPose, kDropPose), all);
  json["v_minus"] = ErrorsOf(e.v_minus - t.v_minus, block(kVMinus), all);
  json["v_plus"] = ErrorsOf(e.v_plus - t.v_plus, block(kVPlus), all);
  json["omega_minus"] = ErrorsOf(e.omega_minus - t.omega_minus, block(kOmegaMinus), seen);
  json["omega_plus"] = ErrorsOf(e.omega_plus - t.omega_plus, block(kOmegaPlus), seen);
  json["time"] = one(e.t - (truth.t - chain.scene.cameras[0].t_offset), e.sd_t);
  if (fit.offset.size() > 1)
    json["offset"] =
        one(fit.offset[1] - (chain.scene.cameras[1].t_offset - chain.scene.cameras[0].t_offset),
            fit.sd_offset[1]);
  json["size"] = {{"v_minus", t.v_minus.norm()},
                  {"v_plus", t.v_plus.norm()},
                  {"omega_minus", (seen * t.omega_minus).norm()},
                  {"omega_plus", (seen * t.omega_plus).norm()}};
  return json;
}

inline nlohmann::json Coefficient(const ParameterEstimate& p, double truth) {
  const auto number = &NumberJson<nlohmann::json>;
  return {{"value", number(p.value)},
          {"sd", number(p.sd)},
          {"lower95", number(p.lower95)},
          {"upper95", number(p.upper95)},
          {"identifiable", p.identifiable},
          {"reason", p.reason},
          {"truth", truth}};
}

// What the experimenter knows in place of what is filmed.
inline void Tell(const ChainScene& chain, Experiment* experiment) {
  experiment->body = chain.body;
  experiment->bundle.offset_sd = 1 / chain.scene.cameras[1].frame_rate;
  TrackConfig& plan = experiment->markers->plan;
  plan.sync = SyncMethod::kNone;
  for (std::size_t i = 0; i < plan.markers.size(); ++i) {
    plan.markers[i].normal_B = chain.normals[i];
    plan.markers[i].radius = chain.radii[i];
  }
  // Nobody knows the clocks: the file that the synthesiser wrote does.
  for (TrackedCamera& camera : plan.cameras) {
    camera.source.t_shift = 0;
    if (!chain.row_times_told) camera.source.t_line = 0;
  }
}

// Experiment k of a study as one JSON object. `folder` is used for its files, which are removed
// unless `keep`.
inline nlohmann::json ScoreChain(const ChainScene& chain, int k,
                                 const std::filesystem::path& folder, bool keep = false) {
  nlohmann::json json = {{"experiment", k}, {"body", chain.kind}, {"effects", chain.effects}};
  const Vector3d g = chain.scene.motion.flight.gravity_W;
  json["slope_deg"] = std::round(std::atan2(g.x(), -g.z()) * 180 / M_PI);
  json["model"] = {{"mu_k", chain.scene.motion.model.mu_k}, {"e_star", chain.scene.motion.model.e}};
  const double began = CoreSeconds();
  try {
    SynthesiseVideo(folder, chain.scene, {.threads = 1});
    const auto calibration = folder / "calibration/calibration.yaml";
    std::string text;
    {
      std::ifstream in(calibration);
      text.assign(std::istreambuf_iterator<char>(in), {});
    }
    const std::string model =
        std::string("model: ") + ToString(chain.scene.rig.cameras[0].camera.model);
    for (std::size_t at = text.find(model); at != std::string::npos; at = text.find(model, at + 1))
      text.replace(at, model.size(), std::string("model: ") + ToString(chain.lens));
    WriteFile(calibration, text);
    json["seconds_filming"] = CoreSeconds() - began;
    Experiment experiment = LoadExperiment(folder / "experiment.yaml");
    Tell(chain, &experiment);
    const double start = CoreSeconds();
    const RunContext quiet = {.threads = 1, .quiet = true};
    Recordings recordings =
        LoadMarkers(experiment, folder / "run",
                    {.pages = false, .command = "chain_study", .plotting = ""}, quiet);
    json["seconds_tracking"] = CoreSeconds() - start;
    const RunResult run =
        RunExperiment(experiment, std::move(recordings), {.validate = false}, quiet);
    json["seconds"] = CoreSeconds() - began;
    const std::vector<ChainTruth> truth = TruthOf(chain.scene);
    json["drops"] = nlohmann::json::array();
    for (std::size_t i = 0; i < truth.size(); ++i) {
      const double t = truth[i].t - chain.scene.cameras[0].t_offset;
      const ImpactBundle* nearest = nullptr;
      std::string refused = "nothing tracked", others;
      if (i < run.recorded.drops.size()) {
        for (const ImpactBundle& fit : run.recorded.drops[i]) {
          others += fmt::format("{}{:.4f} s {}", others.empty() ? "" : "; ", fit.event.t,
                                fit.usable ? "fitted" : fit.reason);
          if (std::abs(fit.event.t - t) > 2 / chain.scene.cameras[0].frame_rate) continue;
          if (!fit.usable) refused = fit.reason;
          if (fit.usable &&
              (!nearest || std::abs(fit.event.t - t) < std::abs(nearest->event.t - t)))
            nearest = &fit;
        }
      }
      if (refused.starts_with("nothing") && !others.empty())
        refused = fmt::format("not at {:.4f} s but: {}", t, others);
      json["drops"].push_back(nearest ? ScoreDropFit(*nearest, truth[i], chain)
                                      : nlohmann::json{{"refused", refused}});
    }
    for (const LawFit& law : run.best().fit.fits)
      if (law.law == "energetic" && law.fitted()) {
        json["mu_k"] = Coefficient(law.mu_k, chain.scene.motion.model.mu_k);
        json["e_star"] = Coefficient(law.e, chain.scene.motion.model.e);
      }
    json["findings"] = nlohmann::json::array();
    for (const Finding& finding : run.audit.findings) json["findings"].push_back(finding.parameter);
    json["flights"] = {{"checked", run.flights.checked},
                       {"failed", run.flights.failed},
                       {"verdict", run.flights.verdict}};
    json["flights"]["culprits"] = nlohmann::json::array();
    for (const FlightSuspect& s : run.flights.culprits)
      json["flights"]["culprits"].push_back(FaultName(s.fault));
  } catch (const std::exception& error) {
    json["failure"] = error.what();
  }
  std::error_code ignored;
  if (!keep) std::filesystem::remove_all(folder, ignored);
  return json;
}

}  // namespace impactlab::test
