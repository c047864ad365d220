#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "data/base/error.h"
#include "tracking/overlay/detail/marker_extent.h"
#include "tracking/overlay/detail/paint.h"
#include "tracking/spot/local.h"

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

namespace {

// The pixels that differ from their surroundings by more than the threshold, as the search of
// markers takes them.
GrayImage BinaryPicture(const GrayImage& searched, const SpotOptions& options, int level) {
  GrayImage binary = searched, local;
  if (options.local > 0)
    tracking::LocalMean().Subtract(searched, {0, 0, searched.width - 1, searched.height - 1},
                                   options.local, options.dark ? 0xFF : 0, &local);
  for (std::size_t k = 0; k < binary.pixels.size(); ++k) {
    const bool marker = options.local > 0 ? local.pixels[k] > tracking::kLocalZero + level
                        : options.dark    ? searched.pixels[k] < level
                                          : searched.pixels[k] > level;
    binary.pixels[k] = marker ? 255 : 0;
  }
  return binary;
}

enum class SpotMarks { kNone, kOutlines, kCentroids };
struct Panel {
  std::string title;
  const GrayImage* image;
  SpotMarks marks;
};

void DrawSpots(const std::vector<Spot>& spots, SpotMarks marks, double scale, double letters,
               ColorImage* tile) {
  const tracking::View view{Eigen::Vector2d::Zero(), scale};
  for (const Spot& spot : spots) {
    const Rgb color = tracking::StateOf(spot.flags).color;
    const Eigen::Vector2d q = view.At(spot.q);
    const Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> axes(spot.spread);
    const Eigen::Vector2d axis = axes.eigenvectors().col(1);
    // A disc of radius r has second moments r^2 / 4.
    const double major = 2 * scale * std::sqrt(std::max(0.0, axes.eigenvalues()(1)));
    const double minor = 2 * scale * std::sqrt(std::max(0.0, axes.eigenvalues()(0)));
    if (marks == SpotMarks::kOutlines)
      tracking::DrawEllipse(tile, q, std::max(major, 1.0), std::max(minor, 1.0),
                            std::atan2(axis.y(), axis.x()), {color, 1.5, 1, 0});
    if (marks != SpotMarks::kCentroids) continue;
    const double arm = std::max(5.0, 0.3 * major);
    tracking::DrawPaths(tile,
                        {{q - Eigen::Vector2d(arm, 0), q + Eigen::Vector2d(arm, 0)},
                         {q - Eigen::Vector2d(0, arm), q + Eigen::Vector2d(0, arm)}},
                        {color, 1.4, 1, 0});
    if (spots.size() <= 60)
      tracking::DrawText(tile, q + Eigen::Vector2d(std::max(arm, major) + 4, -0.4 * letters),
                         fmt::format("{:.2f} {:.2f}", spot.q.x(), spot.q.y()), 0.8 * letters,
                         {240, 240, 240});
  }
}

ColorImage PlacePanels(const std::vector<Panel>& panels, const std::vector<Spot>& spots,
                       const GrayImage& image) {
  constexpr int kGap = 8;
  const int columns = panels.size() > 4 ? 3 : 2,
            rows = (static_cast<int>(panels.size()) + columns - 1) / columns;
  const double scale = std::clamp(1920.0 / (columns * image.width), 0.2, 6.0);
  const int width = std::max(1, static_cast<int>(std::lround(image.width * scale)));
  const int height = std::max(1, static_cast<int>(std::lround(image.height * scale)));
  const double letters = std::clamp(width / 50.0, 7.0, 14.0);
  const int title = static_cast<int>(2.4 * letters);
  ColorImage sheet =
      MakeColor(columns * (width + kGap) + kGap, rows * (height + title + kGap) + kGap, kGround);
  for (std::size_t k = 0; k < panels.size(); ++k) {
    ColorImage tile = tracking::EnlargedCut(*panels[k].image, 0, 0, scale, width, height);
    DrawSpots(spots, panels[k].marks, scale, letters, &tile);
    const int left = kGap + static_cast<int>(k) % columns * (width + kGap),
              top = kGap + static_cast<int>(k) / columns * (height + title + kGap);
    tracking::DrawText(&sheet, {left + 2.0, top + 0.6 * letters}, panels[k].title, letters,
                       {235, 235, 235}, false);
    tracking::PasteImage(tile, left, top + title, &sheet);
  }
  return sheet;
}

}  // namespace

void WriteMontage(const std::filesystem::path& path, const GrayImage& image,
                  const SpotOptions& options, const GrayImage* difference) {
  if (image.width < 1 || image.height < 1)
    throw DataError("montage: found a picture without pixels");
  const GrayImage& searched = difference != nullptr ? *difference : image;
  SpotOptions as = options;
  if (difference != nullptr) as.dark = false;  // markers are bright in a difference
  SpotFinder finder(as);
  const std::vector<Spot> spots = finder.FindSpots(searched);
  const int level = finder.threshold();
  const GrayImage binary = BinaryPicture(searched, as, level);

  std::vector<Panel> panels = {{"grey", &image, SpotMarks::kNone}};
  if (difference != nullptr)
    panels.push_back({"difference from the background", difference, SpotMarks::kNone});
  panels.push_back({as.local > 0 ? fmt::format("binary: {} {} levels from the local mean",
                                               as.dark ? "below by" : "above by", level)
                                 : fmt::format("binary: {} {}",
                                               as.dark ? "darker than" : "brighter than", level),
                    &binary, SpotMarks::kNone});
  panels.push_back({fmt::format("outlines: {} spots", spots.size()), &image, SpotMarks::kOutlines});
  panels.push_back({"centroids", &image, SpotMarks::kCentroids});
  WritePng(path, PlacePanels(panels, spots, image));
}

}  // namespace impactlab
