#pragma once
// The struck body of an experiment, where it moves as well: a free plate or bat, or a plate or
// pendulum on a fixed axis. Both bodies were followed on one clock, each by poses or markers of its
// own; impacts are those of relative motion (reconstruction/bundle/two_body.h).

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pipelines/run/point_recordings.h"
#include "pipelines/track/track.h"
#include "reconstruction/bundle/two_body.h"
#include "reconstruction/motion/motion_fit.h"
#include "reconstruction/pose/pose_recording.h"

namespace impactlab {
namespace pipelines {
class Keys;
}

// Where it was: in the same form as the first body's recordings (`recordings.kind`).
struct SecondBody {
  StruckBody struck;
  // poses, points: glob of its files, named as the first body's; empty: those hold both bodies
  std::string files;
  PoseColumns columns;                // poses
  std::optional<PointSource> points;  // markers in space: its own names and places
  // images of markers: its own tracking file, of the same cameras and recordings
  std::optional<TrackConfig> plan;
  // images: tracks.csv that is there already; empty: that of the first body, or its own videos
  std::filesystem::path tracks;
};

// The `second_body` map of an experiment whose recordings are of that kind (not a planar one);
// written with paths from `folder`.
void VisitSecondBody(pipelines::Keys& keys, SecondBody& second, const std::string& kind,
                     const std::filesystem::path& folder);

// Recordings of the second body, one for each of the first's.
struct SecondRecordings {
  PoseRecordings poses;
  std::vector<std::filesystem::path> files;  // read, apart from the first body's
};

// Of poses and of markers in space: the file of the same name without folder and extension, among
// those that match, for every file of the first body. DataError where none of them has a partner.
SecondRecordings ReadSecondBody(const SecondBody& second, const std::filesystem::path& folder,
                                const std::vector<std::filesystem::path>& first_files,
                                const std::vector<std::string>& names);

// Impacts of the first body on the second as events, with the first body's free flights. An event
// with kNoImpact or kBadRecording where there is no other.
MotionFit FitRelativeMotion(const PoseRecording& first, const Body& body,
                            const PoseRecording& second, const StruckBody& struck,
                            const MotionFitOptions& options);

// The events as seen from the struck surface: every one turned and moved so that the surface is the
// plane z = 0. What does not ask how the second body moves (angular momentum about the contact
// point, heights at contact) can then be judged as of a body on a floor.
std::vector<ImpactEvent> SeenFromSurface(std::span<const ImpactEvent> events, const Body& body,
                                         const StruckBody& struck,
                                         const Eigen::Vector3d& gravity_W);

// Whether the momentum of both bodies together stays what it was, over all accepted impacts: a
// certificate of masses, inertias and axis that no law of impact enters.
struct MomentumClosure {
  int impacts = 0, dof = 0;
  double chi_square = 0;
  double probability = 1;  // of a larger chi-square where masses, axis and stated noise are right
  bool ok = true;          // not below kClosureLevel
};
inline constexpr double kClosureLevel = 1e-3;
MomentumClosure ClosureOf(std::span<const ImpactEvent> events);
std::string ToWords(const MomentumClosure& closure);  // one line for people
std::string ToJson(const MomentumClosure& closure);

}  // namespace impactlab
