#pragma once
// A scenario followed through its motion, and the files that say what came of it.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "pipelines/config/run_context.h"
#include "pipelines/simulate/config.h"

namespace impactlab {

struct MotionSample {
  MechanismState state;
  std::vector<PointMode> mode;  // by contact
  // stacked contact forces [N]; NaN at the end, which is between samples
  Eigen::VectorXd lambda;
  double kinetic = 0, potential = 0;  // [J]
};

struct SimulatedMotion {
  SimulationResult result;
  std::vector<MotionSample> samples;  // in order of time, the start first and the end last
  std::vector<SimulationEvent> events;
};

// `advance`, where given, is called with 1 at every sample and with 0 at every step; what it throws
// ends the simulation.
SimulatedMotion RunScenario(const Scenario& scenario,
                            const std::function<void(int samples)>& advance = {});

// Files of data/README.md, section Simulation.
void WriteTrajectory(const std::filesystem::path& path, const Scenario& scenario,
                     const SimulatedMotion& motion);
void WriteMotionEvents(const std::filesystem::path& path, const Scenario& scenario,
                       const SimulatedMotion& motion);
std::string MotionSummary(const Scenario& scenario, const SimulatedMotion& motion);  // JSON
// One page without requests: animation, plots, events. `library` as ReadPlotLibrary gives it.
void WriteMotionPage(const std::filesystem::path& path, const Scenario& scenario,
                     const SimulatedMotion& motion, const std::string& library);
// Gray video (mp4, mkv, mov, avi); `speed` seconds of motion a second of video.
void WriteMotionVideo(const std::filesystem::path& path, const Scenario& scenario,
                      const SimulatedMotion& motion, double speed, const RunContext& context = {});

// One line for people: what it came to.
std::string MotionLine(const Scenario& scenario, const SimulatedMotion& motion);

namespace pipelines {

// Poses of the parts at time t, between the samples beside it.
std::vector<Eigen::Isometry3d> PosesAt(const Scenario& scenario, const SimulatedMotion& motion,
                                       double t);
const char* PointModeName(PointMode mode);              // "open", "slip", "stick"
std::string EndPhrase(const SimulationResult& result);  // "at rest after 8.57895 s"

}  // namespace pipelines
}  // namespace impactlab
