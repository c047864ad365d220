#pragma once
// The time base of a recording under examination: what the stamps, the pictures and the header say, and what it costs to believe them.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tracking/frames.h"

namespace impactlab {

enum class Severity { kFine, kNote, kWarning, kFault };
const char* ToString(Severity severity);

struct TimeFinding {
  std::string code;  // "duplicated_frames", "dropped_frames", "out_of_order", "variable_rate", "rate_unlikely", "rotation", "interlaced",
                     // "rolling_shutter", "exposure_changes", "stabilised", "damaged", "coarse_stamps", "cut_short", ...
  Severity severity = Severity::kNote;
  std::string text;    // plain words, with the figures
  std::string advice;  // what to do; may be empty
  double cost_e = 0;   // error of e* when it is ignored, largest of an impact with 1 m/s approach [1]; 0: none or not known
};

struct TimeBaseReport {
  std::string name;
  VideoInfo info;
  long long frames = 0, damaged = 0;
  double first = 0, last = 0;          // stamps [s]
  double rate = 0;                     // from the median step [1/s]
  double jitter = 0;                   // standard deviation of the steps about the median, gaps left out [s]
  double step_min = 0, step_max = 0;   // [s]
  std::vector<double> step_quantiles;  // 0, 5, 25, 50, 75, 95, 100 % [s]
  std::vector<long long> duplicated;   // frames whose picture is that of the frame before (noise and compression allowed for)
  std::vector<long long> dropped;      // frames after which at least one is missing, by their stamps
  // For every frame handed out the number of the exposure it shows, duplicates sharing one and gaps counted: the index map.
  std::vector<long long> exposure;
  std::vector<TimeFinding> findings;  // most severe first
  Severity verdict = Severity::kFine;
  std::string headline;  // one plain sentence
};

struct DoctorOptions {
  long long max_frames = 20000;  // examined; the report says when there were more
  double exposure = 0;           // given by the user [s]; 0: not known
  // A free fall in the recording: height and time, to check the rate against g; 0: none.
};

// DataError for a file that cannot be opened; a file that breaks is a finding.
TimeBaseReport Examine(const FrameSource& source, const DoctorOptions& options = {});

// Whether clips of one camera (calibration and drops, say) were taken through the same lens setting: size, rotation, scale and shift of the
// still part of the scene (stabilisation, zoom, refocus), exposure. Empty where they can be compared and agree.
std::vector<TimeFinding> Compare(const FrameSource& reference, const FrameSource& other, const DoctorOptions& options = {});

std::string BriefReport(const TimeBaseReport& report);
std::string ToJson(const TimeBaseReport& report);

}  // namespace impactlab
