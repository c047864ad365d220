#pragma once
// Marked bodies in flight and impact in front of a rig, and what a tracker that loses and exchanges
// names would make of them. The motion is plain: parabolas and constant spin with a jump in
// between.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "calibration/camera/rig.h"
#include "reconstruction/identity/identity.h"
#include "tests/support/rig_twin.h"
#include "tracking/track/tracks.h"

namespace impactlab::test {

enum class MarkedBody { kRod, kBar, kBall, kBox };

struct IdentitySceneOptions {
  MarkedBody body = MarkedBody::kRod;
  int cameras = 2;
  double angle = 75 * std::numbers::pi / 180;  // between the cameras
  double frame_rate = 240;                     // [1/s]
  double duration = 0.6;                       // [s]
  double pixel_sd = 0.15;                      // [px]
  // second camera, in frames: exposed later, time stamps say so
  double late = 0;
  double late_unknown = 0;         // the same, time stamps do not
  bool shuffled = true;            // names of every camera in an order of its own
  int swaps = 3;                   // in each camera, at any moment
  double swap_in_encounter = 0.5;  // chance of an exchange where two images come near
  int occlusions = 3;              // in each camera, of one marker for 2 to 12 frames
  int clutter = 0;                 // standing spots in each camera
  // a similar one that crosses, spacing `second_scale` times as large
  bool second_body = false;
  double second_scale = 1.08;
  double layout_error = 2e-4;  // standard deviation of a coordinate of the layout as given [m]
  double rig_error = 1;        // times 2e-4 rad and 0.2 mm, each axis
  bool rig_covariance = true;
  bool predictions = true;  // gaps carry predicted points
  bool impact_flags = true;
};

struct IdentityScene {
  MarkerTracks tracks;
  std::vector<int> truth;  // marker of every point; -1 for what belongs to none
  CameraRig rig;           // as calibrated
  std::vector<Eigen::Vector3d> layout;
  double impact_time = 0;
};

struct SceneBody {
  std::vector<Eigen::Vector3d> p, normal;  // a normal of 0 is seen from everywhere
};

inline SceneBody MakeMarkedBody(MarkedBody kind, std::mt19937_64& random) {
  std::uniform_real_distribution<double> unit(-1, 1);
  SceneBody body;
  const auto add = [&](const Eigen::Vector3d& p, const Eigen::Vector3d& n) {
    body.p.push_back(p);
    body.normal.push_back(n);
  };
  const Eigen::Vector3d none = Eigen::Vector3d::Zero();
  if (kind == MarkedBody::kRod) {
    const double length = 0.16 + 0.06 * unit(random);
    for (double s : {0.0, 2.5 / 3.5, 1.0}) add({(s - 0.5) * length, 0, 0}, none);
  } else if (kind == MarkedBody::kBar) {
    const double s = 1 + 0.2 * unit(random);
    for (const auto& [x, z] :
         {std::pair{-0.09, -0.01}, {-0.05, 0.012}, {0.02, -0.012}, {0.055, 0.01}, {0.095, -0.004}})
      add({s * x, 0, s * z}, none);
  } else if (kind == MarkedBody::kBall) {
    const double radius = 0.05;
    for (int tries = 0; body.p.size() < 12 && tries < 100000; ++tries) {
      const Eigen::Vector3d n =
          Eigen::Vector3d(unit(random), unit(random), unit(random)).normalized();
      const bool apart = std::all_of(body.normal.begin(), body.normal.end(),
                                     [&](const auto& other) { return (n - other).norm() > 0.6; });
      if (apart) add(radius * n, n);
    }
  } else {
    const Eigen::Vector3d half(0.06, 0.045, 0.035);
    for (int axis = 0; axis < 3; ++axis) {
      for (double side : {-1.0, 1.0}) {
        Eigen::Vector3d n = Eigen::Vector3d::Zero();
        n[axis] = side;
        std::vector<Eigen::Vector3d> own;
        while (own.size() < 3) {
          Eigen::Vector3d p(unit(random) * half.x(), unit(random) * half.y(),
                            unit(random) * half.z());
          p *= 0.85;
          p[axis] = side * half[axis];
          const auto far = [&](const auto& o) { return (o - p).norm() > 0.016; };
          if (std::all_of(own.begin(), own.end(), far) &&
              std::all_of(body.p.begin(), body.p.end(), far))
            own.push_back(p);
        }
        for (const auto& p : own) add(p, n);
      }
    }
  }
  return body;
}

struct SceneMotion {
  double t_impact = 0;
  Eigen::Vector3d p, v_minus, v_plus, omega_minus, omega_plus;  // p at the impact
  Eigen::Matrix3d R;
  double frame_rate = 240;
  Eigen::Isometry3d At(double t) const {
    const double s = t - t_impact;
    const Eigen::Vector3d &v = s < 0 ? v_minus : v_plus, &omega = s < 0 ? omega_minus : omega_plus;
    Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
    X.translation() = p + v * s + 0.5 * s * s * Eigen::Vector3d(0, 0, -9.81);
    X.linear() = Eigen::AngleAxisd(omega.norm() * s, omega.normalized()).toRotationMatrix() * R;
    return X;
  }
};

inline SceneMotion MakeSceneMotion(double duration, std::mt19937_64& random) {
  std::uniform_real_distribution<double> unit(-1, 1);
  const auto vector = [&] { return Eigen::Vector3d(unit(random), unit(random), unit(random)); };
  SceneMotion m;
  m.t_impact = duration * (0.5 + 0.1 * unit(random));
  m.p = Eigen::Vector3d(0.1 * unit(random), 0.05 * unit(random), -0.25);
  m.v_minus = Eigen::Vector3d(0.5 * unit(random), 0.3 * unit(random), -9.81 * m.t_impact * 0.85);
  m.v_plus = Eigen::Vector3d(0.5 * unit(random), 0.3 * unit(random), 1.6 + 0.5 * unit(random));
  m.omega_minus = 6 * vector();
  m.omega_plus = 20 * vector();
  m.R = Eigen::Quaterniond(unit(random), unit(random), unit(random), unit(random))
            .normalized()
            .toRotationMatrix();
  return m;
}

// Cameras on a circle of 1.2 m about the origin, z up, looking at it.
inline CameraRig RigAround(int cameras, double angle) {
  CameraRig rig;
  for (int c = 0; c < cameras; ++c) {
    const double a = (c - 0.5 * (cameras - 1)) * angle;
    const Eigen::Vector3d p(1.2 * std::sin(a), -1.2 * std::cos(a), 0.15 + 0.05 * c),
        forward = -p.normalized();
    const Eigen::Vector3d right = forward.cross(Eigen::Vector3d::UnitZ()).normalized();
    RigCamera camera;
    camera.name = "camera" + std::to_string(c);
    camera.camera = MakePinhole(1280, 960, 1150 + 20 * c);
    camera.X_WC.linear() << right, forward.cross(right), forward;
    camera.X_WC.translation() = p;
    rig.cameras.push_back(camera);
  }
  return rig;
}

inline IdentityScene MakeIdentityScene(const IdentitySceneOptions& o, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> unit(-1, 1), share(0, 1);
  const auto pick = [&](int n) {
    return static_cast<int>(std::uniform_int_distribution<int>(0, n - 1)(random));
  };
  IdentityScene scene;
  const SceneBody body = MakeMarkedBody(o.body, random);
  SceneMotion motion = MakeSceneMotion(o.duration, random),
              other = MakeSceneMotion(o.duration, random);
  other.p = motion.p + Eigen::Vector3d(0.03, 0.03, 0.02);  // the two meet
  other.v_minus.x() = -motion.v_minus.x() - 0.3;
  scene.impact_time = motion.t_impact;
  const CameraRig truth = RigAround(o.cameras, o.angle);
  scene.rig = truth;
  scene.rig.covariance = Eigen::MatrixXd::Zero(ParameterCount(truth), ParameterCount(truth));
  for (int c = 0; c < o.cameras; ++c) {
    const int at = FirstParameter(truth, c) + IntrinsicCount(truth.cameras[c].camera.model);
    if (c == 0) continue;
    const Eigen::Vector3d r =
        2e-4 * o.rig_error * Eigen::Vector3d(normal(random), normal(random), normal(random));
    if (r.norm() > 0)
      scene.rig.cameras[c].X_WC.linear() *=
          Eigen::AngleAxisd(r.norm(), r.normalized()).toRotationMatrix();
    scene.rig.cameras[c].X_WC.translation() +=
        2e-4 * o.rig_error * Eigen::Vector3d(normal(random), normal(random), normal(random));
    for (int k = 0; k < 6; ++k)
      scene.rig.covariance(at + k, at + k) = std::pow(2e-4 * o.rig_error, 2);
  }
  if (!o.rig_covariance) scene.rig.covariance.resize(0, 0);
  const int own = static_cast<int>(body.p.size()), things = own + (o.second_body ? own : 0);
  for (const Eigen::Vector3d& p : body.p) {
    scene.layout.push_back(p + o.layout_error *
                                   Eigen::Vector3d(normal(random), normal(random), normal(random)));
  }
  const int names = things + o.clutter;
  for (int i = 0; i < names; ++i) {
    scene.tracks.markers.push_back(i < own ? "m" + std::to_string(i + 1)
                                           : "x" + std::to_string(i - own + 1));
  }
  const int frames = static_cast<int>(o.duration * o.frame_rate);
  for (int c = 0; c < o.cameras; ++c) {
    const RigCamera& camera = truth.cameras[c];
    scene.tracks.cameras.push_back(camera.name);
    std::vector<int> name(static_cast<std::size_t>(names));
    std::iota(name.begin(), name.end(), 0);
    // Names of the body's own markers only, or a tracker's choice among all there are.
    if (o.shuffled) std::shuffle(name.begin(), name.end(), random);
    std::vector<Eigen::Vector2d> spots;
    for (int k = 0; k < o.clutter; ++k)
      spots.emplace_back(640 + 250 * unit(random), 480 + 250 * unit(random));
    std::multimap<int, int> hidden;  // frame, thing
    for (int k = 0; k < o.occlusions; ++k) {
      const int thing = pick(things), first = pick(frames), n = 2 + pick(11);
      for (int f = first; f < first + n; ++f) hidden.emplace(f, thing);
    }
    std::set<int> swaps;
    for (int k = 0; k < o.swaps; ++k) swaps.insert(pick(frames));
    struct Last {
      int frame = -1000;
      Eigen::Vector2d q, v = Eigen::Vector2d::Zero();
      double t = 0;
    };
    std::vector<Last> last(static_cast<std::size_t>(names));  // of a name
    std::vector<char> was_seen(static_cast<std::size_t>(names), 0),
        was_near(static_cast<std::size_t>(names), 0);
    for (int f = 0; f < frames; ++f) {
      const double stamp = (f + (c == 1 ? o.late : 0.13 * c * (o.late != 0))) / o.frame_rate;
      const double t = stamp + (c == 1 ? o.late_unknown / o.frame_rate : 0);
      std::vector<std::pair<int, Eigen::Vector2d>> seen;
      for (int i = 0; i < things; ++i) {
        const int k = i % own;
        const Eigen::Isometry3d X = (i < own ? motion : other).At(t);
        const Eigen::Vector3d p = X * ((i < own ? 1 : o.second_scale) * body.p[k]),
                              n = X.linear() * body.normal[k];
        if (body.normal[k].norm() > 0 && n.dot((camera.X_WC.translation() - p).normalized()) < 0.25)
          continue;
        const auto range = hidden.equal_range(f);
        if (std::any_of(range.first, range.second, [&](const auto& h) { return h.second == i; }))
          continue;
        const auto q = Project(camera.camera, camera.X_WC.inverse() * p);
        if (!q || q->x() < 2 || q->y() < 2 || q->x() > 1277 || q->y() > 957) continue;
        seen.emplace_back(i, *q + o.pixel_sd * Eigen::Vector2d(normal(random), normal(random)));
      }
      for (int k = 0; k < o.clutter; ++k) {
        if ((f / 40 + k) % 4 != 3)
          seen.emplace_back(
              things + k, spots[k] + o.pixel_sd * Eigen::Vector2d(normal(random), normal(random)));
      }
      std::vector<char> near(static_cast<std::size_t>(names), 0), is_seen(near);
      for (const auto& [i, q] : seen) is_seen[i] = 1;
      for (std::size_t a = 0; a < seen.size(); ++a) {
        for (std::size_t b = a + 1; b < seen.size(); ++b) {
          const double d = (seen[a].second - seen[b].second).norm();
          if (d < 10 && !(near[seen[a].first] && near[seen[b].first]) &&
              !(was_near[seen[a].first] && was_near[seen[b].first]) &&
              share(random) < o.swap_in_encounter) {
            std::swap(name[seen[a].first], name[seen[b].first]);
          }
          if (d < 10) near[seen[a].first] = near[seen[b].first] = 1;
        }
      }
      // A marker that comes back may be taken for anything that is not followed.
      for (const auto& [i, q] : seen) {
        if (was_seen[i] || share(random) < 0.5 || f == 0) continue;
        std::vector<int> free;
        for (int j = 0; j < names; ++j) {
          if (!is_seen[j]) free.push_back(j);
        }
        if (!free.empty()) std::swap(name[i], name[free[pick(static_cast<int>(free.size()))]]);
      }
      if (swaps.count(f) && seen.size() >= 2) {
        const int a = pick(static_cast<int>(seen.size())), b = pick(static_cast<int>(seen.size()));
        std::swap(name[seen[a].first], name[seen[b].first]);
      }
      was_seen = is_seen;
      was_near = near;
      for (const auto& [i, q] : seen) {
        TrackPoint point;
        point.camera = c;
        point.marker = name[i];
        point.frame = f;
        point.t = stamp;
        point.q = q;
        point.cov = o.pixel_sd * o.pixel_sd * Eigen::Matrix2d::Identity();
        Last& l = last[name[i]];
        if (o.predictions && f - l.frame > 1 && f - l.frame < 12) {
          for (int g = l.frame + 1; g < f; ++g) {
            TrackPoint predicted = point;
            predicted.frame = g;
            predicted.t = l.t + (g - l.frame) / o.frame_rate;
            predicted.q = l.q + (g - l.frame) / o.frame_rate * l.v;
            predicted.flags = kPredicted;
            scene.tracks.points.push_back(predicted);
          }
        }
        if (o.impact_flags && std::abs(t - motion.t_impact) < 0.6 / o.frame_rate)
          point.flags |= kImpact;
        l.v =
            f - l.frame == 1 ? Eigen::Vector2d((q - l.q) * o.frame_rate) : Eigen::Vector2d::Zero();
        l.frame = f;
        l.t = stamp;
        l.q = q;
        scene.tracks.points.push_back(point);
      }
      // The truth goes by position: no two points of a frame are at the same place.
      for (const auto& [i, q] : seen) scene.truth.push_back(i < own ? i : -1);
    }
  }
  // In step with the sorted points.
  std::map<std::tuple<int, long long, double>, int> by_place;
  std::size_t k = 0;
  for (const TrackPoint& p : scene.tracks.points) {
    if (!(p.flags & kPredicted)) by_place[{p.camera, p.frame, p.q.x()}] = scene.truth[k++];
  }
  Sort(&scene.tracks);
  scene.truth.clear();
  for (const TrackPoint& p : scene.tracks.points) {
    scene.truth.push_back(p.flags & kPredicted ? -2 : by_place.at({p.camera, p.frame, p.q.x()}));
  }
  return scene;
}

// Recording `k` of the study: everything at random, the bodies in turn.
inline IdentityScene MakeStudyScene(int k) {
  std::mt19937_64 random(static_cast<std::uint64_t>(7 * k + 1));
  std::uniform_real_distribution<double> unit(0, 1);
  IdentitySceneOptions o;
  o.body = static_cast<MarkedBody>(k % 4);
  o.angle = (60 + 30 * unit(random)) * std::numbers::pi / 180;
  o.pixel_sd = 0.05 + 0.25 * unit(random);
  o.frame_rate = unit(random) < 0.5 ? 120 : 240;
  o.late = unit(random) < 0.5 ? 0 : unit(random);
  o.clutter = (k / 4) % 3;
  o.rig_covariance = unit(random) < 0.5;
  o.impact_flags = unit(random) < 0.5;
  o.predictions = unit(random) < 0.7;
  o.cameras = unit(random) < 0.8 ? 2 : 3;
  return MakeIdentityScene(o, static_cast<std::uint64_t>(k));
}

struct IdentityScore {
  int points = 0;    // of the body that went in
  int named = 0;     // that came out with a name
  int wrong = 0;     // of these, with a wrong one; clutter that got a name counts too
  int named_in = 0;  // that had the right name on the way in
};

// `free_names`: names mean nothing but that they stay the same; the best renaming is taken.
inline IdentityScore Judge(const IdentityScene& scene, const MarkerTracks& out,
                           bool free_names = false) {
  IdentityScore score;
  std::map<std::tuple<int, long long, double>, int> truth;
  for (std::size_t i = 0; i < scene.tracks.points.size(); ++i) {
    const TrackPoint& p = scene.tracks.points[i];
    if (scene.truth[i] == -2) continue;
    truth[{p.camera, p.frame, p.q.x()}] = scene.truth[i];
    score.points += scene.truth[i] >= 0;
    score.named_in += scene.truth[i] >= 0 && scene.truth[i] == p.marker;
  }
  std::map<int, std::map<int, int>> table;  // marker, name
  for (const TrackPoint& p : out.points) {
    if (p.flags & kPredicted) continue;
    const int is = truth.at({p.camera, p.frame, p.q.x()});
    ++table[is][p.marker];
    score.named += is >= 0;
  }
  std::set<int> used;
  for (const auto& [is, names] : table) {
    int right = 0;
    if (is >= 0 && !free_names && names.count(is)) right = names.at(is);
    if (is >= 0 && free_names) {
      int best = -1;
      for (const auto& [name, n] : names) {
        if (n > right && !used.count(name)) right = n, best = name;
      }
      used.insert(best);
    }
    for (const auto& [name, n] : names) score.wrong += n;
    score.wrong -= right;
  }
  return score;
}

}  // namespace impactlab::test
