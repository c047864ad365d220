#include "tracking/video/detail/frames_stream.h"

#include <fmt/format.h>

#include <cmath>

#include "data/base/error.h"
#include "data/files/table.h"
#include "tracking/video/detail/file.h"

namespace impactlab {

std::string SourceName(const FrameSource& source) {
  return !source.video.empty()   ? source.video.string()
         : source.images.empty() ? ""
                                 : source.images.front().string();
}

namespace tracking {
namespace {

void Require(bool fine, const FrameSource& source, const char* key, double found,
             const char* allowed) {
  if (!fine)
    throw ConfigError(fmt::format("{}: {}: {}, {}", SourceName(source), key, found, allowed));
}

}  // namespace

FrameStream::FrameStream(const FrameSource& source) : source_(source) {
  if (source.video.empty() == source.images.empty())
    throw ConfigError(fmt::format("{}: a recording is either a video or pictures",
                                  source.video.empty() ? "no file" : SourceName(source)));
  Require(std::isfinite(source.rate) && source.rate >= 0, source, "rate", source.rate,
          "allowed are numbers above 0, frames a second");
  Require(std::isfinite(source.clock_rate) && source.clock_rate > 0, source, "clock_rate",
          source.clock_rate, "allowed are numbers above 0");
  Require(std::isfinite(source.t_shift), source, "t_shift", source.t_shift,
          "allowed are finite times");
  Require(std::isfinite(source.t_line), source, "t_line", source.t_line,
          "allowed are finite times");
  ReadStamps();
  if (!source.video.empty()) {
    OpenVideo();
  } else {
    OpenPictures();
  }
}

void FrameStream::ReadStamps() {
  if (source_.stamps.empty()) return;
  const Table table = ReadCsv(source_.stamps);
  stamps_ = table.Column("t_s");
  for (std::size_t k = 1; k < stamps_.size(); ++k)
    if (!(stamps_[k] > stamps_[k - 1]))
      throw table.Fault(
          k, "t_s", fmt::format("{:.9g}", stamps_[k]),
          fmt::format("times that increase, the one before is {:.9g}", stamps_[k - 1]));
}

void FrameStream::CheckRows(long long frames, bool cut) const {
  const auto rows = static_cast<long long>(stamps_.size());
  if (rows == frames || (cut && rows > frames)) return;
  throw DataError(fmt::format("{}: has {} rows of t_s, but {} has {} frames; each needs one",
                              source_.stamps.string(), rows, SourceName(source_), frames));
}

void FrameStream::OpenVideo() {
  video_.emplace(source_.video, source_.decode);
  info_ = video_->info();
  if (info_.still)
    throw DataError(
        fmt::format("{}: is a picture, not a video; name pictures as images, with a rate or stamps",
                    SourceName(source_)));
  if (!stamps_.empty()) {
    const StampTable table = ScanStamps(source_.video);
    const bool split = info_.interlaced && source_.decode.fields == VideoOptions::Fields::kSplit;
    if (table.exact)
      CheckRows(static_cast<long long>(table.ticks.size()) * (split ? 2 : 1), !table.cut.empty());
  } else if (source_.rate > 0) {
    const double step = ScanStamps(source_.video).Step();
    const double stamped = step > 0 ? 1 / step : info_.nominal_rate;
    if (stamped > 0) stretch_ = stamped / source_.rate;
  }
}

void FrameStream::OpenPictures() {
  const std::vector<std::filesystem::path>& images = source_.images;
  if (source_.rate <= 0 && stamps_.empty()) {
    throw DataError(
        fmt::format("{}: pictures have no time; give the rate at which they were taken, or a table "
                    "of stamps with a column t_s",
                    SourceName(source_)));
  }
  for (const auto& image : images) {
    std::error_code error;
    if (!std::filesystem::exists(image, error))
      throw DataError(fmt::format("{}: No such file", image.string()));
  }
  if (!stamps_.empty()) CheckRows(static_cast<long long>(images.size()), false);
  counted_.assign(images.size(), false);
  // A single picture is not split into fields: its field order concerns display only.
  source_.decode.threads = 1;
  source_.decode.fields = VideoOptions::Fields::kWhole;
  std::string cause;
  for (const auto& image : images) {
    std::optional<VideoReader> reader;
    try {
      reader.emplace(image, source_.decode);
    } catch (const DataError& error) {
      if (cause.empty()) cause = error.what();
      continue;
    }
    if (!reader->info().still)
      throw DataError(fmt::format("{}: is a video, not a picture", image.string()));
    GrayImage first;
    reader->Next(&first, nullptr);  // options that the file cannot satisfy are refused now
    info_ = reader->info();
    info_.still = false;
    info_.announced_frames = static_cast<long long>(images.size());
    return;
  }
  throw DataError(fmt::format("{}; nor can any other picture of the sequence be read", cause));
}

bool FrameStream::NextPicture(GrayImage* image, long long* index) {
  for (; next_picture_ < source_.images.size(); ++next_picture_) {
    const auto& path = source_.images[next_picture_];
    std::optional<VideoReader> reader;
    try {
      reader.emplace(path, source_.decode);
    } catch (const DataError&) {
      if (!counted_[next_picture_]) ++damaged_pictures_;
      counted_[next_picture_] = true;
      continue;
    }
    const VideoInfo& info = reader->info();
    if (!info.still) throw DataError(fmt::format("{}: is a video, not a picture", path.string()));
    if (info.width != info_.width || info.height != info_.height) {
      throw DataError(fmt::format("{}: has {} x {} pixels, the pictures before it {} x {}",
                                  path.string(), info.width, info.height, info_.width,
                                  info_.height));
    }
    *index = static_cast<long long>(next_picture_++);
    return reader->Next(image, nullptr);
  }
  return false;
}

double FrameStream::Time(long long index, double stamp) const {
  const auto k = static_cast<std::size_t>(index);
  if (!stamps_.empty() && k >= stamps_.size()) CheckRows(index + 1, false);
  const double own = !stamps_.empty() ? stamps_[k]
                     : video_         ? stretch_ * stamp
                                      : static_cast<double>(index) / source_.rate;
  return source_.t_shift + source_.clock_rate * own;
}

bool FrameStream::Next(Frame* frame) {
  if (ended_) return false;
  double stamp = 0;
  long long index = -1;
  bool there = false;
  try {
    if (video_) {
      there = video_->Next(&frame->image, &stamp);
      index = video_->index();
    } else {
      there = NextPicture(&frame->image, &index);
    }
    if (there) {
      frame->index = index;
      frame->t = Time(index, stamp);
    } else if (video_ && static_cast<long long>(stamps_.size()) > last_index_ + 1 + damaged()) {
      CheckRows(last_index_ + 1, false);
    }
  } catch (const DataError& error) {
    ended_ = true;
    if (last_index_ < 0)
      throw DataError(fmt::format("{}; no frame before it is good", error.what()));
    throw DataError(fmt::format("{}; the last good frame is {}, at {:.6f} s", error.what(),
                                last_index_, last_t_));
  }
  if (!there) {
    ended_ = true;
    return false;
  }
  last_index_ = index;
  last_t_ = frame->t;
  return true;
}

bool FrameStream::Seek(long long index) {
  if (index < 0) return false;
  ended_ = false;
  if (video_) return video_->Seek(index);
  const auto n = static_cast<long long>(source_.images.size());
  next_picture_ = static_cast<std::size_t>(std::min(index, n));
  if (index >= n) return false;
  try {
    VideoReader reader(source_.images[next_picture_], source_.decode);
    return true;
  } catch (const DataError&) {
    return false;
  }
}

}  // namespace tracking
}  // namespace impactlab
