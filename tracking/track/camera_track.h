#pragma once
// One camera of one recording, from frames to tracks: spots in every frame, tracks through them,
// the edge model at every point, and every track smoothed once more with the refined positions.
//
// The edge model needs the motion during the exposure, for which the next frame is needed too: it
// runs one frame behind. The blur of the lens, unless it is given, is fitted on the first clear
// markers and then kept.

#include <Eigen/Core>
#include <functional>
#include <string>
#include <vector>

#include "tracking/marker/fit.h"
#include "tracking/marker/tags.h"
#include "tracking/spot/spot.h"
#include "tracking/sync/sync.h"
#include "tracking/track/marker_labelling.h"
#include "tracking/track/tracker.h"
#include "tracking/track/tracks.h"
#include "tracking/video/frames.h"

namespace impactlab {

struct CameraTrackOptions {
  SpotOptions spots;
  TrackerOptions tracker;
  bool refine = true;  // false: weighted centroids
  MarkerShape shape = MarkerShape::kDisc;
  double exposure = 0;  // [s]; 0: not known: the blur of the motion is not modelled
  double blur = 0;      // of the lens, standard deviation [px]; 0: from the markers
  // The static background is subtracted before markers are searched (two passes over the file): for
  // cluttered scenes in which no marker rests for half of the recording.
  bool subtract_background = false;
  std::vector<std::string> names;       // of the markers
  std::vector<Eigen::Vector3d> layout;  // p_BM [m]; empty where not known
  std::vector<MarkerHint> hints;
  bool tags = false;  // square tags with identities in place of spots
  TagOptions tag;
  std::vector<std::pair<int, std::string>> tag_names;  // id and name of every tag
  // the markers are the corners NAME.1 ... NAME.4 of every tag, else its centre NAME
  bool tag_corners = false;
  long long first = 0, last = -1;  // frames used; -1: to the end
  // of the series for the flash; 0: none is measured
  int brightness_bands = 8;
  // Called after every frame; may throw to stop.
  std::function<void(long long frame)> progress;
};

struct CameraTrackResult {
  // Names in options.names come first; tracks without a name are "unnamed_1" ... behind them.
  // Camera 0 in every point.
  std::vector<std::string> markers;
  // of every marker's name, the least of its tracks; 0 where it is not known, and for those without
  // a name
  std::vector<double> odds;
  std::vector<char> still;  // whether a marker never left its place
  std::vector<TrackPoint> points;
  std::vector<TrackPoint> loose;  // spots that belong to no track; marker -1
  LabelResult labels;
  InnovationReport innovations;  // of the refined tracks
  BrightnessSeries brightness;
  VideoInfo info;
  long long frames = 0, damaged = 0;
  std::vector<double> stamps;    // of row 0 of every frame used, on the common clock [s]
  std::vector<long long> index;  // its number in the file
  std::string broke;             // why the file ended early; empty where it did not
  double blur = 0;               // of the lens as used [px]
  PixelNoise noise;              // median over the frames
  // error of the pixels of markers beyond that noise, standard deviation; 0: none seen [grey
  // levels]
  double coder = 0;
  double threshold = 0;              // median [grey levels]
  long long spots = 0;               // in all frames
  long long refined = 0, rough = 0;  // points with the edge model; points where it did not fit
  double seconds = 0, decoding = 0;  // wall time; time the decoder worked [s]
  std::vector<std::string> notes;
};

// Of the smoothing of refined points.
TrackerOptions FinishOptions(const CameraTrackOptions& options);

// DataError where the file cannot be opened; one that breaks later gives what came before and says
// so in `broke`.
CameraTrackResult TrackCamera(const FrameSource& source, const CameraTrackOptions& options);

}  // namespace impactlab
