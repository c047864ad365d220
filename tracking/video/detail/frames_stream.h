#pragma once
// Frames of a source one after another on the thread that asks, each with its time on the common
// clock. Private to the room.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tracking/video/frames.h"
#include "tracking/video/video.h"

namespace impactlab::tracking {

class FrameStream {
 public:
  // As FrameReader.
  explicit FrameStream(const FrameSource& source);

  const VideoInfo& info() const { return info_; }
  bool Next(Frame* frame);
  bool Seek(long long index);
  long long damaged() const { return video_ ? video_->damaged() : damaged_pictures_; }

 private:
  void OpenVideo();
  void OpenPictures();
  void ReadStamps();
  void CheckRows(long long frames, bool cut) const;
  bool NextPicture(GrayImage* image, long long* index);
  double Time(long long index, double stamp) const;

  FrameSource source_;
  VideoInfo info_;
  std::optional<VideoReader> video_;
  std::size_t next_picture_ = 0;
  long long damaged_pictures_ = 0;
  std::vector<bool> counted_;  // pictures that were counted as damaged
  std::vector<double> stamps_;
  double stretch_ = 1;  // of the stamps of a video
  long long last_index_ = -1;
  double last_t_ = 0;
  bool ended_ = false;
};

}  // namespace impactlab::tracking
