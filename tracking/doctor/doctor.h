#pragma once
// Examination of the time base of a recording: evidence of the stamps, the pictures and the header,
// and the error caused by relying on them.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tracking/video/frames.h"

namespace impactlab {

enum class Severity { kFine, kNote, kWarning, kFault };
const char* ToString(Severity severity);

struct TimeFinding {
  // Of ExamineTimeBase: "duplicated_frames", "duplicates_unknown", "dropped_frames" (by the
  // stamps), "lost_frames" (by the motion), "out_of_order", "repeated_stamps", "variable_rate",
  // "coarse_stamps", "rate_unlikely", "playing_rate", "counted_stamps", "frame_count", "rotation",
  // "interlaced", "rolling_shutter", "exposure_changes", "exposure_unlikely", "flicker", "flash",
  // "stabilised", "zoomed", "damaged", "cut_short" (the file breaks), "not_all" (only the first
  // frames were examined), "single_frame". Of CompareClips: "stabilised", "zoomed", "refocused",
  // "exposure_changes", "rotation", "other_size", "not_comparable".
  std::string code;
  Severity severity = Severity::kNote;
  std::string text;    // plain words, with the figures
  std::string advice;  // what to do; may be empty
  // error of e* when it is ignored, largest of an impact with 1 m/s approach [1]; 0: none or not
  // known
  double cost_e = 0;
};

struct TimeBaseReport {
  std::string name;
  VideoInfo info;
  long long frames = 0, damaged = 0;
  double first = 0, last = 0;  // stamps [s]
  double rate = 0;             // of the even beat nearest to all stamps, gaps counted [1/s]
  // standard deviation of the steps about the median, gaps left out [s]
  double jitter = 0;
  double step_min = 0, step_max = 0;   // [s]
  std::vector<double> step_quantiles;  // 0, 5, 25, 50, 75, 95, 100 % [s]
  // frames whose picture is that of the frame before (noise and compression allowed for)
  std::vector<long long> duplicated;
  // frames after which at least one is missing, by their stamps or by the motion
  std::vector<long long> dropped;
  // For every frame handed out the number of the exposure it shows, duplicates sharing one and gaps
  // counted: the index map.
  std::vector<long long> exposure;
  std::vector<TimeFinding> findings;  // most severe first
  Severity verdict = Severity::kFine;
  std::string headline;  // one plain sentence
};

struct DoctorOptions {
  long long max_frames = 20000;  // examined; the report says when there were more
  double exposure = 0;           // given by the user [s]; 0: not known
};

// DataError for a file that cannot be opened; a file that breaks is a finding.
TimeBaseReport ExamineTimeBase(const FrameSource& source, const DoctorOptions& options = {});

// Whether clips of one camera (calibration and drops, say) were taken through the same lens
// setting: size, rotation, scale and shift of the still part of the scene (stabilisation, zoom,
// refocus), exposure. Empty where they can be compared and agree.
std::vector<TimeFinding> CompareClips(const FrameSource& reference, const FrameSource& other,
                                      const DoctorOptions& options = {});

// Inserts a finding (of CompareClips) in order of severity and updates the verdict.
void AddFinding(TimeBaseReport* report, TimeFinding finding);

std::string BriefReport(const TimeBaseReport& report);
std::string ToJson(const TimeBaseReport& report);

}  // namespace impactlab
