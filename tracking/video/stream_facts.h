#pragma once
// Metadata of a video's container, without decoding.

#include <filesystem>
#include <map>
#include <string>

namespace impactlab::tracking {

struct StreamFacts {
  std::string container;                    // short name of libavformat
  std::map<std::string, std::string> tags;  // of the file and of its video stream
  double tick = 0;                          // unit of the stamps [s]
  bool predicted = false;                   // frames may be made from others
  bool counted = false;                     // the container holds a rate, not stamps (AVI)
  double capture_rate = 0;                  // that a tag claims [1/s]; 0: none does
  std::string capture_tag;                  // its name
  double readout = 0;                       // of a rolling shutter, as a tag claims [s]
  bool phone = false;                       // tags of a phone: rolling shutter is certain
};
// DataError when it cannot be opened.
StreamFacts ProbeStream(const std::filesystem::path& path);

}  // namespace impactlab::tracking
