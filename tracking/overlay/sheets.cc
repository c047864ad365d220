#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "data/base/error.h"
#include "tracking/overlay/detail/marker_extent.h"
#include "tracking/overlay/detail/paint.h"

namespace impactlab {
namespace {

using tracking::Extents;
using tracking::FrameOfInterest;
using tracking::MakeColor;
using tracking::MiddleAt;
using tracking::Rgb;

constexpr Rgb kGround{24, 26, 31};

// Where the pictures of a contact sheet stand, each with a title above it [px].
struct SheetTiles {
  SheetTiles(const Eigen::Vector2d& crop, int across, int down)
      : scale(std::clamp(std::clamp(2000.0 / across, 240.0, 640.0) / crop.x(), 0.25, 8.0)),
        columns(across),
        rows(down),
        width(static_cast<int>(std::lround(crop.x() * scale))),
        height(static_cast<int>(std::lround(crop.y() * scale))),
        letters(std::clamp(width / 42.0, 7.0, 13.0)),
        title(static_cast<int>(2.3 * letters)) {}

  ColorImage Empty() const {
    return MakeColor(columns * (width + kGap) + kGap, rows * (height + title + kGap) + kGap,
                     kGround);
  }
  // `accent`: of the frame that the sheet is about.
  void Paste(const ColorImage& tile, long long place, const std::string& text,
             const std::optional<Rgb>& accent, ColorImage* sheet) const {
    const int left = kGap + static_cast<int>(place % columns) * (width + kGap);
    const int top = kGap + static_cast<int>(place / columns) * (height + title + kGap);
    tracking::PasteImage(tile, left, top + title, sheet);
    tracking::DrawText(sheet, {left + 1.0, top + 0.6 * letters}, text, letters,
                       accent.value_or(Rgb{215, 218, 222}), false);
    if (accent)
      tracking::DrawBox(sheet, left - 2, top + title - 2, left + width + 1,
                        top + title + height + 1, {*accent, 3, 1, 0});
  }

  static constexpr int kGap = 6;
  double scale;  // of the cuts
  int columns, rows, width, height;
  double letters;
  int title;
};

}  // namespace

void WriteContactSheet(const std::filesystem::path& path, const MarkerTracks& tracks, int camera,
                       SecondLook* look, long long frame, int columns, int rows) {
  if (columns < 1 || rows < 1 || columns * rows > 400)
    throw ConfigError("contact sheet: allowed are 1 to 400 pictures");
  const bool given = frame >= 0;
  const long long at = given ? frame : FrameOfInterest(tracks, camera),
                  n = static_cast<long long>(columns) * rows;
  const long long from = std::max(0LL, at - (n - 1) / 2);
  double largest = 0;
  const auto extents = Extents(tracks, camera, from, from + n - 1, &largest);
  // One size of crop for all, enlarged to fill a sheet of some 2000 pixels.
  const Eigen::Vector2d size(look->info().width, look->info().height);
  const Eigen::Vector2d crop = tracking::CropSize(extents, largest, size);
  const SheetTiles tiles(crop, columns, rows);
  ColorImage sheet = tiles.Empty();
  OverlayOptions options;
  options.trail = 8;
  long long k = 0;
  for (long long index = from; k < n && !look->EndsBefore(index); ++index) {
    const Eigen::Vector2d corner =
        tracking::CropCorner(MiddleAt(extents, index, size / 2), crop, size);
    const Frame* read = look->Find(tracking::PartOf(index, corner, crop));
    if (read == nullptr && index == from) break;
    if (read == nullptr) continue;  // damaged
    const tracking::View view{corner, tiles.scale};
    ColorImage tile = tracking::EnlargedCut(read->image, corner.x(), corner.y(), tiles.scale,
                                            tiles.width, tiles.height);
    tracking::PaintMarkers(&tile, view, tracks, camera, index, 0.95 * tiles.letters, options);
    std::string text = tracking::FrameText(index, read->t);
    if (index != at) text += fmt::format("  ({:+})", index - at);
    const bool here = index == at;
    const Rgb accent = given ? Rgb{255, 255, 255} : tracking::StateOf(kImpact).color;
    tiles.Paste(tile, k++, text, here ? std::optional(accent) : std::nullopt, &sheet);
  }
  if (k == 0) throw DataError(fmt::format("{}: has no frame {}", SourceName(look->source()), from));
  WritePng(path, sheet);
}

}  // namespace impactlab
