#pragma once
// Gray pictures to look at, not to measure in.

#include <string>

#include "data/files/image.h"

namespace impactlab {

// `quality`: 2 to 31, smaller is better and larger. Sides up to 65500 pixels. OutputError.
std::string EncodeJpeg(const GrayImage& image, int quality = 5);

}  // namespace impactlab
