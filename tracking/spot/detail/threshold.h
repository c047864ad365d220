#pragma once
// The threshold between markers and the rest of a frame, and the noise of its pixels, from the
// counts of one pass (tracking/spot/detail/scan.h).
//
// What fills whole tiles is not a marker: background, floor, body. The highest level that does so,
// and the brightest pixel of all, bound the threshold; it lies nearer to the lower bound, since a
// lamp or a reflection may be much brighter than the markers, and at least several standard
// deviations of the noise above it. Where tiles are filled up to the brightest level, markers are
// larger than a tile (or there are none): then the threshold is Otsu's (IEEE SMC 9, 1979), of the
// sampled pixels.

#include "tracking/spot/detail/scan.h"
#include "tracking/spot/spot.h"

namespace impactlab::tracking {

// Standard deviation of the noise that does not depend on intensity, from the differences in the
// sample; `given.read` where the sample has too few pixels inside the grey scale.
double EstimateRead(const LevelCounts& counts, const PixelNoise& given, std::uint8_t flip,
                    Simd simd);

// Raised level; a pixel of a marker is above it.
int ChooseThreshold(const LevelCounts& counts, const PixelNoise& noise, std::uint8_t flip,
                    Simd simd);

// Otsu's, at least several standard deviations of the noise above most pixels: where the other
// finds nothing.
int SecondThreshold(const LevelCounts& counts, const PixelNoise& noise, std::uint8_t flip,
                    Simd simd);

}  // namespace impactlab::tracking
