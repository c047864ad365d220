#pragma once
// Some frames of a recording, cut down to where the markers are, kept beside its tracks so that
// they can be looked at without the video.
//
// NAME.jpg holds all cuts side by side, row by row, and NAME.json (schema impactlab.frames/1, keys
// in data/README) says which frame each of them is and where in it. They are for looking at: gray,
// coded with loss, made smaller where the markers are large.

#include <Eigen/Core>
#include <filesystem>
#include <string>
#include <vector>

#include "tracking/track/tracks.h"
#include "tracking/video/second_look.h"

namespace impactlab {

struct KeptFrame {
  long long index = 0;  // of the frame in its file
  double t = 0;         // of its row 0, on the common clock [s]
  // pixel of the recording in the upper left corner of the cut [px]
  Eigen::Vector2d corner = Eigen::Vector2d::Zero();
};

struct KeptFrames {
  std::string recording, camera;
  int columns = 0;                         // cuts in a row of the picture
  int tile_width = 0, tile_height = 0;     // of one cut in the picture [px]
  double crop_width = 0, crop_height = 0;  // of the recording that it shows [px]
  std::vector<KeptFrame> frames;

  // Where an image point of the recording lies in the cut of a frame, from its upper left edge [px
  // of the picture].
  Eigen::Vector2d At(const KeptFrame& frame, const Eigen::Vector2d& q) const {
    const Eigen::Vector2d half(0.5, 0.5);
    return (q - frame.corner + half)
        .cwiseProduct(Eigen::Vector2d(tile_width / crop_width, tile_height / crop_height));
  }
};

struct KeepOptions {
  // frames on either side of the one of interest: that of the first strong impact
  int before = 10, after = 10;
  int max_width = 320;  // of a cut in the picture; smaller ones are not enlarged [px]
  int quality = 6;      // of the JPEG: 2 to 31, smaller is better
};

// `stem`: path without .jpg and .json. Only the frames about the one of interest are decoded, from
// the key frame before, and none that `look` has kept. DataError where the recording has none of
// them or breaks; OutputError.
KeptFrames KeepFrames(const std::filesystem::path& stem, const MarkerTracks& tracks, int camera,
                      SecondLook* look, const KeepOptions& options = {});

// What KeepFrames and WriteContactSheet, without options, will ask for of a source with frames of
// `width` x `height` pixels. With `vague` a few frames and a share of the cut more on every side:
// for tracks that are not the last word.
std::vector<FramePart> PartsOfPictures(const MarkerTracks& tracks, int camera, int width,
                                       int height, bool vague = false);

// The two files of a stem.
std::filesystem::path KeptPicture(const std::filesystem::path& stem);
std::filesystem::path KeptTable(const std::filesystem::path& stem);

// Reads the table again. DataError for what is no such file.
KeptFrames ReadKeptFrames(const std::filesystem::path& stem);

}  // namespace impactlab
