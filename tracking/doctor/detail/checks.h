#pragma once
// The checks of the time base. Private to the room.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/files/image.h"
#include "tracking/doctor/doctor.h"
#include "tracking/video/stream_facts.h"

namespace impactlab::tracking {

// ---- what the stamps say (tracking/doctor/time.cc)
// ----------------------------------------------------------------------------------------------

// Stamps as equidistant times with gaps.
struct Beat {
  double step = 0;               // [s]
  std::vector<long long> count;  // of every frame, from 0: its number on the beat, gaps counted
  std::vector<double> even;      // the stamps of the beat itself [s]
  double residual_sd = 0;        // of the stamps about the beat [s]
  double residual_max = 0;       // [s]
  double jitter = 0;             // of the steps, gaps left out [s]
};
// Two or more increasing stamps.
Beat FitBeat(const std::vector<double>& t);
// Largest unit of 10, 1, 0.1 ms that all stamps are multiples of; 0: none. Coarse stamps stay so
// when a file is packed into a finer container.
double DecimalTick(const std::vector<double>& t);
// Largest relative error of the ratio of two speeds, one fitted to an arc of `arc` seconds before a
// frame and one to an arc after it, when frames taken at `real` are believed to be taken at
// `believed`: the error of e* = v_plus / v_minus = 1 of a central impact there.
double CostOfTimes(const std::vector<double>& real, const std::vector<double>& believed,
                   double arc);
// Error of e* of an impact at 1 m/s when time runs `factor` times too slow (speeds too small by it)
// while the arcs are fitted with the gravity of the place.
double CostOfRate(double factor, double arc);

// ---- what the pictures say (tracking/doctor/pictures.cc, tracking/doctor/repeats.cc)
// ---------------------------------------------------------------------

// One frame against the one before it.
struct FrameMeasure {
  double mean = 0;          // grey level
  double gain = 1;          // brightness relative to the first frame, moving parts left out
  double change = 0;        // mean |difference| of the whole picture [grey level]
  bool identical = false;   // bit by bit
  double equal = 0;         // share of pixels that are exactly those of the frame before
  std::uint64_t print = 0;  // of the picture: the same for the same one
  double strongest = 0;     // mean |difference| of the block that changes most, and
  double hidden = 0;        // below which no change differs from noise anywhere [grey level]
  int active = 0;           // blocks in which something moves
  double activity = 0;      // sum of |difference| over those
  // sum of difference times position over those: contrast times displacement
  double moment[2] = {0, 0};
  // |sum of differences| / activity: 0 while a body stays in the picture
  double balance = 0;
  // pixels of moving blocks that stand out of the lines beside them, like those two away or not
  double comb = 0, ridges = 0;
  std::vector<float> bands;  // mean grey level of bands of rows
};

constexpr double kSampleScale = 64;  // of kept differences

class FrameMeter {
 public:
  FrameMeasure MeasureFrame(const GrayImage& image);
  // Mean |difference| of sampled blocks to the frame before, for every frame but the first,
  // [frame][block], in 1/64 grey levels.
  const std::vector<std::vector<std::uint16_t>>& samples() const { return samples_; }
  int blocks() const { return columns_ * rows_; }
  // Share of the height that whole blocks, and so the bands, cover.
  double covered() const { return covered_; }

 private:
  // Mean levels of the blocks of a frame and of their difference from the frame before.
  struct BlockLevels {
    int width = 0, height = 0;  // of a block [px]
    bool compared = false;      // the frame before has the same size
    std::vector<float> level, difference;
    std::size_t alike = 0;  // pixels that are exactly those of the frame before
  };
  void Start(const GrayImage& image);
  void MeasureBlocks(const GrayImage& image, BlockLevels* blocks_out, FrameMeasure* m);
  void MeasureChange(const GrayImage& image, const BlockLevels& blocks_in, FrameMeasure* m);
  void CountComb(const GrayImage& image, int x0, int y0, const BlockLevels& blocks_in, float usual,
                 FrameMeasure* m) const;
  int columns_ = 0, rows_ = 0;
  double covered_ = 1;
  GrayImage last_;
  std::vector<float> reference_;  // levels of the blocks of the first frame
  std::vector<int> sampled_;
  std::vector<std::vector<std::uint16_t>> samples_;
};

struct RepeatedFrames {
  // positions in the series whose picture is that of the frame before
  std::vector<long long> repeated;
  // positions before which an exposure is missing by the motion, though the stamps run on
  std::vector<long long> lost;
  // of every frame: exposures since the frame before, as far as the pictures tell (0, 1, 2 ...)
  std::vector<int> exposures;
  // of every frame: position of the frame whose picture it shows, its own unless it is a copy
  std::vector<long long> shown;
  // positions whose picture is that of a frame further back: out of order
  std::vector<long long> returned;
  bool by_copy = false;    // how: pixel by pixel, where those of other frames differ,
  bool by_noise = false;   // noise that (nearly) repeats,
  bool by_motion = false;  // motion that halts and goes on
  // false: no noise and no motion in the pictures, so that nothing can be said
  bool decidable = true;
  long long decided = 0;  // frames in which a repeat would have shown
};
RepeatedFrames FindRepeated(const std::vector<FrameMeasure>& frames,
                            const std::vector<std::vector<std::uint16_t>>& samples, int blocks,
                            bool predicted);

// Brightness waves that travel down the picture (rolling shutter under flickering lamps) or do not.
struct ShutterEvidence {
  bool flicker = false;  // strong enough to tell
  bool rolling = false;
  double frequency = 0;  // as sampled [Hz]
  double turn = 0;       // phase from the first row to the last [rad]
  double readout = 0;    // [s] where the lamp is mains-driven (100 or 120 Hz); 0: not known
  double mains = 0;      // [Hz]
};
ShutterEvidence FindShutter(const std::vector<double>& t, const std::vector<FrameMeasure>& frames,
                            double covered = 1);

// ---- clips against each other (tracking/doctor/compare.cc)
// --------------------------------------------------------------------------------------

// The still part of a scene in two pictures: b = scale * R(angle) * (a - centre) + centre + shift.
struct Similarity {
  bool known = false;
  int blocks = 0, agreeing = 0;  // textured blocks found again, and those that move together
  double scale = 1, angle = 0;   // angle in image axes: positive turns x towards y [rad]
  double shift[2] = {0, 0};      // of the centre of the picture [px]
  double rms = 0;                // of agreeing blocks [px]
  double sharpness = 1;          // of b to a
  double gain = 1;               // grey levels of b to a
};
Similarity FindSimilarity(const GrayImage& a, const GrayImage& b);

// Stabilisation, zoom, turn, refocus and exposure as findings; what it costs is counted for a
// picture `width` wide.
std::vector<TimeFinding> SimilarityFindings(const Similarity& s, int width,
                                            const std::string& between);

// of flight on each side of an impact that the costs are counted for [s]
constexpr double kArc = 0.05;

}  // namespace impactlab::tracking
