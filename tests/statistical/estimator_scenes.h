#pragma once
// Drops of Sun 2017's bodies before its rig, and how far off every estimator of the states
// beside the impact is. Shared by estimator_study and its sentinel.

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "data/base/core_seconds.h"
#include "data/statistics/statistics.h"
#include "pipelines/study/classical_comparison.h"
#include "reconstruction/bundle/impact_bundle.h"
#include "reconstruction/motion/classical.h"
#include "reconstruction/pose/track_poses.h"
#include "tests/reconstruction/drop_scene.h"

namespace impactlab::test {

enum class StudyBody { kRod, kBar, kBall };
inline constexpr std::array<const char*, 3> kStudyBodies = {"rod", "bar", "ball"};

inline double LowestPoint(const Body& body, const Flying& f) {
  if (body.shape == BodyShape::kBall) return f.p.z() - body.radius;
  return Heights(body, f)[0];
}

// A drop onto z = 0 whose slope tilts gravity: a rod of 304.8 mm, a bar of 306.5 mm, a ball of 120
// mm; released a quarter of a second before, in free flight for a twelfth of one after at least.
inline Drop DrawStudyDrop(StudyBody kind, double slope, std::mt19937_64& random) {
  constexpr double kBefore = 0.25, kAfter = 0.25, kLeastAfter = 0.092;
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto vector = [&] {
    const double x = uniform(random), y = uniform(random), z = uniform(random);
    return Vector3d(x, y, z);
  };
  Drop drop;
  const auto marker = [&](double x, double y, double z) {
    drop.markers.push_back({Vector3d(x, y, z), Vector3d::Zero(), 0});
  };
  if (kind == StudyBody::kRod) {
    drop.body = MakeRod(0.3048, 0.0047625, 0.169);
    marker(0, 0, -0.1244), marker(0, 0, 0.03), marker(0, 0, 0.1244);
  } else if (kind == StudyBody::kBar) {
    drop.body = MakeBox({0.3065, 0.0515, 0.0125}, 0.185);
    marker(-0.12, 0.015, 0.00625), marker(0.12, 0.018, 0.00625), marker(0.01, -0.02, 0.00625);
  } else {
    drop.body = MakeBall(0.06, 0.25);
    for (int i = 0; i < 6; ++i) {
      const double around = i * 2.399963, z = (i + 0.5) / 3 - 1, flat = std::sqrt(1 - z * z);
      marker(0.06 * flat * std::cos(around), 0.06 * flat * std::sin(around), 0.06 * z);
    }
  }
  drop.gravity = 9.80665 * Vector3d(std::sin(slope), 0, -std::cos(slope));
  while (true) {
    Flying& m = drop.minus;
    m = {};
    m.R = AnyRotation(random);
    m.v = 1.75 * drop.gravity.normalized() + Vector3d(0.25, 0.15, 0.15).cwiseProduct(vector());
    m.omega = 3 * vector();
    if (kind == StudyBody::kRod) m.omega -= m.R.col(2) * m.R.col(2).dot(m.omega);
    m.p = 0.04 * vector();
    drop.lever =
        kind == StudyBody::kBall ? Vector3d(0, 0, -drop.body.radius) : LowestLever(drop.body, m.R);
    m.p.z() = -drop.lever.z();
    const Vector3d u = m.v + m.omega.cross(drop.lever);
    if (u.z() > -0.3) continue;
    // Impulse along the normal with friction 0.25 against the slip, restitution 0.6.
    Vector3d direction(-u.x(), -u.y(), 0);
    direction *= 0.25 / std::max(1e-9, direction.norm());
    direction.z() = 1;
    const Matrix3d inverse_W = m.R * drop.body.inertia_B.inverse() * m.R.transpose();
    const double per_impulse =
        (direction / drop.body.mass + (inverse_W * drop.lever.cross(direction)).cross(drop.lever))
            .z();
    if (!(per_impulse > 0)) continue;
    const double J = -1.6 * u.z() / per_impulse;
    drop.plus = m;
    drop.plus.v += J * direction / drop.body.mass;
    drop.plus.omega += inverse_W * drop.lever.cross(J * direction);
    drop.t = 0.3 + 0.01 * uniform(random);
    Flying before = m, after = drop.plus;
    bool clean = true;
    for (double s = 2e-3; s < kBefore && clean; s += 2e-3) {
      before = Fly(before, drop.body.inertia_B, drop.gravity, -2e-3);
      clean = LowestPoint(drop.body, before) > 0;
    }
    if (!clean) continue;
    drop.begin = -kBefore;
    drop.end = 0;
    while (drop.end < kAfter) {
      after = Fly(after, drop.body.inertia_B, drop.gravity, 2e-3);
      if (LowestPoint(drop.body, after) <= 0) break;
      drop.end += 2e-3;
    }
    drop.end -= 2e-3;
    if (drop.end > kLeastAfter) return drop;
  }
}

inline bool InPicture(const Camera& camera, const Vector2d& q) {
  return q.x() >= 4 && q.y() >= 4 && q.x() <= camera.width - 5 && q.y() <= camera.height - 5;
}

// Whether all cameras see all markers for nine frames on either side of the impact, or as long as
// the flight lasts.
inline bool SeenAtTheImpact(const CameraRig& rig, const Drop& drop) {
  for (double s = -0.075; s < std::min(0.08, drop.end); s += 0.025) {
    const Flying f = drop.At(drop.t + s);
    for (const RigCamera& camera : rig.cameras) {
      for (const BodyMarker& marker : drop.markers) {
        const auto q = Project(camera.camera, camera.X_WC.inverse() * (f.p + f.R * marker.p_BM));
        if (!q || !InPicture(camera.camera, *q)) return false;
      }
    }
  }
  return true;
}

// What a camera does not see is not in the tracks.
inline void KeepVisible(const CameraRig& rig, MarkerTracks* tracks) {
  std::erase_if(tracks->points,
                [&](const TrackPoint& p) { return !InPicture(rig.cameras[p.camera].camera, p.q); });
}

inline constexpr std::array<const char*, 4> kStudyQuantities = {"v_minus", "omega_minus", "v_plus",
                                                                "omega_plus"};

// Errors of one estimator over many drops. Bias: mean error along gravity for a velocity, along the
// true spin for a spin. Rms: of one component; sd: what is left of it without the bias. Cover:
// share of the components' 95 % intervals that hold the truth.
struct ErrorSum {
  double along = 0, squares = 0;
  int n = 0, components = 0, covered = 0;

  void Add(const Vector3d& error, const Matrix3d& cov, const Vector3d& direction,
           const Matrix3d& seen) {
    const Vector3d e = seen * error;
    const Matrix3d C = seen * cov * seen.transpose();
    along += e.dot(direction);
    squares += e.squaredNorm();
    ++n;
    components += static_cast<int>(std::lround(seen.trace()));
    // In the two or three directions that are seen.
    const Eigen::SelfAdjointEigenSolver<Matrix3d> eigen(seen);
    for (int i = 0; i < 3; ++i) {
      if (eigen.eigenvalues()[i] < 0.5) continue;
      const Vector3d d = eigen.eigenvectors().col(i);
      covered += std::abs(d.dot(e)) <= kNormal95 * std::sqrt(d.dot(C * d));
    }
  }
  void operator+=(const ErrorSum& o) {
    along += o.along, squares += o.squares, n += o.n, components += o.components,
        covered += o.covered;
  }
  double bias() const { return along / std::max(1, n); }
  double rms() const { return std::sqrt(squares / std::max(1, components)); }
  double sd() const {
    return std::sqrt(std::max(
        0.0, squares / std::max(1, components) - bias() * bias() * n / std::max(1, components)));
  }
  double cover() const { return static_cast<double>(covered) / std::max(1, components); }
};

struct EstimatorScore {
  std::array<ErrorSum, 4> quantities;
  double seconds = 0;  // of one core
  int drops = 0, failed = 0;
  void operator+=(const EstimatorScore& o) {
    for (std::size_t i = 0; i < 4; ++i) quantities[i] += o.quantities[i];
    seconds += o.seconds, drops += o.drops, failed += o.failed;
  }
};

// One drop by every estimator. The classical ones are told the true time of the impact; the bundle
// fit finds it. Names: "bundle fit" and the titles of ClassicalMethods.
inline std::map<std::string, EstimatorScore> ScoreEstimators(StudyBody kind, double slope,
                                                             std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  const CameraRig rig = DropRig(2);
  Drop drop = DrawStudyDrop(kind, slope, random);
  while (!SeenAtTheImpact(rig, drop)) drop = DrawStudyDrop(kind, slope, random);
  Filming filming;
  filming.rate = 120;
  filming.late = {0, uniform(random) / filming.rate, 0, 0};
  MarkerTracks tracks = Film(drop, rig, filming, random);
  KeepVisible(rig, &tracks);

  const Vector3d axis = drop.minus.R.col(2);
  const Matrix3d all = Matrix3d::Identity(),
                 seen = kind == StudyBody::kRod ? Matrix3d(all - axis * axis.transpose()) : all;
  const Vector3d down = drop.gravity.normalized();
  const auto add = [&](EstimatorScore* score, const std::array<Vector3d, 4>& found,
                       const std::array<Matrix3d, 4>& cov) {
    const std::array<Vector3d, 4> truth = {drop.minus.v, drop.minus.omega, drop.plus.v,
                                           drop.plus.omega};
    for (std::size_t i = 0; i < 4; ++i) {
      const bool spin = i % 2 == 1;
      score->quantities[i].Add(found[i] - truth[i], cov[i],
                               spin ? Vector3d((seen * truth[i]).normalized()) : down,
                               spin ? seen : all);
    }
  };
  std::map<std::string, EstimatorScore> scores;
  {
    EstimatorScore& score = scores["bundle fit"];
    ImpactBundleOptions options;
    options.motion.flight.gravity_W = drop.gravity;
    const double start = CoreSeconds();
    const ImpactBundle fit = FitImpactBundle(tracks, rig, drop.markers, drop.body, {}, options);
    score.seconds = CoreSeconds() - start;
    score.drops = 1;
    score.failed = fit.usable ? 0 : 1;
    if (fit.usable) {
      const ImpactEvent& e = fit.event;
      add(&score, {e.v_minus, e.omega_minus, e.v_plus, e.omega_plus},
          {Matrix3d(e.cov.block<3, 3>(kVMinus, kVMinus)),
           Matrix3d(e.cov.block<3, 3>(kOmegaMinus, kOmegaMinus)),
           Matrix3d(e.cov.block<3, 3>(kVPlus, kVPlus)),
           Matrix3d(e.cov.block<3, 3>(kOmegaPlus, kOmegaPlus))});
    }
  }
  TrackPosesOptions pose_options;
  pose_options.impacts = {drop.t};
  const double start = CoreSeconds();
  const TrackPoses poses = PosesFromTracks(tracks, rig, drop.markers, pose_options);
  const MeasuredPoses measured = Measured(poses, tracks, rig);
  const double poses_seconds = CoreSeconds() - start;
  for (const ClassicalMethod& method : ClassicalMethods()) {
    EstimatorScore& score = scores[method.title];
    ClassicalOptions options = method.options;
    options.gravity_W = drop.gravity;
    const double begin = CoreSeconds();
    const ClassicalEstimate e = EstimateClassical(measured, drop.t, options);
    score.seconds = poses_seconds + CoreSeconds() - begin;
    score.drops = 1;
    score.failed = e.usable ? 0 : 1;
    if (!e.usable) continue;
    add(&score, {e.minus.v, e.minus.omega, e.plus.v, e.plus.omega},
        {Matrix3d(e.minus.cov.topLeftCorner<3, 3>()),
         Matrix3d(e.minus.cov.bottomRightCorner<3, 3>()),
         Matrix3d(e.plus.cov.topLeftCorner<3, 3>()),
         Matrix3d(e.plus.cov.bottomRightCorner<3, 3>())});
  }
  return scores;
}

// Drop k of a study: bodies in turn, slopes of 0 to 70 degrees.
inline std::map<std::string, EstimatorScore> ScoreStudyDrop(int k, std::uint64_t seed,
                                                            StudyBody* kind = nullptr) {
  const auto body = static_cast<StudyBody>(k % 3);
  if (kind) *kind = body;
  const double slope = (k / 3 % 8) * 10 * M_PI / 180;
  return ScoreEstimators(body, slope, seed + 7919 * static_cast<std::uint64_t>(k));
}

}  // namespace impactlab::test
