#pragma once
// Spots: bright or dark patches of a picture that may be markers, found in one pass over the frame.
//
// A pixel belongs to a spot when it differs from the background by more than a threshold; runs of
// such pixels that touch (8 neighbours) are one spot. The centroid is weighted with the difference
// from the background, over the spot and a rim around it, so that it uses the grey values and not
// the outline (Shortis, Clarke and Short, Proc. SPIE 2350, 1994). Its covariance follows from the
// noise of every pixel that was used.
//
// Noise of a pixel of intensity I: variance = read^2 + gain * I + 1 / 12 (sensor, light,
// quantisation) [grey levels^2].

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <vector>

#include "data/files/image.h"

namespace impactlab {

struct PixelNoise {
  double read = 1;  // standard deviation in the dark [grey levels]
  double gain = 0;  // growth of the variance with the intensity [grey levels]
  double Variance(double intensity) const { return read * read + gain * intensity + 1.0 / 12; }
};

// What may be wrong with the image of a marker. Bits; names for files in tracking/track/tracks.h.
enum MarkerFlag : std::uint32_t {
  kSaturated = 1u << 0,  // pixels at the end of the grey scale: intensity weights are clipped
  kTouching = 1u << 1,   // merged with, or within the rim of, another spot
  kHidden = 1u << 2,     // a part is covered: the outline is no ellipse, or smaller than before
  kCut = 1u << 3,        // reaches the border of the picture
  kBlurred = 1u << 4,    // moved by more than a pixel during the exposure
  kFaint = 1u << 5,      // signal to noise below 5
  // the edge model does not fit: the centroid is used, with a wider covariance
  kRough = 1u << 6,
  // Set by the tracker and what follows it.
  kPredicted = 1u << 8,   // not seen: bridged by the motion before and after
  kImpact = 1u << 9,      // the velocity jumped beside this frame
  kOutlier = 1u << 10,    // outside of its gate once the whole track was known
  kManual = 1u << 11,     // placed by hand
  kImported = 1u << 12,   // from another program
  kRelabelled = 1u << 13  // its name was changed after tracking
};

struct Spot {
  Eigen::Vector2d q = Eigen::Vector2d::Zero();    // weighted centroid [px]
  Eigen::Matrix2d cov = Eigen::Matrix2d::Zero();  // of q, from the noise [px^2]
  // second moments of its area (pixels above the threshold) about its centre [px^2]
  Eigen::Matrix2d spread = Eigen::Matrix2d::Zero();
  // pixels above the threshold, weighted at the rim [px^2]
  double area = 0;
  // sum of |intensity - background| [grey levels px^2]
  double flux = 0;
  // largest |intensity - background| [grey levels]
  double peak = 0;
  double background = 0;  // around it [grey levels]
  // box of the pixels above the threshold, both ends included [px]
  int left = 0, top = 0, right = 0, bottom = 0;
  std::uint32_t flags = 0;
};

// A part of the picture, both ends included; clipped to the picture where it is used.
struct Window {
  int left = 0, top = 0, right = 0, bottom = 0;  // [px]
};

struct SpotOptions {
  bool dark = false;  // markers darker than what is around them
  // threshold between markers and the rest, a grey level; 0: chosen for every frame from its
  // histogram
  int threshold = 0;
  // side of the neighbourhood a local threshold is taken from [px]; 0: one threshold for the frame
  int local = 0;
  double area_min = 6;         // [px^2]
  double area_max = 20000;     // [px^2]
  double elongation_max = 20;  // larger axis over smaller
  int rim = 2;                 // pixels around a spot that are used for its centroid [px]
  PixelNoise noise;
  // take `noise.read` from the frame itself (differences of neighbouring pixels)
  bool estimate_noise = true;
  bool portable = false;  // no vector instructions, for comparison: the result is the same
};

// Finds spots in frame after frame of one camera; keeps its storage, so that nothing is allocated
// per frame. Uses AVX2 where the processor has it; the result is the same without.
class SpotFinder {
 public:
  explicit SpotFinder(const SpotOptions& options = {});
  ~SpotFinder();
  SpotFinder(SpotFinder&&) noexcept;
  SpotFinder& operator=(SpotFinder&&) noexcept;

  // In the order of their first row. The reference is good until the next call.
  const std::vector<Spot>& FindSpots(const GrayImage& image);
  // Only inside the windows; a spot seen in two of them is reported once, one that reaches the
  // border of its window is followed beyond it.
  const std::vector<Spot>& FindSpots(const GrayImage& image, const std::vector<Window>& windows);

  int threshold() const;            // used in the last frame [grey levels]
  const PixelNoise& noise() const;  // used in the last frame

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Grey levels of a scene that does not move: per pixel median of frames spread over a recording
// (Piccardi, IEEE SMC 2004), for what is bright or dark and stands still. Memory does not grow with
// the number of frames.
class Background {
 public:
  Background(int width, int height);
  void Add(const GrayImage& image);
  bool empty() const { return frames_ == 0; }
  const GrayImage& image();
  // |image - background| where it is brighter (or darker) than the background, shown as a bright
  // spot on black.
  void Subtract(const GrayImage& image, bool dark, GrayImage* difference);

 private:
  int width_, height_;
  long long frames_ = 0;
  std::vector<std::uint8_t> samples_;  // of a few frames, one after another
  GrayImage image_;
  bool stale_ = true;
};

}  // namespace impactlab
