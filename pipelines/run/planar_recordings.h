#pragma once
// Tracks of one camera that looks at a plane of motion, as planar poses: experiments filmed from
// the side.

#include <filesystem>
#include <string>
#include <vector>

#include "pipelines/run/point_recordings.h"
#include "reconstruction/motion/motion_fit.h"
#include "reconstruction/motion/planar_camera.h"

namespace impactlab {
namespace pipelines {
class Keys;
}

struct PlanarSource {
  PlaneView view;
  std::filesystem::path rig;     // rig.yaml with the camera; empty: by points
  std::filesystem::path points;  // CSV of points in the plane: x_m, z_m, x_px, y_px
  double point_sd = 0.2;         // of their images, one coordinate [px]
  std::string camera;            // of the tracks, where they have several
  std::vector<PlanarMarker> layout;
  OutOfPlane off;
  double max_rms = 0.005;  // of what the layout may leave in a frame, one coordinate [m]
};

// Keys of the `recordings` map beside `kind` and `files`; reads the rig or the points.
void Visit(pipelines::Keys& keys, PlanarSource& source);

// Every recording of every file. DataError where a name of the layout occurs in no recording.
PoseRecordings ReadPlanarRecordings(const PlanarSource& source,
                                    const std::vector<std::filesystem::path>& files);

// AddOutOfPlane for all events of a recording that have a state.
void AddOutOfPlane(const PlanarSource& source, const Body& body, const Plane& floor,
                   MotionFit* motion);

}  // namespace impactlab
