#include "pipelines/synth/synth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string_view>

#include "data/base/error.h"
#include "data/files/text.h"
#include "data/math/rotation.h"
#include "pipelines/synth/motion.h"

namespace impactlab {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Quaterniond;
using Eigen::Vector3d;
using pipelines::DropMotion;
using pipelines::FirstContact;
using pipelines::FloorContacts;
using pipelines::Strike;

// Kinematic criteria of a clean single contact, as the frames of the recording would show them.
constexpr int kCleanFrames = 5;  // frames of free flight on either side
// a second vertex that arrives within this many frames is the same landing
constexpr double kFeatureFrames = 1;
constexpr double kDoubleFrames = 2;  // two strikes within this many frames are a double strike
constexpr double kLongestFall = 20;  // [s]
constexpr int kMostDraws = 20000;
constexpr double kFlatLean = 0.06;  // largest lean of a planted double strike [rad]

// Independent streams of random numbers, so that noise and frame errors change neither the drops
// nor their impacts.
enum class Stream : std::uint32_t { kRelease = 1, kImpact = 2, kNoise = 3, kLoss = 4 };

std::mt19937_64 Random(std::uint64_t seed, int drop, Stream stream) {
  std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                         static_cast<std::uint32_t>(drop), static_cast<std::uint32_t>(stream)};
  return std::mt19937_64(sequence);
}

void Check(const SynthOptions& o) {
  const auto require = [](bool ok, std::string_view key, double found, std::string_view allowed) {
    if (!ok)
      throw ConfigError(
          fmt::format("scene: {}: found {}, allowed {}", key, FormatNumber(found), allowed));
  };
  const auto share = [&](std::string_view key, double value) {
    require(value >= 0 && value <= 1, key, value, "a number from 0 to 1");
  };
  const auto size = [&](std::string_view key, double value) {
    require(value >= 0 && std::isfinite(value), key, value, "a finite number of at least 0");
  };
  CheckBody(o.body);
  require(o.drops >= 1, "drops", o.drops, "at least 1");
  require(o.max_impacts >= 1, "max_impacts", o.max_impacts, "at least 1");
  require(o.frame_rate > 0 && std::isfinite(o.frame_rate), "frame_rate_Hz", o.frame_rate,
          "a finite number above 0");
  require(o.height_min > 0 && std::isfinite(o.height_min), "height_min_m", o.height_min,
          "a finite number above 0");
  require(o.height_max >= o.height_min && std::isfinite(o.height_max), "height_max_m", o.height_max,
          fmt::format("at least height_min_m, {}", FormatNumber(o.height_min)));
  require(o.model.e >= 0 && o.model.e <= 1, CoefficientName(o.model.law), o.model.e,
          "a number from 0 to 1");
  size("mu_k", o.model.mu_k);
  require(o.model.mu_s >= o.model.mu_k && std::isfinite(o.model.mu_s), "mu_s", o.model.mu_s,
          fmt::format("at least mu_k, {}", FormatNumber(o.model.mu_k)));
  size("speed_tangential_m_per_s", o.speed_tangential);
  size("spin_rad_per_s", o.spin);
  require(o.lean_min >= 0 && o.lean_min < M_PI / 2, "lean_min_rad", o.lean_min,
          "a number of at least 0 and below pi / 2");
  size("duration_after_s", o.duration_after);
  size("contact_time_s", o.contact_time);
  size("sd_tangential", o.sd_tangential);
  size("sd_normal", o.sd_normal);
  size("sd_couple", o.sd_couple);
  size("sd_mu", o.sd_mu);
  size("sd_e", o.sd_e);
  share("wild_share", o.wild_share);
  size("noise_position_m", o.noise_position);
  size("noise_angle_rad", o.noise_angle);
  require(o.noise_dof == 0 || o.noise_dof > 2, "noise_dof", o.noise_dof,
          "0 (Gaussian) or a number above 2, below which there is no standard deviation");
  share("lost_frame_share", o.lost_frame_share);
  share("double_strike_share", o.double_strike_share);
  const Plane floor = CorrectedFloor(o.floor, o.error);
  require(o.flight.gravity_W.dot(floor.normal) < 0, "gravity_m_per_s2 along the floor's normal",
          o.flight.gravity_W.dot(floor.normal), "below 0: the body has to fall onto the floor");
  if (o.double_strike_share > 0) {
    const FloorContacts contacts(o.body, floor);
    require(contacts.size() > 1, "double_strike_share", o.double_strike_share,
            "0 for a body without corners");
  }
}

// Frames of one recording: true times, and strikes at which a frame was lost.
struct Frames {
  double start = 0;  // true time of the first frame [s]
  std::vector<double> t_true;
  std::vector<bool> lost_at;  // for each strike
  std::vector<double> clock;  // time of each strike on the recording's clock
  double rest_clock = 0;      // of the last stretch
};

Frames TakeFrames(const DropMotion& motion, const SynthOptions& options, int drop) {
  std::mt19937_64 rng = Random(options.seed, drop, Stream::kLoss);
  std::uniform_real_distribution<double> uniform(0, 1);
  const double dt = 1 / options.frame_rate;
  Frames frames;
  frames.start = dt * uniform(rng);
  const std::size_t n = motion.strikes.size();
  std::vector<bool> loses(n);
  for (std::size_t k = 0; k < n; ++k) loses[k] = uniform(rng) < options.lost_frame_share;
  frames.lost_at.assign(n, false);
  frames.clock.assign(n, 0);
  int lost = 0;
  std::size_t next = 0;
  for (int k = 0;; ++k) {
    const double t = frames.start + (k + lost) * dt;
    if (t > motion.t_end) break;
    frames.t_true.push_back(t);
    // Strikes before the next frame: the first of them that loses a frame takes it.
    const int lost_before = lost;
    for (; next < n && motion.strikes[next].t < frames.start + (k + 1 + lost_before) * dt; ++next) {
      frames.clock[next] = motion.strikes[next].t - frames.start - lost_before * dt;
      if (loses[next] && lost == lost_before) {
        frames.lost_at[next] = true;
        ++lost;
      }
    }
  }
  for (; next < n; ++next) frames.clock[next] = motion.strikes[next].t - frames.start - lost * dt;
  frames.rest_clock = motion.stretches.back().t - frames.start - lost * dt;
  return frames;
}

// Whether a strike is a clean single contact, by the motion around it.
void Judge(const DropMotion& motion, const Frames& frames, std::size_t k,
           const FloorContacts& contacts, double frame_rate, ImpactEvent& event) {
  const double t = motion.strikes[k].t, dt = 1 / frame_rate;
  const auto count = [&](double from, double to) {
    const auto& all = frames.t_true;
    return static_cast<int>(std::lower_bound(all.begin(), all.end(), to) -
                            std::upper_bound(all.begin(), all.end(), from));
  };
  double before = -1, after = motion.t_end + dt;  // ends of the free flights on either side
  double nearest = after - before;                // time to the nearest other strike
  bool touch_before = false, touch_after = false;
  for (std::size_t j = 0; j < motion.strikes.size(); ++j) {
    if (j == k) continue;
    const double other = motion.strikes[j].t;
    nearest = std::min(nearest, std::abs(other - t));
    if (j < k) before = std::max(before, other);
    if (j > k) after = std::min(after, other);
  }
  const bool strike_after = k + 1 < motion.strikes.size();
  for (const pipelines::MotionPhase& s : motion.stretches) {
    if (s.kind == pipelines::MotionPhase::Kind::kFlight) continue;
    if (s.t < t && s.t > before) {
      before = s.t;
      touch_before = true;
    }
    if (s.t >= t && s.t < after) {
      after = s.t;
      touch_after = true;
    }
  }
  event.frames_minus = count(before, t);
  event.frames_plus = count(t, after);
  const auto reject = [&](RejectReason reason, const std::string& detail) {
    event.reason = reason;
    event.detail = detail;
  };
  if (touch_before && t - before <= kFeatureFrames * dt)
    return reject(RejectReason::kNoFreeFlight, "the body touched the floor until it struck");
  if (nearest <= kFeatureFrames * dt) {
    return reject(RejectReason::kEdgeOrFlatLanding,
                  fmt::format("another strike {:.3g} frames away, allowed more than {}",
                              nearest / dt, kFeatureFrames));
  }
  const BodyState landing{event.X_WB, event.v_minus, event.omega_minus};
  int touching = 0;
  for (int i = 1; i < contacts.size(); ++i) {
    if (contacts.Gap(i, event.X_WB) < contacts.Gap(touching, event.X_WB)) touching = i;
  }
  for (int i = 0; i < contacts.size(); ++i) {
    const double gap = contacts.Gap(i, event.X_WB), rate = contacts.GapRate(i, landing);
    if (i != touching && gap + rate * kFeatureFrames * dt < 0) {
      return reject(
          RejectReason::kEdgeOrFlatLanding,
          fmt::format("a second vertex {:.3g} frames from the floor, allowed more than {}",
                      -gap / rate / dt, kFeatureFrames));
    }
  }
  if (touch_after && after - t <= kFeatureFrames * dt)
    return reject(RejectReason::kRollingContact, "the body stays on the floor");
  if (event.frames_minus < kCleanFrames) {
    return reject(k > 0 || touch_before ? RejectReason::kNoFreeFlight : RejectReason::kTooFewFrames,
                  fmt::format("{} frames of flight before, allowed at least {}", event.frames_minus,
                              kCleanFrames));
  }
  if (event.frames_plus < kCleanFrames) {
    return reject(
        strike_after || touch_after ? RejectReason::kSecondContact : RejectReason::kTooFewFrames,
        fmt::format("{} frames of flight after, allowed at least {}", event.frames_plus,
                    kCleanFrames));
  }
  event.accepted = true;
}

// Draws and follows one drop after the other.
class Scene {
 public:
  explicit Scene(const SynthOptions& options)
      : options_(options),
        floor_(CorrectedFloor(options.floor, options.error)),
        contacts_(options.body, floor_) {
    rules_.flight = options.flight;
    rules_.model = options.model;
    rules_.scatter = {options.sd_tangential, options.sd_normal, options.sd_couple,
                      options.sd_mu,         options.sd_e,      options.wild_share};
    rules_.max_impacts = options.max_impacts;
    rules_.to_rest = options.to_rest;
    rules_.contact_time = options.contact_time;
  }

  DropMotion Drop(int drop) const {
    std::mt19937_64 rng = Random(options_.seed, drop, Stream::kRelease);
    const bool flat =
        std::uniform_real_distribution<double>(0, 1)(rng) < options_.double_strike_share;
    for (int draw = 0; draw < kMostDraws; ++draw) {
      BodyState release = Release(rng);
      FirstContact contact = FirstContactOf(release);
      if (flat && !LayFlat(rng, release, contact)) continue;
      const BodyState landing = Propagate(release, options_.body, options_.flight, contact.t);
      if (!flat && contacts_.Lean(contact.point, landing.X_WB) < options_.lean_min) continue;
      // Every draw has random numbers of its own for its impacts, so that a later change of a
      // criterion does not change the drops before it.
      std::mt19937_64 impacts = Random(options_.seed, drop, Stream::kImpact);
      DropMotion motion = SimulateDrop(options_.body, floor_, rules_, release,
                                       options_.duration_after, kLongestFall, impacts);
      if (motion.strikes.empty()) continue;
      const bool strikes_twice =
          motion.strikes.size() > 1 &&
          motion.strikes[1].t - motion.strikes[0].t <= kDoubleFrames / options_.frame_rate;
      if (flat && !strikes_twice) continue;
      if (!flat && options_.clean_first && !IsClean(motion, drop)) continue;
      return motion;
    }
    throw ConfigError(
        fmt::format("scene: lean_min_rad: found {} with drops of which none in {} lands so{}, "
                    "allowed less lean, or other heights and spin",
                    options_.lean_min, kMostDraws,
                    flat                   ? " that two corners strike within two frames"
                    : options_.clean_first ? " that the first impact is a clean one"
                                           : ""));
  }

  const Plane& floor() const { return floor_; }
  const FloorContacts& contacts() const { return contacts_; }

 private:
  bool IsClean(const DropMotion& motion, int drop) const {
    ImpactEvent first = motion.strikes.front().event;
    Judge(motion, TakeFrames(motion, options_, drop), 0, contacts_, options_.frame_rate, first);
    return first.accepted;
  }

  BodyState Release(std::mt19937_64& rng) const {
    const bool planar = options_.body.planar;
    std::uniform_real_distribution<double> both(-1, 1);
    std::normal_distribution<double> normal;
    BodyState s;
    if (planar) {
      s.X_WB = PlanarPose(0, 0, M_PI * both(rng));
    } else {
      Quaterniond q(normal(rng), normal(rng), normal(rng), normal(rng));
      s.X_WB.linear() = q.normalized().toRotationMatrix();
    }
    const Matrix3d R_WF =
        ContactFrame(floor_, Vector3d::Zero(), options_.flight.gravity_W, planar).linear();
    s.v_WB = options_.speed_tangential *
             (both(rng) * R_WF.col(0) + (planar ? 0 : both(rng)) * R_WF.col(1));
    s.omega_WB.y() = options_.spin * both(rng);
    if (!planar) {
      s.omega_WB.x() = options_.spin * both(rng);
      s.omega_WB.z() = options_.spin * both(rng);
    }
    const double height =
        options_.height_min + (options_.height_max - options_.height_min) * 0.5 * (1 + both(rng));
    s.X_WB.translation() = R_WF.col(2) * (height - contacts_.LowestGap(s.X_WB));
    return s;
  }

  FirstContact FirstContactOf(const BodyState& release) const {
    const FirstContact contact =
        FindContact(contacts_, options_.body, options_.flight, release, kLongestFall);
    if (contact.point < 0)
      throw ConfigError(fmt::format(
          "scene: found a drop that meets no floor within {} s, allowed: gravity towards the floor",
          kLongestFall));
    return contact;
  }

  // Turns the whole flight about a level axis so that the body lands nearly flat. A torque-free
  // flight may be turned: only its time of contact moves.
  bool LayFlat(std::mt19937_64& rng, BodyState& release, FirstContact& contact) const {
    const double wanted = kFlatLean * std::uniform_real_distribution<double>(0.02, 1)(rng);
    for (int step = 0; step < 20; ++step) {
      const Isometry3d X_WB = Propagate(release, options_.body, options_.flight, contact.t).X_WB;
      const int other = contacts_.Neighbour(contact.point, X_WB);
      if (other < 0) return false;
      const double lean = contacts_.Lean(contact.point, X_WB);
      if (std::abs(lean - wanted) < 0.1 * wanted) return true;
      const Vector3d line = contacts_.Point(other, X_WB) - contacts_.Point(contact.point, X_WB);
      const Vector3d axis = line.cross(contacts_.normal());
      if (!(axis.norm() > 1e-9 * line.norm())) return false;
      const Matrix3d turn = ExpSO3((wanted - lean) * axis.normalized());
      const double height = contacts_.LowestGap(release.X_WB);
      release.X_WB.linear() = (turn * release.X_WB.linear()).eval();
      release.omega_WB = turn * release.omega_WB;
      release.X_WB.translation() +=
          contacts_.normal() * (height - contacts_.LowestGap(release.X_WB));
      contact = FirstContactOf(release);
    }
    return false;
  }

  const SynthOptions& options_;
  Plane floor_;
  FloorContacts contacts_;
  pipelines::MotionRules rules_;
};

double Noise(std::mt19937_64& rng, double dof) {
  if (dof == 0) return std::normal_distribution<double>()(rng);
  return std::student_t_distribution<double>(dof)(rng) * std::sqrt((dof - 2) / dof);
}

// What the recorder writes of a true pose.
void Record(const Isometry3d& truth, double theta, const SynthOptions& o, std::mt19937_64& rng,
            PoseRecording& out) {
  const FrameCorrection& c = o.error;
  const auto noise = [&](double sd) { return sd == 0 ? 0 : sd * Noise(rng, o.noise_dof); };
  Vector3d p = truth.translation() - truth.linear() * c.com_offset_B;
  Isometry3d X = Isometry3d::Identity();
  if (out.planar) {
    double angle = (c.theta_flipped ? -1 : 1) * (theta + c.theta_offset());
    if (c.mirrored) p.x() = -p.x();
    p *= c.length_scale;
    p.x() += noise(o.noise_position);
    p.z() += noise(o.noise_position);
    angle += noise(o.noise_angle);
    out.theta.push_back(angle);
    X = PlanarPose(p.x(), p.z(), angle);
  } else {
    const Matrix3d R = truth.linear() * ExpSO3(c.rotation_offset_B);
    if (c.mirrored) p.y() = -p.y();
    p *= c.length_scale;
    for (int i = 0; i < 3; ++i) p(i) += noise(o.noise_position);
    const double a = noise(o.noise_angle), b = noise(o.noise_angle), d = noise(o.noise_angle);
    X.linear() = R * ExpSO3({a, b, d});
    X.translation() = p;
  }
  out.X_WB.push_back(X);
}

}  // namespace

pipelines::DropMotion pipelines::DrawMotion(const SynthOptions& options, int drop) {
  Check(options);
  return Scene(options).Drop(drop);
}

SynthSet Synthesise(const SynthOptions& options) {
  Check(options);
  const Scene scene(options);
  const bool planar = options.body.planar;
  const double dt = 1 / options.frame_rate;
  SynthSet set;
  for (int drop = 1; drop <= options.drops; ++drop) {
    const DropMotion motion = scene.Drop(drop);
    const Frames frames = TakeFrames(motion, options, drop);
    PoseRecording recording;
    recording.name = fmt::format("drop_{:04}", drop);
    recording.planar = planar;
    std::mt19937_64 rng = Random(options.seed, drop, Stream::kNoise);
    double theta = 0;
    for (std::size_t k = 0; k < frames.t_true.size(); ++k) {
      const Isometry3d truth = PoseAt(motion, options.body, options.flight, frames.t_true[k]);
      if (planar) {
        const double angle = PlanarAngle(truth);
        theta = k == 0 ? angle : theta + std::remainder(angle - theta, 2 * M_PI);
      }
      // k / rate and not k * dt: the stamps of round rates are round numbers.
      recording.t.push_back(static_cast<double>(k) / options.frame_rate * options.error.clock_rate);
      Record(truth, theta, options, rng, recording);
    }
    set.recordings.push_back(std::move(recording));
    if (const pipelines::MotionPhase& last = motion.stretches.back();
        last.kind == pipelines::MotionPhase::Kind::kRest) {
      const Isometry3d& X_WB = last.state.X_WB;
      const double angle = planar ? theta + std::remainder(PlanarAngle(X_WB) - theta, 2 * M_PI) : 0;
      set.truth.rests.push_back({set.recordings.back().name, frames.rest_clock, X_WB, angle});
    }
    for (std::size_t k = 0; k < motion.strikes.size(); ++k) {
      const Strike& strike = motion.strikes[k];
      ImpactEvent event = strike.event;
      event.recording = set.recordings.back().name;
      event.impact = static_cast<int>(k);
      event.t = frames.clock[k];
      event.frames_lost = frames.lost_at[k] ? 1 : 0;
      event.sigma_position = options.noise_position;
      event.sigma_angle = options.noise_angle;
      Judge(motion, frames, k, scene.contacts(), options.frame_rate, event);
      const double near = kDoubleFrames * dt;
      const bool twice =
          (k > 0 && strike.t - motion.strikes[k - 1].t <= near) ||
          (k + 1 < motion.strikes.size() && motion.strikes[k + 1].t - strike.t <= near);
      set.truth.events.push_back(std::move(event));
      set.truth.double_strike.push_back(twice);
      set.truth.models.push_back(strike.model);
    }
  }
  return set;
}

}  // namespace impactlab
