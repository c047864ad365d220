// Frames of videos for a calibration: read in step, searched in parallel, the best kept.

#include "tracking/video/video.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "calibration/detect/detect.h"
#include "data/base/error.h"
#include "data/base/parallel.h"
#include "data/base/progress.h"
#include "data/cache/stage_cache.h"
#include "data/files/text.h"
#include "data/statistics/order_statistic.h"
#include "pipelines/calibrate/detail/input.h"
#include "pipelines/config/run_context.h"

namespace impactlab::pipelines {
namespace {

// Frames of one clip, the present and the next one, so that the nearest to a time is known.
class ClipReader {
 public:
  struct Frame {
    bool there = false;
    GrayImage image;
    double t = 0;  // from the first frame of the clip [s]
    long long index = -1;
  };

  ClipReader(const std::filesystem::path& path, const VideoOptions& options,
             std::vector<std::string>* notes)
      : reader_(path, options), notes_(notes) {
    if (reader_.info().still)
      throw DataError(
          fmt::format("{}: is a picture, not a video; name pictures with images", path.string()));
    Read(&next_);
    first_t_ = next_.t;
    next_.t = 0;
  }
  // The next frame; false at the end.
  bool Step() {
    std::swap(now_, next_);
    Read(&next_);
    if (next_.there) next_.t -= first_t_;
    return now_.there;
  }
  // The frame nearest to a time, if it lies within half of the distance between frames; times must
  // not decrease.
  const Frame* At(double t) {
    if (!now_.there && !Step()) return nullptr;
    while (next_.there && std::abs(next_.t - t) <= std::abs(now_.t - t)) Step();
    const double rate = reader_.info().nominal_rate;
    const double step = next_.there ? next_.t - now_.t : rate > 0 ? 1 / rate : 0;
    return now_.there && std::abs(now_.t - t) <= 0.5 * step + 1e-9 ? &now_ : nullptr;
  }
  // The frame of a number; numbers must not decrease.
  const Frame* Number(long long index) {
    while (now_.index < index && Step()) {
    }
    return now_.there && now_.index == index ? &now_ : nullptr;
  }
  const Frame& now() const { return now_; }
  const VideoReader& reader() const { return reader_; }

 private:
  void Read(Frame* frame) {
    frame->there = false;
    try {
      frame->there = !ended_ && reader_.Next(&frame->image, &frame->t);
      frame->index = reader_.index();
    } catch (const DataError& error) {
      // The frames before it can be used.
      notes_->push_back(error.what());
    }
    ended_ = ended_ || !frame->there;
  }

  VideoReader reader_;
  std::vector<std::string>* notes_;
  Frame now_, next_;
  double first_t_ = 0;
  bool ended_ = false;
};

// Where the points of a view moved from another, root mean square over common points [px]; NaN
// without any.
double Moved(const BoardView& a, const BoardView& b) {
  double sum = 0;
  int n = 0;
  for (std::size_t i = 0, j = 0; i < a.points.size() && j < b.points.size();) {
    if (a.points[i].id < b.points[j].id) {
      ++i;
    } else if (a.points[i].id > b.points[j].id) {
      ++j;
    } else {
      sum += (a.points[i++].q - b.points[j++].q).squaredNorm();
      ++n;
    }
  }
  return n > 0 ? std::sqrt(sum / n) : std::numeric_limits<double>::quiet_NaN();
}

void DropBlurred(std::vector<FrameCandidate>& candidates, std::size_t camera) {
  constexpr double kLeast = 0.5;  // of the sharpness the best tenth reaches
  std::vector<double> sharpness;
  for (const FrameCandidate& c : candidates)
    if (!c.shot.views[camera].points.empty()) sharpness.push_back(c.shot.views[camera].sharpness);
  if (sharpness.empty()) return;
  const double best = OrderStatistic(sharpness, 9 * (sharpness.size() - 1) / 10);
  for (FrameCandidate& c : candidates) {
    BoardView& view = c.shot.views[camera];
    if (view.points.empty()) continue;
    if (view.sharpness < kLeast * best) {
      view.points.clear();
      view.problem = "blurred beside the other frames of this camera";
    }
    view.sharpness = best > 0 ? std::min(1.0, view.sharpness / best) : 1;
  }
}

}  // namespace

std::vector<std::size_t> ChooseFrames(std::vector<FrameCandidate>& candidates, const Board& board,
                                      int most) {
  if (candidates.empty()) return {};
  const std::size_t n = candidates.size(), cameras = candidates[0].shot.views.size();
  for (std::size_t c = 0; c < cameras; ++c) DropBlurred(candidates, c);

  using Quad = std::optional<Eigen::Matrix<double, 8, 1>>;
  std::vector<std::vector<Quad>> quads(n, std::vector<Quad>(cameras));
  std::vector<double> worth(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    double sharp = 1, speed = 0;
    int seen = 0;
    for (std::size_t c = 0; c < cameras; ++c) {
      const BoardView& view = candidates[i].shot.views[c];
      quads[i][c] = BoardQuad(board, view);
      if (!quads[i][c]) continue;
      ++seen;
      sharp = std::min(sharp, view.sharpness);
      // A board at rest gives the same pose in all cameras, also where their clocks differ.
      double least = std::numeric_limits<double>::infinity();
      for (const std::size_t j : {i - 1, i + 1}) {
        if (j >= n || candidates[j].clip != candidates[i].clip) continue;
        const double frames =
            std::abs(static_cast<double>(candidates[j].frame - candidates[i].frame));
        const double moved = Moved(view, candidates[j].shot.views[c]);
        if (frames > 0 && moved / frames < least) least = moved / frames;
      }
      if (std::isfinite(least)) speed = std::max(speed, least);
    }
    constexpr double kSpeed = 1;  // [px per frame]
    worth[i] = seen == 0 ? 0
                         : sharp * (static_cast<double>(seen) / static_cast<double>(cameras)) /
                               (1 + std::pow(speed / kSpeed, 2));
  }
  // Diagonals of the image between two shots; a camera that saw the board in only one of them
  // counts as a fixed distance.
  const auto distance = [&](std::size_t i, std::size_t j) {
    constexpr double kNew = 0.2;
    double sum = 0;
    int m = 0;
    for (std::size_t c = 0; c < cameras; ++c) {
      const Quad &a = quads[i][c], &b = quads[j][c];
      if (!a && !b) continue;
      sum += a && b ? std::min(1.0, (*a - *b).norm() / 2) : kNew;
      ++m;
    }
    return m > 0 ? sum / m : 0.0;
  };
  // Farthest point first, weighted by the quality of a frame.
  constexpr double kNearest = 0.01;  // [diagonals]: closer frames add no information
  std::vector<std::size_t> chosen;
  std::vector<double> nearest(n, 1);
  while (static_cast<int>(chosen.size()) < most) {
    std::size_t best = n;
    double best_score = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (worth[i] <= 0 || nearest[i] < kNearest) continue;
      const double score = std::sqrt(worth[i]) * nearest[i];
      if (score > best_score) best_score = score, best = i;
    }
    if (best == n) break;
    chosen.push_back(best);
    for (std::size_t i = 0; i < n; ++i) nearest[i] = std::min(nearest[i], distance(i, best));
    nearest[best] = 0;
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

namespace {

// Result of the search of all clips.
struct Footage {
  std::vector<BoardShot> shots;
  std::vector<std::string> notes;
};

// Reads the clips of all cameras in step and detects the board in their frames, a batch at a time.
// `clips` of every camera, as many of each.
class ClipSearch {
 public:
  ClipSearch(const CalibrationConfig& plan,
             const std::vector<std::vector<std::filesystem::path>>& clips,
             const RunContext& context, std::vector<std::string>* notes)
      : plan_(plan),
        clips_(clips),
        context_(context),
        notes_(notes),
        per_clip_(std::max<std::size_t>(
            3, static_cast<std::size_t>(plan.frames.examine) / clips[0].size())),
        progress_("finding boards", 0, "frames", context.Shown()) {}

  void SearchAll() {
    for (std::size_t clip = 0; clip < clips_[0].size(); ++clip) SearchClip(clip);
    progress_.Finish();
  }

  std::vector<FrameCandidate> candidates;
  long long unpaired = 0, seen = 0;  // frames without a partner, frames examined

 private:
  void SearchClip(std::size_t clip) {
    std::vector<ClipReader> readers;
    for (const auto& files : clips_)
      readers.emplace_back(files[clip], VideoOptions{.threads = clips_.size() > 1 ? 1 : 0}, notes_);
    // Where the header does not state how long the clip is, the step doubles as it goes on.
    const long long announced = readers[0].reader().info().announced_frames;
    long long step = std::max<long long>(
        1, (announced + static_cast<long long>(per_clip_) - 1) / static_cast<long long>(per_clip_));
    std::size_t examined = 0;
    while (readers[0].Step()) {
      context_.CheckCancelled();
      const long long index = readers[0].now().index;
      const std::string name = clips_[0].size() > 1
                                   ? fmt::format("{}#{}", clips_[0][clip].stem().string(), index)
                                   : fmt::format("#{}", index);
      if (index % step != 0 && name != plan_.world.shot) continue;
      ++examined, ++seen;
      if (examined == 2 * per_clip_) step *= 2, examined = per_clip_;
      TakeFrame(clip, name, &readers);
      if (batch_.size() * clips_.size() >= 16) DetectBatch(clip);
    }
    DetectBatch(clip);
    for (std::size_t c = 0; c < clips_.size(); ++c) {
      if (const long long damaged = readers[c].reader().damaged(); damaged > 0)
        notes_->push_back(
            fmt::format("{}: {} damaged frames were left out", clips_[c][clip].string(), damaged));
    }
  }

  // The present frame of the first camera and its partners in the others, into the batch.
  void TakeFrame(std::size_t clip, const std::string& name, std::vector<ClipReader>* readers) {
    const ClipReader::Frame& frame = readers->front().now();
    FrameCandidate candidate{
        .shot = {}, .clip = static_cast<int>(clip), .t = frame.t, .frame = frame.index};
    candidate.shot.name = name;
    for (std::size_t c = 0; c < clips_.size(); ++c) {
      ClipReader& reader = (*readers)[c];
      const ClipReader::Frame* own = c == 0                            ? &frame
                                     : plan_.match == ShotMatch::kTime ? reader.At(frame.t)
                                                                       : reader.Number(frame.index);
      BoardView view;
      view.width = reader.reader().info().width;
      view.height = reader.reader().info().height;
      if (own == nullptr) {
        view.problem = "no frame at this time";
        ++unpaired;
        images_.emplace_back();
      } else {
        view.image = fmt::format("{}#{}", clips_[c][clip].string(), own->index);
        images_.push_back(own->image);
      }
      candidate.shot.views.push_back(std::move(view));
    }
    batch_.push_back(std::move(candidate));
  }

  // Detects the board in the frames of the batch, in parallel, and empties it.
  void DetectBatch(std::size_t clip) {
    std::vector<std::filesystem::path> read;
    for (const auto& files : clips_) read.push_back(files[clip]);
    std::vector<BoardView> views;
    for (const FrameCandidate& candidate : batch_)
      views.insert(views.end(), candidate.shot.views.begin(), candidate.shot.views.end());
    const auto detect = [&] {
      std::vector<BoardView> found = views;
      ForEachIndex(found.size(), context_.threads, [&](std::size_t k) {
        context_.CheckCancelled();
        if (images_[k].pixels.empty()) return;
        BoardView& view = found[k];
        const std::string name = view.image;
        view = DetectBoard(images_[k], plan_.board, plan_.detect);
        view.image = name;
        view.width = images_[k].width;
        view.height = images_[k].height;
      });
      return found;
    };
    views =
        StageResult<std::vector<BoardView>>(context_.cache, "boards", detect, views, plan_.board,
                                            plan_.detect, ContentOf(context_.cache, read));
    const std::size_t cameras = clips_.size();
    for (std::size_t k = 0; k < views.size(); ++k)
      batch_[k / cameras].shot.views[k % cameras] = std::move(views[k]);
    progress_.Advance(static_cast<std::int64_t>(batch_.size()));
    std::move(batch_.begin(), batch_.end(), std::back_inserter(candidates));
    batch_.clear();
    images_.clear();
  }

  const CalibrationConfig& plan_;
  const std::vector<std::vector<std::filesystem::path>>& clips_;
  const RunContext& context_;
  std::vector<std::string>* notes_;
  std::size_t per_clip_;  // frames to examine in each
  Progress progress_;
  std::vector<FrameCandidate> batch_;
  std::vector<GrayImage> images_;  // of the batch, one a camera and frame
};

Footage SearchClips(const CalibrationConfig& plan,
                    const std::vector<std::vector<std::filesystem::path>>& clips,
                    const RunContext& context) {
  Footage out;
  if (plan.cameras.size() > 1) {
    out.notes.push_back(plan.match == ShotMatch::kTime
                            ? "frames of the cameras were paired by their time since the first "
                              "frame of each clip: the recordings must have started together"
                            : "frames of the cameras were paired by their number: the recordings "
                              "must be synchronised and complete");
  }
  ClipSearch search(plan, clips, context, &out.notes);
  search.SearchAll();
  std::vector<FrameCandidate>& candidates = search.candidates;
  if (candidates.empty())
    throw DataError(fmt::format("{}: no frame can be read", clips[0][0].string()));
  if (search.unpaired > 0)
    out.notes.push_back(
        fmt::format("{} frames have no partner at their time in another camera", search.unpaired));
  std::size_t with_board = 0;
  for (const FrameCandidate& c : candidates)
    with_board += std::any_of(c.shot.views.begin(), c.shot.views.end(),
                              [](const BoardView& v) { return !v.points.empty(); });
  std::vector<std::size_t> chosen = ChooseFrames(candidates, plan.board, plan.frames.most);
  // The frame that shows the struck surface is kept, whatever its rank.
  for (std::size_t k = 0; k < candidates.size(); ++k)
    if (candidates[k].shot.name == plan.world.shot &&
        std::find(chosen.begin(), chosen.end(), k) == chosen.end())
      chosen.insert(std::upper_bound(chosen.begin(), chosen.end(), k), k);
  out.notes.push_back(
      fmt::format("{} frames were searched, {} show the board, {} were kept: the sharpest, calmest "
                  "and most different",
                  search.seen, with_board, chosen.size()));
  for (const std::size_t k : chosen) out.shots.push_back(std::move(candidates[k].shot));
  return out;
}

}  // namespace

void ReadVideos(const RunContext& context, CalibrationRun* run) {
  const CalibrationConfig& plan = run->plan;
  std::vector<std::vector<std::filesystem::path>> clips;
  std::vector<std::string> cameras;
  for (const CameraSource& camera : plan.cameras) {
    cameras.push_back(camera.name);
    clips.push_back(FindFiles(camera.videos, plan.path.parent_path(), true,
                              fmt::format("{}: camera {}", plan.path.string(), camera.name)));
    run->files.insert(run->files.end(), clips.back().begin(), clips.back().end());
    if (clips.back().size() != clips[0].size()) {
      throw DataError(
          fmt::format("{}: camera {} has {} clips and camera {} {}; the clips of a rig belong "
                      "together in their order",
                      plan.path.string(), plan.cameras[0].name, clips[0].size(), camera.name,
                      clips.back().size()));
    }
  }
  Footage footage = StageResult<Footage>(
      context.cache, "footage", [&] { return SearchClips(plan, clips, context); }, plan.board,
      plan.detect, plan.match, plan.frames, plan.world.shot, cameras, clips,
      ContentOf(context.cache, run->files));
  std::move(footage.notes.begin(), footage.notes.end(), std::back_inserter(run->notes));
  std::move(footage.shots.begin(), footage.shots.end(), std::back_inserter(run->problem.shots));
}

}  // namespace impactlab::pipelines
