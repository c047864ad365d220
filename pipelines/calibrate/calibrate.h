#pragma once
// From pictures or videos of a board to a rig with a certificate, as one value.

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/certificate/certificate.h"
#include "calibration/solve/calibrate.h"
#include "data/yaml/yaml.h"
#include "pipelines/calibrate/world.h"
#include "pipelines/config/run_context.h"

namespace impactlab {

// One camera as the file describes it.
struct CameraSource {
  std::string name;
  std::vector<std::string> images;  // files, patterns or folders, relative to the file's folder
  std::vector<std::string> videos;  // the same; clips of one rig belong together in their order
  bool choose_model = false;        // model: auto
  LensModel model = LensModel::kBrown;
  std::optional<std::filesystem::path> start_file;
  std::optional<Camera> start;  // from that file
  std::vector<std::string> fixed;
  std::vector<CameraSetup::Prior> priors;
  int shares_intrinsics_with = -1;
};

// Which pictures show the same instant. By name: the part of the file name that changes from
// picture to picture. By time: stamps counted from the first frame of each clip; recordings must
// have been started together.
enum class ShotMatch { kName, kIndex, kTime };
const char* ToString(ShotMatch match);

struct FrameOptions {
  int most = 40;      // frames of videos kept for the solve: more add time and hardly information
  int examine = 400;  // frames looked at, evenly spread; each costs one search for the board
};

struct CalibrationConfig {
  std::filesystem::path path;  // of the file
  std::string name;
  Board board;
  std::vector<CameraSource> cameras;
  ShotMatch match = ShotMatch::kName;
  FrameOptions frames;
  DetectOptions detect;
  CalibrationOptions solve;
  RigCertificateOptions certificate;
  WorldConfig world;
  bool video() const { return !cameras.empty() && !cameras.front().videos.empty(); }
};

// Reads a calibration file (keys in data/README.md); ConfigError with file, line and key.
CalibrationConfig LoadCalibration(const std::filesystem::path& path);
// With every default written out and paths from the root of the file system; LoadCalibration reads
// it back to the same plan.
std::string ToYaml(const CalibrationConfig& plan);
// The `board` map alone, as it is to be copied into a calibration file, and its reader.
std::string BoardYaml(const Board& board);
Board BoardFromYaml(const YamlNode& root);

struct CalibrationRun {
  CalibrationConfig plan;
  std::vector<std::filesystem::path> files;  // pictures and videos read
  CalibrationProblem problem;                // what was found in them
  std::optional<LensChoice> lenses;          // where a model was to be chosen
  CalibrationResult result;
  RigCertificate certificate;
  std::optional<WorldRun> world;  // where one was asked for and the solve is usable
  // notes on the input: assumptions, pictures without partner, ...
  std::vector<std::string> notes;
  double seconds_detect = 0, seconds = 0;
  bool refused() const {
    return !result.usable() || certificate.verdict == RigVerdict::kRefused ||
           (world && !world->problem.empty());
  }
  // In W.
  const CameraRig& rig() const { return world && world->problem.empty() ? world->rig : result.rig; }
};

// Finds the boards on all cores, chooses frames and lens models, solves and certifies. DataError
// when no picture can be read or none shows the board; what the data cannot decide is in the
// result.
CalibrationRun RunCalibration(const CalibrationConfig& plan, const RunContext& context = {});

// rig.yaml (not of a refused calibration: the last accepted one stays), calibration.json and
// run.yaml, each whole or not at all.
void WriteCalibration(const std::filesystem::path& folder, const CalibrationRun& run,
                      const std::string& command);
std::string ToJson(const CalibrationRun& run);

// Of a refused one, in a line.
std::string WhyRefused(const CalibrationRun& run);

// One screen for a terminal.
std::string BriefReport(const CalibrationRun& run);

}  // namespace impactlab
