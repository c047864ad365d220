#pragma once
// Random synthetic experiments through the whole back half of the chain: poses -> events -> (mu,
// e), with the truth beside it.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "impact/identify/identify.h"
#include "impact/law/solve.h"
#include "pipelines/synth/synth.h"
#include "reconstruction/motion/motion_fit.h"

namespace impactlab::twin {

struct TwinOptions {
  bool planar = true;
  // effects the estimator does not model: scatter of coefficients, heavy tails, wild events, lost
  // frames
  bool unmodelled = false;
  int drops = 20;
};

// A random body, camera and surface.
inline SynthOptions RandomScene(std::mt19937_64& rng, const TwinOptions& options,
                                std::uint64_t seed) {
  const auto uniform = [&](double lo, double hi) {
    return std::uniform_real_distribution<double>(lo, hi)(rng);
  };
  const auto log_uniform = [&](double lo, double hi) {
    return std::exp(uniform(std::log(lo), std::log(hi)));
  };
  SynthOptions scene;
  const double size = log_uniform(0.03, 0.15), mass = log_uniform(0.05, 1);
  switch (std::uniform_int_distribution<int>(0, 3)(rng)) {
    case 0:
      scene.body = MakeBox(Eigen::Vector3d::Constant(size), mass, options.planar);
      break;
    case 1:
      scene.body =
          MakeBox({size, size * uniform(0.4, 0.9), size * uniform(0.5, 1)}, mass, options.planar);
      break;
    case 2:
      scene.body =
          MakeEllipsoid({size / 2, size / 2 * uniform(0.6, 0.9), size / 2 * uniform(0.6, 0.9)},
                        mass, options.planar);
      break;
    default: {
      std::vector<Eigen::Vector3d> vertices;
      if (options.planar) {
        for (int k = 0; k < 5; ++k) {
          const double a = 2 * M_PI * (k + uniform(-0.15, 0.15)) / 5;
          vertices.push_back({size / 2 * std::cos(a), 0, size / 2 * std::sin(a)});
        }
      } else {
        vertices = {{size / 2, 0, -size / 4},
                    {-size / 4, size / 2, -size / 4},
                    {-size / 4, -size / 2, -size / 4},
                    {0, 0, size / 2}};
      }
      scene.body = MakePolytope(vertices, mass, options.planar);
    }
  }
  scene.model.law = RestitutionLaw::kEnergetic;
  scene.model.e = uniform(0.15, 0.9);
  scene.model.mu_k = scene.model.mu_s = log_uniform(0.05, 0.8);
  scene.drops = options.drops;
  scene.frame_rate = log_uniform(240, 1000);
  scene.height_min = 0.08;
  scene.height_max = 0.3;
  scene.speed_tangential = uniform(0.3, 1.5);
  scene.spin = uniform(2, 15);
  scene.noise_position = log_uniform(1e-5, 1e-4);
  scene.noise_angle = scene.noise_position / (size / 2);
  scene.duration_after = 0.12;
  const double scatter = log_uniform(0.003, 0.05);
  scene.sd_tangential = scatter;
  scene.sd_normal = scatter * uniform(0.5, 1.5);
  scene.sd_couple = scatter * uniform(0.2, 1);
  if (options.unmodelled) {
    scene.sd_mu = scene.model.mu_k * uniform(0.02, 0.1);
    scene.sd_e = uniform(0.005, 0.03);
    scene.noise_dof = 5;
    scene.wild_share = 0.02;
    scene.lost_frame_share = 0.1;
  }
  scene.seed = seed;
  return scene;
}

struct TwinOutcome {
  SynthOptions scene;
  // accepted events; those that truly end sliding; those that truly end sticking
  int accepted = 0, slipping = 0, sticking = 0;
  // Fisher information of mu over the true events and the scatter of the scene
  double information_mu = 0;
  LawFit fit;
};

// `first_impacts` of each recording; 0: all.
inline TwinOutcome RunTwin(const SynthOptions& scene, const IdentifyOptions& identify,
                           int first_impacts = 1) {
  TwinOutcome out;
  out.scene = scene;
  const SynthSet set = Synthesise(scene);
  MotionFitOptions motion;
  motion.flight = scene.flight;
  motion.first_impacts = first_impacts;
  std::vector<ImpactEvent> events;
  for (const PoseRecording& recording : set.recordings) {
    for (ImpactEvent& event : FitMotion(recording, scene.body, scene.floor, motion).events) {
      if (event.accepted) events.push_back(std::move(event));
    }
  }
  out.accepted = static_cast<int>(events.size());
  for (const ImpactEvent& event : events) {
    const auto truth =
        std::find_if(set.truth.events.begin(), set.truth.events.end(), [&](const ImpactEvent& t) {
          return t.recording == event.recording && t.impact == event.impact;
        });
    if (truth == set.truth.events.end()) continue;
    const ImpactDerivatives d = Differentiate(truth->contact, scene.model);
    const double p = -truth->contact.v_minus_F.z() / truth->contact.A_F(2, 2);
    const Eigen::Vector3d by_mu = (d.dJ.col(10) + d.dJ.col(11)) / p;
    out.information_mu += by_mu.head<2>().squaredNorm() / std::pow(scene.sd_tangential, 2) +
                          std::pow(by_mu.z() / scene.sd_normal, 2);
    // An impact that ends sliding shows mu in its impulse; one that ends sticking mostly says that
    // mu was large enough.
    ++(d.path_case.digit % 2 == 0 ? out.slipping : out.sticking);
  }
  out.fit = Identify(events, scene.body, ImpactModel{{}, scene.model.law}, identify);
  return out;
}

}  // namespace impactlab::twin
