#pragma once
// From stored levels to gray values: ranges and transfer curves. Private to the room: shows libav.

#include <string>
#include <vector>

#include "tracking/video/video.h"

extern "C" {
struct AVFrame;
struct AVPixFmtDescriptor;
}

namespace impactlab::tracking {

// Whether luma runs over part of its range only: 16..235 of 8 bits.
bool HasLimitedRange(const AVFrame& frame, const AVPixFmtDescriptor& format);

// Light of a level, both in 0..1, after the curve of a name as in VideoInfo::transfer; negative
// where the name tells none. Sources: Rec. ITU-R BT.709-6 and BT.2020-2 item 1.2 and table 4, SMPTE
// 240M, IEC 61966-2-1, Rec. ITU-R BT.2100-2 table 5 (HLG).
double Light(const std::string& transfer, double level);

// Share of white, 0..1, not rounded, of every stored value of a component: as options say, or over
// its usual range. DataError where light is asked for and no curve is known.
std::vector<double> LevelTable(int depth, bool limited, const std::string& transfer,
                               const VideoOptions& options, const std::string& name);

}  // namespace impactlab::tracking
