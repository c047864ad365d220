#pragma once
// Recordings continued past their first impact: the simulator (impact/motion/simulate.h) with the
// fitted law against what was recorded.
//
// Every recording whose first impact was accepted is followed from its measured state just after
// that impact, with the fitted mu_k and e_star, through all later impacts, slides and rolls to its
// last frame; only the first impacts were fitted, so all that is compared here was not. Motion
// through several impacts of a body with corners is chaotic: a corner that strikes a little earlier
// than its neighbour sends the body elsewhere. An error alone says little therefore, and every one
// stands beside the spread that is predicted for it: of simulations that start from draws of the
// measured state with its joint covariance, take draws of (mu_k, e_star) from the covariance of the
// fit, and let both scatter anew at every impact as the fit found the surface to scatter
// (Discrepancy, of the impulse ratios; its couple is left out because no contact of the simulator
// passes on one).
//
// Whether a recording lies among its draws is judged by rank: with distances from the mean of draws
// and recording together, every recording that the model describes has probability k / (n + 1) to
// be among the k farthest of n draws and itself (conformal prediction: Vovk, Gammerman and Shafer,
// Algorithmic Learning in a Random World, 2005), whatever the shape of the distribution.

#include <cstdint>
#include <filesystem>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "pipelines/run/run.h"

namespace impactlab {

struct BounceOptions {
  int draws = 32;  // for the predicted spread; 0: none
  // a body rests when no point of it gets further from where it ends [m]
  double still_distance = 2e-3;
  double still_time = 0.1;  // for at least so long [s]: 20 mm/s
  std::uint64_t seed = 1;
};

// What the motion is simulated with.
struct BounceSetting {
  Body body;
  Plane floor;
  FlightOptions flight;
  double linear_drag = 0;  // of the centre of mass, as the flights show it [1/s]
  double spin_drag = 0;    // planar: rate at which flights lose their spin, as between plates [1/s]
  ImpactModel model;
  Eigen::Matrix2d cov = Eigen::Matrix2d::Zero();  // of mu_k and e
  Discrepancy scatter;                            // from impact to impact
};

// Simulation against recording at one frame. NaN: not known.
struct BounceError {
  // "impact_1", "impact_2" ...: last frame but one before that impact after the first; "end": last
  // frame
  std::string at;
  double t = 0;       // of the frame on the recording's clock [s]
  double along = 0;   // distance along the plane between the centres of mass [m]
  double height = 0;  // simulated less recorded [m]
  double angle = 0;   // between the attitudes [rad]
  // between the directions that point out of the plane, in the body: 0 where it stands on the same
  // face [rad]
  double tilt = 0;
  double moved = 0;  // recorded distance along the plane since the first impact [m]
  // root mean square of the draws about their mean [m]
  double spread_along = std::numeric_limits<double>::quiet_NaN();
  // about the simulation from the measured state [rad]
  double spread_angle = std::numeric_limits<double>::quiet_NaN();
  // rank among the draws: uniform in (0, 1] for a model that holds
  double p_along = std::numeric_limits<double>::quiet_NaN();
  double p_angle = std::numeric_limits<double>::quiet_NaN();
};

struct BounceRow {
  std::string recording;
  std::string reason;  // why it was not continued; empty: it was
  // after the impact at which the measured flight is clear of the floor, where the simulation
  // starts [s]
  double start_delay = 0;
  // by which the pose then was moved along the normal because it was not [m]
  double lift = 0;
  int frames_lost = 0;        // at the first impact; frames after it are so many intervals late
  int impacts_recorded = 0;   // after the first, as breaks of free flight
  int impacts_simulated = 0;  // until the last frame; those within a frame interval count once
  // After the first impact; NaN: the motion goes on [s].
  double rest_recorded = 0, rest_simulated = 0;
  // of the draws that come to rest [s]
  double rest_spread = std::numeric_limits<double>::quiet_NaN();
  double p_rest = std::numeric_limits<double>::quiet_NaN();
  int draws = 0;  // that could be followed
  std::vector<BounceError> errors;
};

struct BounceStudy {
  std::string law;
  BounceSetting setting;
  BounceOptions options;
  std::vector<BounceRow> rows;    // one a recording
  bool assumes_friction = false;  // the fit does not determine it: that of ModelOf
};

// One recording from its accepted first impact on. `later`: times of its later impacts. A
// simulation that cannot be made is a row with the reason. The recording's frames must be on the
// clock of the event.
BounceRow FollowBounces(const ImpactEvent& first, std::span<const double> later,
                        const PoseRecording& recording, const BounceSetting& setting,
                        const BounceOptions& options, std::mt19937_64& random);

// All recordings of a run that has fitted a law, with the main law, the corners and the drag that
// its audit found and the corrected poses. Throws ConfigError where nothing was fitted.
BounceStudy StudyBounces(const RunResult& run, const BounceOptions& options = {},
                         const RunContext& context = {});

// bounces.csv (data/README)
void WriteBounces(const std::filesystem::path& path, const BounceStudy& study);
// Distribution of the errors, the spread that was predicted for them and how many recordings lie
// within it.
std::string BriefReport(const BounceStudy& study);

}  // namespace impactlab
