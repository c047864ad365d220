#include "reconstruction/pose/triangulate.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "data/base/error.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;
using Views = std::vector<std::size_t>;  // indices of observations, ascending

// by which a set of views must explain its images better than the next of its size [chi-square]
constexpr double kTriangulationVote = 8;
// above it at most two views are rejected as an outlier: more sets would cost too much
constexpr std::size_t kManyViews = 8;
constexpr double kToldFromInfinity = 3;  // standard deviations of the inverse depth

void CheckTriangulation(const CameraRig& rig, const std::vector<PixelObservation>& observations,
                        const PlaceOptions& o) {
  std::set<int> cameras;
  for (const PixelObservation& seen : observations) {
    if (seen.camera < 0 || seen.camera >= static_cast<int>(rig.cameras.size()))
      throw ConfigError(fmt::format(
          "placing a point: found camera {}, allowed: the {} of the rig, counted from 0",
          seen.camera, rig.cameras.size()));
    if (!cameras.insert(seen.camera).second)
      throw ConfigError(
          fmt::format("placing a point: found {} twice, allowed: one image of a point in a camera",
                      rig.cameras[seen.camera].name));
  }
  if (!(o.max_relative_sd > 0) || !(o.min_baseline >= 0) ||
      !(o.misfit_probability >= 0 && o.misfit_probability < 1))
    throw ConfigError(
        fmt::format("placing a point: found max_relative_sd {}, min_baseline {} m, "
                    "misfit_probability {}, allowed: above 0, 0 or "
                    "more, from 0 to below 1",
                    o.max_relative_sd, o.min_baseline, o.misfit_probability));
}

// Why an image is no view at all; empty for a good one.
std::string BadImage(const Camera& camera, const PixelObservation& seen) {
  if (!seen.q.allFinite()) return "the image point is not a number";
  if (!seen.cov.allFinite() || seen.cov.llt().info() != Eigen::Success ||
      !(seen.cov.determinant() > 0))
    return "the covariance of the image point is not positive definite";
  if (!Unproject(camera, seen.q)) return "outside the region in which the lens is known";
  return "";
}

class Placing {
 public:
  Placing(const CameraRig& rig, const std::vector<PixelObservation>& observations,
          const PlaceOptions& options)
      : observations_(observations), options_(options) {
    if (!options.rig_covariance && rig.covariance.size() > 0) {
      bare_.cameras = rig.cameras;
      rig_ = &bare_;
    } else {
      rig_ = &rig;
    }
  }

  PlacedPoint Run() {
    out_.views.resize(observations_.size());
    Views good;
    for (std::size_t i = 0; i < observations_.size(); ++i) {
      out_.views[i].reason = BadImage(CameraOf(i).camera, observations_[i]);
      if (out_.views[i].reason.empty()) good.push_back(i);
    }
    if (good.size() < 2) {
      std::string why;
      for (std::size_t i = 0; i < observations_.size(); ++i) {
        if (!out_.views[i].reason.empty())
          why += fmt::format("; {}: {}", CameraOf(i).name, out_.views[i].reason);
      }
      return Refuse(PlaceFault::kTooFewViews,
                    fmt::format("{} camera{} a usable image, a point needs two{}", good.size(),
                                good.size() == 1 ? " has" : "s have", why));
    }
    Views used = good;
    out_.point = Solve(used);
    if (good.size() > 2 && !Agrees(out_.point)) {
      const std::optional<Views> voted = Vote(good);
      if (voted) {
        used = *voted;
        out_.point = Solve(used);
      }
    }
    for (std::size_t i : good) {
      out_.views[i].used = std::binary_search(used.begin(), used.end(), i);
      if (!out_.views[i].used)
        out_.views[i].reason = "voted out: the other views agree on one point without it";
    }
    Measure(used);
    return Judge(used);
  }

 private:
  const RigCamera& CameraOf(std::size_t i) const { return rig_->cameras[observations_[i].camera]; }

  TriangulatedPoint Solve(const Views& views) const {
    std::vector<PixelObservation> seen;
    for (std::size_t i : views) seen.push_back(observations_[i]);
    return Triangulate(*rig_, seen, {options_.max_relative_sd, options_.derivatives});
  }

  bool Consistent(const TriangulatedPoint& point) const {
    return options_.misfit_probability == 0 || point.dof < 1 ||
           point.consistency <= ChiSquareQuantile(1 - options_.misfit_probability, point.dof);
  }
  bool Agrees(const TriangulatedPoint& point) const { return point.usable && Consistent(point); }

  // The largest set of views, more than half and at least two, that one point explains; nothing
  // where there is none or two are as good.
  std::optional<Views> Vote(const Views& good) const {
    if (options_.misfit_probability == 0) return std::nullopt;
    const std::size_t n = good.size(), least = std::max<std::size_t>(2, n / 2 + 1);
    const std::size_t most_out = n > kManyViews ? 2 : n - least;
    for (std::size_t out = 1; out <= std::min(most_out, n - least); ++out) {
      double best = std::numeric_limits<double>::infinity(), second = best;
      Views winner;
      std::vector<char> leave(n, 0);
      std::fill(leave.end() - static_cast<std::ptrdiff_t>(out), leave.end(), 1);
      do {
        Views views;
        for (std::size_t i = 0; i < n; ++i) {
          if (leave[i] == 0) views.push_back(good[i]);
        }
        const TriangulatedPoint point = Solve(views);
        // A set that meets badly is no rival; one that meets nowhere is none either.
        if (!point.usable) continue;
        if (point.consistency < best) {
          second = best;
          best = point.consistency;
          winner = Consistent(point) ? views : Views();
        } else {
          second = std::min(second, point.consistency);
        }
      } while (std::next_permutation(leave.begin(), leave.end()));
      if (winner.empty()) continue;
      if (second - best > kTriangulationVote) return winner;
      return std::nullopt;
    }
    return std::nullopt;
  }

  void Measure(const Views& used) {
    for (std::size_t a : used) {
      for (std::size_t b : used) {
        if (b <= a) continue;
        const Vector3d d_a =
            CameraOf(a).X_WC.linear() * *Unproject(CameraOf(a).camera, observations_[a].q);
        const Vector3d d_b =
            CameraOf(b).X_WC.linear() * *Unproject(CameraOf(b).camera, observations_[b].q);
        out_.angle =
            std::max(out_.angle, std::atan2(d_a.cross(d_b).norm(), std::abs(d_a.dot(d_b))));
        out_.baseline =
            std::max(out_.baseline,
                     (CameraOf(a).X_WC.translation() - CameraOf(b).X_WC.translation()).norm());
      }
    }
    if (!out_.point.usable) return;
    for (std::size_t i = 0; i < observations_.size(); ++i) {
      const auto q = Project(CameraOf(i).camera, CameraOf(i).X_WC.inverse() * out_.point.p_W);
      if (!q || !observations_[i].q.allFinite()) continue;
      PlacedView& view = out_.views[i];
      view.r = *q - observations_[i].q;
      if (view.used || BadImage(CameraOf(i).camera, observations_[i]).empty())
        view.distance = std::sqrt(view.r.dot(observations_[i].cov.llt().solve(view.r)));
    }
  }

  PlacedPoint Judge(const Views& used) {
    std::string names;
    for (std::size_t i : used) names += (names.empty() ? "" : ", ") + CameraOf(i).name;
    const TriangulatedPoint& point = out_.point;
    if (out_.baseline < options_.min_baseline)
      return Refuse(PlaceFault::kNoBaseline,
                    fmt::format("{} are at one place: {:.3g} m apart, allowed {:.3g} m or more",
                                names, out_.baseline, options_.min_baseline));
    if (!Consistent(point)) {
      return Refuse(
          PlaceFault::kNotOnePoint,
          fmt::format(
              "the images in {} are not of one point: chi-square {:.1f} of {} dof, allowed {:.1f}",
              names, point.consistency, point.dof,
              ChiSquareQuantile(1 - options_.misfit_probability, point.dof)));
    }
    if (point.usable) {
      out_.usable = true;
      return std::move(out_);
    }
    const double rho = point.inverse_depth, sd = point.sd_inverse_depth;
    if (!std::isfinite(sd) || std::abs(rho) <= kToldFromInfinity * sd)
      return Refuse(PlaceFault::kParallelRays, point.reason);
    if (rho < 0) return Refuse(PlaceFault::kBehindCamera, point.reason);
    if (sd > options_.max_relative_sd * rho)
      return Refuse(PlaceFault::kDepthUndetermined, point.reason);
    return Refuse(PlaceFault::kBehindCamera, point.reason);
  }

  PlacedPoint Refuse(PlaceFault fault, const std::string& reason) {
    out_.fault = fault;
    out_.reason = out_.point.reason = reason;
    out_.point.usable = false;
    return std::move(out_);
  }

  CameraRig bare_;
  const CameraRig* rig_ = nullptr;
  const std::vector<PixelObservation>& observations_;
  const PlaceOptions& options_;
  PlacedPoint out_;
};

}  // namespace

PlacedPoint PlacePoint(const CameraRig& rig, const std::vector<PixelObservation>& observations,
                       const PlaceOptions& options) {
  CheckTriangulation(rig, observations, options);
  return Placing(rig, observations, options).Run();
}

}  // namespace impactlab
