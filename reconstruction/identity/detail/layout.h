#pragma once
// The arrangement of the markers, learned from what the cameras see where it is not given; clocks
// that are off by part of a frame. Private to identity.

#include <vector>

#include "reconstruction/identity/detail/search.h"

namespace impactlab::reconstruction {

// Arrangements from single windows in which the rays of many images meet and the distances between
// them stay the same, best first; named after the tracks of the first camera that sees them.
std::vector<Layout> StartLayouts(const Scene& scene, const std::vector<TimeWindow>& windows,
                                 std::vector<WindowScore>& scores, int count);

// The arrangement as medians over all windows of a naming, in the frame of the scene's layout.
Layout LearnLayout(const Scene& scene, const std::vector<TimeWindow>& windows,
                   std::vector<WindowScore>& scores, const std::vector<char>& label);

// By how much the times of every camera are to be shifted so that its rays meet those of the camera
// with most points [s]; 0 for that one and where the images do not ask for it. No names are used.
// Searched up to kLargestOffset frames.
constexpr double kLargestOffset = 0.75;
std::vector<double> ClockShifts(const Scene& scene, const std::vector<double>& frame_times);

// What is missing in the times of every camera of a scene once its pieces are named: the least
// robust sum of the misses between images of one name, the same images for every shift [s]; 0 for
// the camera with most points and where the images do not ask for it.
std::vector<double> RefinedShifts(const Scene& scene, const std::vector<char>& label,
                                  const std::vector<double>& frame_times);

// Images that seem to belong together.
std::vector<ImagePair> LikelyPairs(const Scene& scene, const std::vector<TimeWindow>& windows,
                                   const std::vector<WindowScore>& scores);

}  // namespace impactlab::reconstruction
