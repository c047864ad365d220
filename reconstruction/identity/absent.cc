#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <optional>

#include "reconstruction/identity/complete.h"
#include "reconstruction/identity/detail/poses.h"

namespace impactlab {
namespace {

using namespace reconstruction;
using Eigen::Matrix2d;
using Eigen::Vector2d;
using Eigen::Vector3d;

class Absence {
 public:
  Absence(const MarkerTracks& tracks, const CameraRig& rig, const std::vector<Vector3d>& layout,
          const std::function<double(int, long long, double)>& time, const CompletionOptions& o)
      : tracks_(tracks), rig_(rig), time_(time), o_(o), poses_(tracks, rig, layout, o) {
    for (int c = 0; c < poses_.cameras(); ++c) {
      for (int l = 0; l < poses_.labels(); ++l) {
        for (const auto& [frame, p] : poses_.Named(c, l)) poses_.Learn(p.t);
      }
    }
  }

  void Find(int camera, const std::vector<long long>& frames,
            std::vector<AbsentMarker>* out) const {
    const Camera* lens = nullptr;
    for (const RigCamera& one : rig_.cameras) {
      if (one.name == tracks_.cameras[static_cast<std::size_t>(camera)]) lens = &one.camera;
    }
    if (lens == nullptr) return;
    for (const long long frame : frames) {
      for (int l = 0; l < poses_.labels(); ++l) {
        if (poses_.Named(camera, l).contains(frame)) continue;
        AbsentMarker absent{.camera = camera, .marker = l, .frame = frame};
        absent.major = poses_.SizeOf(camera, l, frame);
        if (absent.major <= 0 || !Place(&absent)) continue;
        const double rim = 0.5 * absent.major;
        if (absent.q.x() < rim || absent.q.y() < rim || absent.q.x() > lens->width - 1 - rim ||
            absent.q.y() > lens->height - 1 - rim)
          continue;
        if (!Covered(absent)) out->push_back(absent);
      }
    }
  }

 private:
  // The place at the time of its own row; false where it is not known.
  bool Place(AbsentMarker* absent) const {
    double y = 0.5 * rig_.cameras.front().camera.height;
    for (int round = 0; round < 2; ++round) {
      const double t = time_(absent->camera, absent->frame, y);
      if (!std::isfinite(t)) return false;
      const auto now = At(*absent, t, &absent->cov);
      if (!now || absent->cov.trace() > 2 * o_.widest * o_.widest) return false;
      absent->q = *now;
      y = now->y();
      if (round == 0) continue;
      constexpr double kStep = 2e-3;  // [s]
      Matrix2d cov;
      const auto before = At(*absent, t - kStep, &cov), after = At(*absent, t + kStep, &cov);
      if (before && after) absent->v = (*after - *before) / (2 * kStep);
    }
    return true;
  }

  std::optional<Vector2d> At(const AbsentMarker& absent, double t, Matrix2d* cov) const {
    const auto expected = poses_.Expected(t);
    if (!expected) return std::nullopt;
    const auto pose = poses_.Fit(*expected, poses_.ImagesAt(t));
    if (!pose || pose->fit > 2 * kMostMiss) return std::nullopt;
    Eigen::Matrix<double, 2, 6> J;
    auto q = poses_.PredictImage(*pose, absent.camera, absent.marker, &J);
    if (q) *cov = J * pose->cov * J.transpose() + o_.pixel_sd * o_.pixel_sd * Matrix2d::Identity();
    return q;
  }

  // Whether another marker's image lies there.
  bool Covered(const AbsentMarker& absent) const {
    for (int l = 0; l < poses_.labels(); ++l) {
      const auto& points = poses_.Named(absent.camera, l);
      const auto at = points.find(absent.frame);
      if (at != points.end() && (at->second.q - absent.q).norm() < at->second.major + absent.major)
        return true;
    }
    return false;
  }

  const MarkerTracks& tracks_;
  const CameraRig& rig_;
  const std::function<double(int, long long, double)>& time_;
  const CompletionOptions& o_;
  BodyPoses poses_;
};

}  // namespace

std::vector<AbsentMarker> FindAbsent(
    const MarkerTracks& tracks, const CameraRig& rig, const std::vector<Vector3d>& layout,
    const std::vector<std::vector<long long>>& frames,
    const std::function<double(int camera, long long frame, double y)>& time,
    const CompletionOptions& options) {
  std::vector<AbsentMarker> out;
  if (layout.size() < 2) return out;
  const Absence absence(tracks, rig, layout, time, options);
  for (std::size_t c = 0; c < frames.size(); ++c)
    absence.Find(static_cast<int>(c), frames[c], &out);
  return out;
}

}  // namespace impactlab
