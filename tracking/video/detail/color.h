#pragma once
// How near the colour of a pixel is to that of a marker. Private to the room: shows libav.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tracking/video/detail/pixels.h"
#include "tracking/video/video.h"

extern "C" {
struct AVFrame;
struct AVPixFmtDescriptor;
}

namespace impactlab::tracking {

// One colour component after another of a frame, or of one of its fields.
struct PlanesView {
  std::array<const std::uint8_t*, 4> data{};
  std::array<int, 4> linesize{};
  int width = 0, height = 0;  // of this view [px]

  // A line of a component as stored, palette left alone.
  void Read(const AVPixFmtDescriptor& format, int y, int component, int count,
            std::uint16_t* to) const;
};

class Closeness {
 public:
  // `reference` in 0..255. ConfigError for one without colour.
  Closeness(const std::array<double, 3>& reference, std::string name);
  // To be called before the rows of a frame; `luma` as LevelTable without curve, for YUV; `curve`
  // names the one to be undone, if any.
  void Begin(const AVFrame& frame, const AVPixFmtDescriptor& format, Lines lines,
             const std::vector<double>& luma, const std::string& curve);
  // Red, green and blue of a row as shares of white, 0..1, to be filled in before Row.
  std::array<std::vector<float>, 3> rgb;
  void Row(int width, std::uint8_t* out) const;
  void YuvRow(const PlanesView& view, const AVPixFmtDescriptor& format, int y, std::uint8_t* out);

 private:
  struct ChromaRow {
    int at = -1;
    std::vector<float> blue, red;  // differences, -0.5..0.5
  };
  const ChromaRow& Chroma(const PlanesView& view, const AVPixFmtDescriptor& format, int at);

  std::string name_;
  std::array<double, 3> given_;
  float ref_r_ = 0, ref_g_ = 0, inverse_span_ = 1, dark_gain_ = 1;
  float red_to_r_ = 0, blue_to_b_ = 0, k_r_ = 0, k_b_ = 0, chroma_zero_ = 0, chroma_scale_ = 1,
        shift_x_ = 0, shift_y_ = 0;
  std::vector<float> levels_, curve_;
  std::vector<int> column_;    // of the chroma sample at or left of a pixel
  std::vector<float> beside_;  // share of the next one
  std::vector<float> blue_, red_;
  std::array<ChromaRow, 2> rows_;
  std::vector<std::uint16_t> stored_;
};

}  // namespace impactlab::tracking
