#pragma once
// An experiment file: what was recorded, of which body, over which floor, and what to make of it.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "impact/identify/identify.h"
#include "pipelines/run/planar_recordings.h"
#include "pipelines/run/point_recordings.h"
#include "pipelines/run/second_body.h"
#include "pipelines/study/classical_comparison.h"
#include "pipelines/study/coefficient_models.h"
#include "pipelines/study/repeatability.h"
#include "pipelines/study/validation.h"
#include "pipelines/track/track.h"
#include "reconstruction/audit/audit.h"
#include "reconstruction/bundle/impact_bundle.h"
#include "reconstruction/motion/motion_fit.h"
#include "reconstruction/pose/missing_attitude.h"
#include "reconstruction/pose/pose_recording.h"

namespace impactlab {

// Where the images of markers come from, and the cameras that saw them.
struct MarkerSource {
  // of the tracking file: cameras, markers with their layout, recordings; the rig it names
  TrackConfig plan;
  // tracks.csv that is there already; empty: the recordings of the plan are followed
  std::filesystem::path tracks;
  // calibration file whose footage gives the rig; empty: no calibration of its own
  std::filesystem::path calibration;
  std::filesystem::path rig;  // rig.yaml; empty, and no calibration: the rig of the plan
};

struct Experiment {
  std::filesystem::path path;  // of the file
  std::string name;
  // glob of files of poses, relative to the file's folder; empty: images of markers
  std::string recordings;
  PoseColumns columns;
  std::optional<MarkerSource> markers;
  std::optional<PointSource> points;  // the files of `recordings` are markers in space
  // they are tracks of one camera that sees a plane of motion
  std::optional<PlanarSource> planar_camera;
  // Of marker images: options of the bundle fit, whose `motion` is the one below. `exposure` and
  // `offset_sd` below 0: as the tracking says.
  ImpactBundleOptions bundle;
  // the places of the markers from all impacts together, where they are not known exactly (see
  // LearnLayout)
  bool learn_layout = true;
  // of the moments of the body, relative, for the error budget: what a drawing or a pendulum gives
  double inertia_sd = 0.01;
  // of how far the body reaches where it touches, and how round it is there [m]
  double outline_sd = 5e-4;
  std::optional<SecondBody> second;  // what is struck moves as well
  // Not in the file: taken from the rig, the floor as z = 0 of its W.
  bool floor_of_rig = false, gravity_of_rig = false;
  Body body;
  Plane floor;
  // spin of a ball, whose centre alone is followed, where its recordings begin; nothing: not known
  std::optional<KnownSpin> release;
  MotionFitOptions motion;  // motion.flight.gravity_W is the gravity of the experiment
  AuditOptions audit;
  // Names in foreign tables of states, by ours (pipelines/tables/state_table.h).
  std::map<std::string, std::string> state_columns;
  FrameCorrection correction;  // known beforehand, applied before anything else
  // audit parameters that may be corrected: names of Evidence::parameter, or "all"
  std::vector<std::string> apply;
  std::vector<RestitutionLaw> laws = AllRestitutionLaws();
  IdentifyOptions identify;
  CoefficientOptions coefficients;
  ValidationOptions validation;
  ComparisonOptions classical;  // of marker images
  RepeatOptions repeats;
  std::uint64_t seed = 1;
};

// Reads an experiment file; unknown keys, wrong units and impossible values throw ConfigError with
// file, line and key.
Experiment LoadExperiment(const std::filesystem::path& path);

// The experiment as YAML with every default written out, for run.yaml. LoadExperiment reads it back
// to the same experiment; `recordings` is written from the root of the file system, so that the
// text means the same files in any folder.
std::string ToYaml(const Experiment& experiment);

// The law that stands for all where one is enough: the energetic one, which alone cannot gain
// energy, else the first.
RestitutionLaw MainLaw(const Experiment& experiment);

// The part of `correction` whose parameters the experiment allows to apply.
FrameCorrection AllowedCorrection(const FrameCorrection& correction,
                                  const std::vector<std::string>& apply);

}  // namespace impactlab
