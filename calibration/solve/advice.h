#pragma once
// Advice where a calibration is not determined by the pictures at hand.

namespace impactlab::calibration {

// What helps an undetermined solve where nothing more special does.
inline constexpr const char* kFilmMore =
    "Film more pictures of the board: tilted both ways, near and far, in all corners of the "
    "picture";
// The same where the lens model is richer than the views can tell.
inline constexpr const char* kSimplerLens =
    "Use a simpler lens model (model: brown, or model: auto; within brown, fixed: [k3]), or film "
    "more pictures of the board: tilted both "
    "ways, near and far, in all corners of the picture";

}  // namespace impactlab::calibration
