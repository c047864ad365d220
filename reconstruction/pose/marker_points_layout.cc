// The layout of markers in space, learned from all frames of all recordings, and what their noise
// does to a pose.

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "data/base/error.h"
#include "data/files/text.h"
#include "data/math/rotation.h"
#include "reconstruction/pose/marker_points.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;

constexpr int kMostPasses = 200;
constexpr double kSettled = 1e-10;  // largest move of a marker at which the passes end [m]

using MarkerPlaces = std::map<std::string, Vector3d>;

std::vector<NamedMarker> Listed(const MarkerPlaces& places, const std::vector<std::string>& order) {
  std::vector<NamedMarker> out;
  for (const std::string& name : order)
    if (const auto at = places.find(name); at != places.end()) out.push_back({name, at->second});
  return out;
}

// Brings the learned places to where the given ones hold the frame B.
void Anchor(const std::vector<NamedMarker>& given, MarkerPlaces* places) {
  std::vector<Vector3d> from, to;
  for (const NamedMarker& marker : given) {
    const auto at = places->find(marker.name);
    if (at == places->end()) continue;
    from.push_back(at->second);
    to.push_back(marker.p_BM);
  }
  const Eigen::Isometry3d back = AlignPoints(from, to, std::vector<double>(from.size(), 1.0)).X_WB;
  for (auto& [name, p] : *places) p = back * p;
}

struct Sum {
  Vector3d p = Vector3d::Zero();
  int n = 0;
};

}  // namespace

PointLayout LearnPointLayout(const std::vector<MarkerPoints>& recordings,
                             const std::vector<NamedMarker>& given,
                             const std::vector<std::string>& asked,
                             const PointPoseOptions& options) {
  PointLayout out;
  std::vector<std::string> order;
  MarkerPlaces places;
  for (const NamedMarker& marker : given) {
    order.push_back(marker.name);
    places[marker.name] = marker.p_BM;
  }
  for (const std::string& name : asked) {
    if (places.count(name) > 0)
      throw ConfigError(
          fmt::format("layout: marker {}: found it given and to be learned", Excerpt(name)));
    order.push_back(name);
  }
  const std::set<std::string> wanted(order.begin(), order.end());
  if (given.size() < 3) {
    out.reason =
        fmt::format("{} markers have a place, the frame of the body needs three", given.size());
    return out;
  }
  double sum_squares = 0;
  int dof = 0;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    std::map<std::string, Sum> sums;
    sum_squares = 0;
    dof = out.frames = 0;
    std::string why;
    for (const MarkerPoints& points : recordings) {
      const PointPoses poses = PosesFromPoints(points, Listed(places, order), options);
      if (!poses.usable) why = points.name + ": " + poses.reason;
      out.frames += static_cast<int>(poses.frames.size());
      sum_squares += poses.sum_squares;
      dof += poses.dof;
      for (std::size_t k = 0; k < poses.frames.size(); ++k) {
        const Eigen::Isometry3d X_BW = poses.poses.X_WB[k].inverse();
        for (std::size_t m = 0; m < points.markers.size(); ++m) {
          const auto& p_WM = points.p_WM[m][static_cast<std::size_t>(poses.frames[k])];
          if (!p_WM || wanted.count(points.markers[m]) == 0) continue;
          Sum& sum = sums[points.markers[m]];
          sum.p += X_BW * *p_WM;
          ++sum.n;
        }
      }
    }
    if (out.frames == 0) {
      out.reason = why.empty() ? "no recording" : why;
      return out;
    }
    MarkerPlaces next = places;
    for (const auto& [name, sum] : sums) next[name] = sum.p / sum.n;
    Anchor(given, &next);
    double moved = next.size() > places.size() ? 1 : 0;
    for (const auto& [name, p] : places) moved = std::max(moved, (next[name] - p).norm());
    places = std::move(next);
    if (moved < kSettled) break;
  }
  for (const std::string& name : asked)
    if (places.count(name) == 0) {
      out.reason = fmt::format("marker {} is in no frame that shows three markers with a place",
                               Excerpt(name));
      return out;
    }
  out.markers = Listed(places, order);
  const int learned = 3 * static_cast<int>(out.markers.size()) - 6;
  if (dof > learned) out.sd = std::sqrt(sum_squares / (dof - learned));
  out.usable = true;
  return out;
}

PoseNoise PoseNoiseOf(const std::vector<NamedMarker>& layout, double sd) {
  Eigen::Matrix<double, 6, 6> information = Eigen::Matrix<double, 6, 6>::Zero();
  for (const NamedMarker& marker : layout) {
    Eigen::Matrix<double, 3, 6> J;
    J << Eigen::Matrix3d::Identity(), -CrossMatrix(marker.p_BM);
    information += J.transpose() * J;
  }
  const Eigen::Matrix<double, 6, 6> cov = sd * sd * information.inverse();
  return {std::sqrt(cov.diagonal().head<3>().mean()), std::sqrt(cov.diagonal().tail<3>().mean())};
}

}  // namespace impactlab
