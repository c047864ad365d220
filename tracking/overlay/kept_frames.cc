#include "tracking/overlay/kept_frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "tracking/overlay/detail/marker_extent.h"
#include "tracking/video/jpeg.h"

namespace impactlab {
namespace {

using Json = nlohmann::ordered_json;
using Eigen::Vector2d;

constexpr const char* kSchema = "impactlab.frames/1";
// pixels that a JPEG codes together: a cut shares none with its neighbour
constexpr int kBlock = 8;

std::filesystem::path WithEnding(std::filesystem::path stem, const char* ending) {
  return stem += ending;
}

int WholeBlocks(double pixels, int most) {
  return std::clamp(static_cast<int>(std::lround(pixels / kBlock)) * kBlock, kBlock, most);
}

// Sizes of the cuts, once the size of the frames is known.
void SetSizes(const Vector2d& crop, const KeepOptions& options, KeptFrames* out) {
  const int most = std::max(kBlock, options.max_width / kBlock * kBlock);
  const double scale = std::min(1.0, most / crop.x());
  out->tile_width = WholeBlocks(crop.x() * scale, most);
  out->tile_height = WholeBlocks(crop.y() * scale, 4 * most);
  out->crop_width = std::floor(crop.x());
  out->crop_height = std::floor(crop.y());
}

void PasteImage(const GrayImage& from, const KeptFrame& frame, const KeptFrames& kept,
                std::size_t place, GrayImage* to) {
  const cv::Mat all(from.height, from.width, CV_8U, const_cast<std::uint8_t*>(from.pixels.data()));
  const cv::Rect cut(static_cast<int>(frame.corner.x()), static_cast<int>(frame.corner.y()),
                     static_cast<int>(kept.crop_width), static_cast<int>(kept.crop_height));
  cv::Mat sheet(to->height, to->width, CV_8U, to->pixels.data());
  const auto columns = static_cast<std::size_t>(kept.columns);
  const cv::Rect tile(static_cast<int>(place % columns) * kept.tile_width,
                      static_cast<int>(place / columns) * kept.tile_height, kept.tile_width,
                      kept.tile_height);
  cv::Mat target = sheet(tile);
  cv::resize(all(cut), target, tile.size(), 0, 0, cv::INTER_AREA);
}

Json ToJson(const KeptFrames& kept) {
  Json frames = Json::array();
  for (const KeptFrame& f : kept.frames)
    frames.push_back(
        {{"frame", f.index}, {"t_s", f.t}, {"x_px", f.corner.x()}, {"y_px", f.corner.y()}});
  return {{"schema", kSchema},
          {"recording", kept.recording},
          {"camera", kept.camera},
          {"columns", kept.columns},
          {"tile_px", {kept.tile_width, kept.tile_height}},
          {"crop_px", {kept.crop_width, kept.crop_height}},
          {"frames", frames}};
}

}  // namespace

std::filesystem::path KeptPicture(const std::filesystem::path& stem) {
  return WithEnding(stem, ".jpg");
}
std::filesystem::path KeptTable(const std::filesystem::path& stem) {
  return WithEnding(stem, ".json");
}

KeptFrames KeepFrames(const std::filesystem::path& stem, const MarkerTracks& tracks, int camera,
                      SecondLook* look, const KeepOptions& options) {
  const long long at = tracking::FrameOfInterest(tracks, camera),
                  from = std::max(0LL, at - options.before), to = at + options.after;
  KeptFrames out;
  out.recording = tracks.recording;
  out.camera = tracks.cameras.at(static_cast<std::size_t>(camera));
  double largest = 0;
  const auto extents = tracking::Extents(tracks, camera, from, to, &largest);
  const Vector2d size(look->info().width, look->info().height);
  SetSizes(tracking::CropSize(extents, largest, size), options, &out);
  const Vector2d crop(out.crop_width, out.crop_height);
  // About as high as wide, so that no side of the picture grows beyond what coders and browsers
  // take.
  const auto n = static_cast<int>(to - from + 1);
  out.columns = std::max(1, static_cast<int>(std::ceil(std::sqrt(
                                static_cast<double>(n) * out.tile_height / out.tile_width))));
  GrayImage sheet;
  sheet.width = out.columns * out.tile_width;
  sheet.height = (n + out.columns - 1) / out.columns * out.tile_height;
  sheet.pixels.assign(
      static_cast<std::size_t>(sheet.width) * static_cast<std::size_t>(sheet.height), 0);
  for (long long index = from; index <= to && !look->EndsBefore(index); ++index) {
    const Vector2d corner =
        tracking::CropCorner(tracking::MiddleAt(extents, index, size / 2), crop, size);
    const Frame* read = look->Find(tracking::PartOf(index, corner, crop));
    if (read == nullptr) continue;  // damaged
    const KeptFrame frame{read->index, read->t, corner};
    PasteImage(read->image, frame, out, out.frames.size(), &sheet);
    out.frames.push_back(frame);
  }
  if (out.frames.empty())
    throw DataError(
        fmt::format("{}: has no frame from {} to {}", SourceName(look->source()), from, to));
  const auto rows = (static_cast<int>(out.frames.size()) + out.columns - 1) / out.columns;
  sheet.height = rows * out.tile_height;
  sheet.pixels.resize(static_cast<std::size_t>(sheet.width) *
                      static_cast<std::size_t>(sheet.height));
  WriteFile(KeptPicture(stem), EncodeJpeg(sheet, options.quality));
  WriteFile(KeptTable(stem), ToJson(out).dump(1, ' ', true, Json::error_handler_t::replace) + "\n");
  return out;
}

std::vector<FramePart> PartsOfPictures(const MarkerTracks& tracks, int camera, int width,
                                       int height, bool vague) {
  constexpr long long kFramesMore = 4;
  constexpr double kShareMore = 0.25;  // of the cut
  const KeepOptions options;
  const long long at = tracking::FrameOfInterest(tracks, camera), more = vague ? kFramesMore : 0,
                  from = std::max(0LL, at - options.before - more), to = at + options.after + more;
  double largest = 0;
  const auto extents = tracking::Extents(tracks, camera, from, to, &largest);
  const Vector2d size(width, height);
  const Vector2d crop = tracking::CropSize(extents, largest, size),
                 beside = vague ? Vector2d(kShareMore * crop) : Vector2d::Zero().eval();
  std::vector<FramePart> parts;
  for (long long index = from; index <= to; ++index) {
    const Vector2d corner =
        tracking::CropCorner(tracking::MiddleAt(extents, index, size / 2), crop, size);
    parts.push_back(tracking::PartOf(index, corner - beside, crop + 2 * beside));
  }
  return parts;
}

KeptFrames ReadKeptFrames(const std::filesystem::path& stem) {
  const std::filesystem::path path = KeptTable(stem);
  const std::string text = ReadFile(path, std::size_t{1} << 20);
  try {
    const Json json = Json::parse(text);
    KeptFrames out;
    if (json.at("schema") != kSchema)
      throw DataError(
          fmt::format("{}: schema: found another one, allowed {}", path.string(), kSchema));
    json.at("recording").get_to(out.recording);
    json.at("camera").get_to(out.camera);
    json.at("columns").get_to(out.columns);
    json.at("tile_px").at(0).get_to(out.tile_width);
    json.at("tile_px").at(1).get_to(out.tile_height);
    json.at("crop_px").at(0).get_to(out.crop_width);
    json.at("crop_px").at(1).get_to(out.crop_height);
    for (const Json& f : json.at("frames"))
      out.frames.push_back({f.at("frame").get<long long>(),
                            f.at("t_s").get<double>(),
                            {f.at("x_px").get<double>(), f.at("y_px").get<double>()}});
    if (out.columns < 1 || out.tile_width < 1 || out.tile_height < 1 || !(out.crop_width > 0) ||
        !(out.crop_height > 0))
      throw DataError(
          fmt::format("{}: found sizes of nothing, allowed numbers above 0", path.string()));
    return out;
  } catch (const nlohmann::json::exception& error) {
    throw DataError(
        fmt::format("{}: found no table of kept frames: {}", path.string(), error.what()));
  }
}

}  // namespace impactlab
