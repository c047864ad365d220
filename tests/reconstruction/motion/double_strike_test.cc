// Two corners that strike within one or two frames look like one impact. They must not pass for
// one, and clean impacts must not be lost.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "tests/reconstruction/motion/motion_scene.h"

namespace impactlab::testing {
namespace {

struct Strike {
  Scene scene;
  double t = 0, delay = 0;
  std::vector<double> times;
};

// An impact whose second corner strikes within `most` frames of the first, followed by at least 10
// frames of flight.
Strike DrawDoubleStrike(const Body& body, double rate, double most, std::mt19937_64& rng) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  while (true) {
    Strike strike;
    Scene& scene = strike.scene;
    scene.body = body;
    BodyState minus;
    if (body.planar) {
      const double lean = 0.5 * uniform(rng);
      minus.X_WB.linear() =
          PlanarPose(0, 0, M_PI / 2 * std::floor(4 * std::abs(uniform(rng))) + lean).linear();
    } else {
      minus.X_WB.linear() = RandomRotation(rng);
      if (NextHeight(body, minus.X_WB.linear()) > 0.5 * body.half_extents.norm()) continue;
    }
    minus.v_WB = Vector3d(0.8 * uniform(rng), body.planar ? 0 : 0.8 * uniform(rng),
                          -1.6 + 0.5 * uniform(rng));
    minus.omega_WB = 6 * Vector3d(uniform(rng), uniform(rng), uniform(rng));
    if (body.planar) minus.omega_WB = Vector3d(0, minus.omega_WB.y(), 0);
    Settle(scene, minus);
    const Isometry3d X_WF =
        ContactFrame(scene.floor, ContactWithPlane(body, minus.X_WB, scene.floor).p_WP,
                     scene.flight.gravity_W, body.planar);
    if (MakeContactState(body, minus.X_WB, minus.v_WB, minus.omega_WB, X_WF).v_minus_F.z() > -0.5)
      continue;
    strike.t = 0.1 + uniform(rng) / rate;
    scene = OneImpact(scene, minus, strike.t);
    bool clean = true;
    for (int i = 1; i <= 89; ++i) clean = clean && scene.GapAt(strike.t - 1e-3 * i) > 0;
    if (!clean) continue;
    const std::vector<double> more = BounceOn(scene, strike.t + 0.2, 8, 0.5, 0.1);
    if (more.empty() || more.front() - strike.t > most / rate ||
        more.front() - strike.t < 0.1 / rate)
      continue;
    // The last strike of the bunch, then a clear flight.
    std::size_t last = 0;
    while (last + 1 < more.size() && more[last + 1] - more[last] < 2.5 / rate) ++last;
    const double end = last + 1 < more.size() ? more[last + 1] : strike.t + 0.2;
    if ((end - more[last]) * rate < 10) continue;
    strike.delay = more.front() - strike.t;
    strike.times = Times(0.015, end - 1e-9, rate);
    return strike;
  }
}

// Share of planted double strikes that come out as a clean event at the time of the strike.
double FalseAccepts(const Body& body, double rate, const Noise& noise, double most, int n,
                    std::uint64_t seed, const MotionFitOptions& options) {
  std::mt19937_64 rng(seed);
  int accepted = 0;
  for (int i = 0; i < n; ++i) {
    const Strike strike = DrawDoubleStrike(body, rate, most, rng);
    const MotionFit fit = FitMotion(Record(strike.scene, strike.times, noise, rng), body,
                                    strike.scene.floor, options);
    for (const ImpactEvent& event : fit.events) {
      if (event.accepted && event.t < strike.t + 2.5 / rate) {
        ++accepted;
        if (std::getenv("IMPACTLAB_SHOW") != nullptr) {
          std::printf("accepted: delay %.2f frames, lost %d, %s\n", strike.delay * rate,
                      event.frames_lost, event.detail.c_str());
        }
        break;
      }
    }
  }
  return static_cast<double>(accepted) / n;
}

double FalseRejects(const Body& body, double rate, const Noise& noise, double lean, int n,
                    std::uint64_t seed, const MotionFitOptions& options) {
  std::mt19937_64 rng(seed);
  int rejected = 0;
  std::map<std::string, int> reasons;
  for (int i = 0; i < n; ++i) {
    const RandomImpact truth = DrawImpact(body, rate, 8, rng, lean);
    const MotionFit fit =
        FitMotion(Record(truth.scene, truth.times, noise, rng), body, truth.scene.floor, options);
    const ImpactEvent& event = fit.events.front();
    if (!event.accepted || event.frames_lost != 0) {
      ++rejected;
      ++reasons[std::string(ReasonName(event.reason)) + ": " + event.detail];
    }
  }
  if (std::getenv("IMPACTLAB_SHOW") != nullptr) {
    for (const auto& [reason, count] : reasons) std::printf("%d %s\n", count, reason.c_str());
  }
  return static_cast<double>(rejected) / n;
}

TEST(DoubleStrike, PlanarStrikesAreRecognised) {
  const Body body = MakeBox({0.06, 0.06, 0.06}, 0.3, true);
  EXPECT_LT(FalseAccepts(body, 250, {4e-5, 7e-4}, 1, 400, 11, {}), 0.05);
  EXPECT_LT(FalseAccepts(body, 250, {4e-5, 7e-4}, 2, 400, 12, {}), 0.05);
}

TEST(DoubleStrike, SpatialStrikesAreRecognised) {
  const Body body = MakeBox({0.10, 0.10, 0.10}, 0.37);
  EXPECT_LT(FalseAccepts(body, 148, {1e-4, 1e-3}, 1, 150, 13, {}), 0.05);
  EXPECT_LT(FalseAccepts(body, 148, {1e-4, 1e-3}, 2, 150, 14, {}), 0.05);
}

TEST(DoubleStrike, CleanImpactsPass) {
  const Body square = MakeBox({0.06, 0.06, 0.06}, 0.3, true);
  EXPECT_LT(FalseRejects(square, 250, {4e-5, 7e-4}, 0.25, 500, 15, {}), 0.1);
  const Body cube = MakeBox({0.10, 0.10, 0.10}, 0.37);
  EXPECT_LT(FalseRejects(cube, 148, {1e-4, 1e-3}, 0.25, 150, 16, {}), 0.1);
}

// Heavy tails make neither impacts nor double strikes of clean recordings, and the covariance still
// covers.
TEST(DoubleStrike, HeavyTailsAreNoStrikes) {
  for (const Body& body :
       {MakeBox({0.06, 0.06, 0.06}, 0.3, true), MakeBox({0.10, 0.10, 0.10}, 0.37)}) {
    std::mt19937_64 rng(17);
    const double rate = body.planar ? 250 : 148;
    int accepted = 0, dof = 0;
    double chi_square = 0;
    const int n = 150;
    for (int i = 0; i < n; ++i) {
      const RandomImpact truth = DrawImpact(body, rate, 12, rng);
      const Noise noise = body.planar ? Noise{4e-5, 7e-4} : Noise{1e-4, 1e-3};
      const PoseRecording recording =
          Record(truth.scene, truth.times, noise, rng, std::student_t_distribution<double>(4));
      for (const ImpactEvent& event : FitMotion(recording, body, truth.scene.floor).events) {
        if (!event.accepted) continue;
        EXPECT_LT(std::abs(event.t - truth.t), 1 / rate);
        ++accepted;
        int rank = 0;
        chi_square += ChiSquareOf(EventError(event, truth), event.cov, &rank);
        dof += rank;
      }
    }
    EXPECT_GE(accepted, 0.9 * n);
    EXPECT_LE(accepted, n);
    EXPECT_LT(chi_square, 1.15 * dof);
    EXPECT_GT(chi_square, 0.75 * dof);
  }
}

}  // namespace
}  // namespace impactlab::testing
