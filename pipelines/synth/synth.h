#pragma once
// Synthetic recordings with known truth: the project's own experiments for tests, demo and
// coverage.
//
// Nothing of the motion uses the estimator; what the estimator does not model (scatter of the
// coefficients, drag, heavy-tailed noise, wild events) can be switched on, so that studies are no
// inverse crime.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "impact/body/body.h"
#include "impact/body/event.h"
#include "impact/body/free_flight.h"
#include "impact/law/solve.h"
#include "reconstruction/pose/pose_recording.h"

namespace impactlab {

struct SynthOptions {
  Body body;
  Plane floor;
  FlightOptions flight;
  ImpactModel model;
  int drops = 20;
  double frame_rate = 250;                    // [Hz]
  double height_min = 0.1, height_max = 0.3;  // drop height of the lowest point over the floor [m]
  double speed_tangential = 0.8;              // release speed along the floor, uniform in +- [m/s]
  double spin = 10;                           // release spin, each component uniform in +- [rad/s]
  // least angle at the first impact between the floor and an edge of the touching vertex [rad]
  double lean_min = 0.2;
  // time recorded after the first impact, or after the rest [s]
  double duration_after = 0.15;
  // recordings go on until the body rests or moves on steadily, at most 20 s
  bool to_rest = false;
  // only drops are kept whose first impact is accepted, see SynthTruth
  bool clean_first = false;
  // impacts of a drop that scatter and are listed; later ones do neither
  int max_impacts = 20;
  // Scatter of the impulse from event to event, relative to m_eff |v_n-| (see Discrepancy).
  double sd_tangential = 0, sd_normal = 0, sd_couple = 0;
  // scatter of the coefficients from event to event: not in the estimator's model
  double sd_mu = 0, sd_e = 0;
  double wild_share = 0;  // share of events with ten times the scatter
  // the impulse acts over this time, rising and falling [s]: not in the estimator's model
  double contact_time = 0;
  // Noise of the poses.
  double noise_position = 4e-5;  // [m]
  double noise_angle = 7e-4;     // [rad]
  double noise_dof = 0;          // Student-t noise with these degrees of freedom; 0: Gaussian
  double lost_frame_share = 0;   // share of impacts at which the recorder loses one frame
  // share of drops that land nearly flat, so that two corners strike within two frames
  double double_strike_share = 0;
  // Frame errors put into what is written. `floor` is the floor as the experimenter gives it; the
  // body falls on CorrectedFloor(floor, error).
  FrameCorrection error;
  std::uint64_t seed = 1;
};

// Where a drop came to rest.
struct SynthRest {
  std::string recording;
  double t = 0;                                            // on the clock of the events [s]
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();  // in the true frame
  // planar motion, counted on from the frames [rad]
  double theta = 0;
};

struct SynthTruth {
  // True events of every recording, in the true frame; times on the recording's clock before a
  // planted clock rate. Accepted means a clean single contact: five frames of free flight on either
  // side, no other strike and no second vertex that would arrive within one frame.
  std::vector<ImpactEvent> events;
  std::vector<bool> double_strike;  // for each event: planted or happened within two frames
  std::vector<ImpactModel> models;  // coefficients of every event, scatter included
  std::vector<SynthRest> rests;     // of the drops that came to rest while they were recorded
};

struct SynthSet {
  std::vector<PoseRecording> recordings;  // as recorded: noise and frame errors included
  SynthTruth truth;
};

// The same options give the same recordings; drop k does not depend on how many there are, noise
// and frame errors change no impact. ConfigError for a scene that is impossible.
SynthSet Synthesise(const SynthOptions& options);

// Reads a scene file (YAML; see data/README.md). Throws ConfigError.
SynthOptions LoadScene(const std::filesystem::path& path);

// Writes drop_0001.csv ..., truth.csv (events, models), with `to_rest` truth_rest.csv, scene.yaml,
// and experiment.yaml (as a user would write it who knows body and floor, but none of the frame
// errors put in) to a folder. Throws OutputError.
void WriteSynth(const std::filesystem::path& folder, const SynthOptions& options,
                const SynthSet& set);

}  // namespace impactlab
