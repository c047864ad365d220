#pragma once
// What recordings show in which no impact was found: how their bodies accelerate while nothing
// touches them and how near the floor they turn round, against what was declared, and the error of
// units, clock, axes, floor or rows that would explain the difference.

#include <Eigen/Core>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "impact/body/body.h"
#include "impact/body/free_flight.h"
#include "reconstruction/pose/pose_recording.h"

namespace impactlab {

struct SetCause {
  std::string text;  // one sentence, without a full stop
  std::string cure;  // the line to write into the experiment file, or what to do
};

struct SetDiagnosis {
  int recordings = 0;  // with at least five frames
  int steady = 0;      // of them: with a stretch of steady acceleration
  // Median over those stretches, one a recording, as recorded [m/s^2]; NaN without any.
  Eigen::Vector3d acceleration_W =
      Eigen::Vector3d::Constant(std::numeric_limits<double>::quiet_NaN());
  // Median over the recordings of the least distance from the floor at which the body turns back,
  // below the floor negative [m]; NaN where none does.
  double gap = std::numeric_limits<double>::quiet_NaN();
  double gap_allowed = 0;        // up to which a break counts as an impact [m]
  std::string seen;              // what was measured, one sentence
  std::vector<SetCause> causes;  // likeliest first; empty where nothing stands out
};

/// Diagnoses the recordings of a set against the gravity [m/s^2, frame W] and the floor that were
/// declared. Acceleration is that of the longest stretch of a recording that a parabola fits to a
/// twentieth of its sagitta, which needs no noise, unit or clock. `known`: the correction that the
/// recordings already had; cures include it. Never throws because of what the recordings are.
SetDiagnosis DiagnoseSet(std::span<const PoseRecording* const> recordings, const Body& body,
                         const Plane& floor, const Eigen::Vector3d& gravity_W,
                         const FrameCorrection& known = {});

/// "seen; cause: cure", for an error message.
std::string SetDiagnosisText(const SetDiagnosis& diagnosis);

}  // namespace impactlab
