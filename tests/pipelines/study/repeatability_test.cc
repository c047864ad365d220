#include "pipelines/study/repeatability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <random>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "impact/identify/identify.h"
#include "impact/law/solve.h"
#include "pipelines/config/visit.h"
#include "tests/support/faults.h"
#include "tests/support/per_test_level.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const Vector3d kGravity(0, 0, -9.80665);
const ImpactModel kLaw = {{.e = 0.55, .mu_k = 0.2, .mu_s = 0.2}, RestitutionLaw::kEnergetic};

// What a campaign of drops of a box on its corner is made of.
struct Campaign {
  double release = 0;  // of every component of the velocity before, from drop to drop [m/s]
  double surface = 0;  // of e, from drop to drop
  double stated = 1;   // standard deviations stated over those of the noise
  bool planar = false;
};

class RepeatabilityDrops {
 public:
  explicit RepeatabilityDrops(std::uint64_t seed) : random_(seed) {}

  ImpactEvent Draw(const Campaign& c, const Body& body, int number,
                   const Vector3d& v = {0.6, 0.1, -2}) {
    ImpactEvent e;
    e.recording = "drop_" + std::to_string(number);
    e.planar = body.planar;
    e.X_WB = body.planar
                 ? PlanarPose(0, 0, 0.6)
                 : Eigen::Isometry3d(Eigen::AngleAxisd(0.6, Vector3d(0.4, 1, 0.2).normalized()));
    e.v_minus = v + c.release * Random(body.planar, false);
    e.omega_minus = body.planar ? Vector3d(0, 1, 0) : Vector3d(0.5, 1, -0.3);
    const PlaneContact contact = ContactWithPlane(body, e.X_WB, Plane{});
    e.p_WP = contact.p_WP;
    e.v_plus = e.v_minus, e.omega_plus = e.omega_minus;
    UpdateContact(e, body, Plane{}, kGravity);
    ImpactModel law = kLaw;
    law.e += c.surface * normal_(random_);
    const ImpactOutcome outcome = Solve(e.contact, law);
    const Vector3d J = e.contact.X_WF.linear() * outcome.J_F, r = e.p_WP - e.X_WB.translation();
    e.v_plus += J / body.mass;
    e.omega_plus +=
        e.X_WB.linear() * body.inertia_B.inverse() * e.X_WB.linear().transpose() * r.cross(J);
    // Noise of 2 mm/s, 0.02 rad/s and 0.05 mm, independent.
    const double sd[] = {2e-3, 0.02, 2e-3, 0.02, 5e-5};
    Vector3d lever = Vector3d::Zero();
    Vector3d* const parts[] = {&e.v_minus, &e.omega_minus, &e.v_plus, &e.omega_plus, &lever};
    for (int k = 0; k < 5; ++k) {
      const bool spin = k == 1 || k == 3;
      *parts[k] += sd[k] * Random(body.planar, spin);
      for (int i = 0; i < 3; ++i)
        if (!body.planar || (i == 1) == spin)
          e.cov(3 * k + i, 3 * k + i) = std::pow(c.stated * sd[k], 2);
    }
    e.p_WP += lever;
    UpdateContact(e, body, Plane{}, kGravity);
    e.accepted = true;
    return e;
  }

  std::vector<ImpactEvent> Many(const Campaign& c, const Body& body, int n) {
    std::vector<ImpactEvent> events;
    events.reserve(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) events.push_back(Draw(c, body, i));
    return events;
  }

 private:
  Vector3d Random(bool planar, bool spin) {
    Vector3d x;
    for (double& value : x) value = normal_(random_);
    if (planar) x = spin ? Vector3d(0, x.y(), 0) : Vector3d(x.x(), 0, x.z());
    return x;
  }
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

Body Box(bool planar) {
  return MakeBox(planar ? Vector3d(0.08, 0, 0.05) : Vector3d(0.08, 0.06, 0.05), 0.3, planar);
}

LawFit Truth() {
  LawFit fit;
  fit.law = "energetic";
  fit.mu_k.name = "mu_k", fit.mu_k.value = kLaw.mu_k;
  fit.e.name = "e_star", fit.e.value = kLaw.e;
  // does not count: repeats are compared with the measurement alone
  fit.discrepancy.sd_normal = 0.3;
  return fit;
}

const RepeatRow* Row(const Repeatability& repeats, const std::string& group,
                     const std::string& quantity, int n) {
  for (const RepeatRow& row : repeats.rows)
    if (row.group == group && row.quantity == quantity && row.n == n) return &row;
  return nullptr;
}

RepeatVerdict VerdictOf(const Repeatability& repeats, const std::string& group,
                        const std::string& quantity, int n) {
  const RepeatRow* row = Row(repeats, group, quantity, n);
  return row == nullptr ? RepeatVerdict::kUndetermined : row->verdict;
}

// Chi-square of all quantities over many campaigns against what noise alone does: the statement
// behind every verdict.
TEST(Repeatability, NoiseAloneIsWithinAtTheStatedRate) {
  for (const bool planar : {false, true}) {
    RepeatabilityDrops drops(planar ? 11 : 10);
    const Body body = Box(planar);
    constexpr int kCampaigns = 300, kDrops = 6;
    std::map<std::string, double> chi_square, dof;
    int outside = 0, judged = 0;
    for (int c = 0; c < kCampaigns; ++c) {
      const Repeatability repeats =
          StudyRepeats(drops.Many({.planar = planar}, body, kDrops), body, Truth());
      for (const char* q :
           {"v_minus", "omega_minus", "lever", "residual_v", "residual_omega", "e_star", "mu_k"}) {
        const RepeatRow* row = Row(repeats, "condition 1", q, kDrops);
        if (row == nullptr && q == std::string("mu_k")) continue;  // one of them stuck for a moment
        ASSERT_NE(row, nullptr) << q;
        chi_square[q] += row->chi_square;
        dof[q] += row->dof;
        ++judged;
        outside += row->verdict != RepeatVerdict::kWithin;
      }
    }
    EXPECT_EQ(dof["v_minus"], kCampaigns * (kDrops - 1) * (planar ? 2 : 3));
    EXPECT_EQ(dof["omega_minus"], kCampaigns * (kDrops - 1) * (planar ? 1 : 3));
    for (const auto& [q, sum] : chi_square) {
      const Interval band = ChiSquareBand(dof[q], PerTestLevel(1e-3, 7));
      EXPECT_GT(sum, 0.99 * band.lower) << q << planar;
      EXPECT_LT(sum, 1.01 * band.upper) << q << planar;
    }
    // Quantities of one campaign are not independent of each other: twice the band.
    EXPECT_LT(outside, 2 * BinomialBand(judged, 0.01, 1e-3).upper) << planar;
  }
}

TEST(Repeatability, TellsTheReleaseFromTheSurface) {
  RepeatabilityDrops drops(12);
  const Body body = Box(false);
  const Repeatability release =
      StudyRepeats(drops.Many({.release = 0.02}, body, 20), body, Truth());
  EXPECT_EQ(VerdictOf(release, "condition 1", "v_minus", 20), RepeatVerdict::kBeyond);
  EXPECT_EQ(VerdictOf(release, "condition 1", "omega_minus", 20), RepeatVerdict::kWithin);
  EXPECT_EQ(VerdictOf(release, "all", "residual_v", 20), RepeatVerdict::kWithin);
  EXPECT_EQ(VerdictOf(release, "all", "e_star", 20), RepeatVerdict::kWithin);
  const RepeatRow* v = Row(release, "condition 1", "v_minus", 20);
  EXPECT_NEAR(v->sd_within, 2e-3, 1e-9);
  // 20 against 2 mm/s; its own standard deviation is 0.65
  EXPECT_NEAR(v->ratio, std::sqrt(1 + 100), 2.5);
  EXPECT_LT(v->between_lower95, std::hypot(0.02, 2e-3));
  EXPECT_GT(v->between_upper95, std::hypot(0.02, 2e-3));

  const Repeatability surface =
      StudyRepeats(drops.Many({.surface = 0.04}, body, 20), body, Truth());
  EXPECT_EQ(VerdictOf(surface, "condition 1", "v_minus", 20), RepeatVerdict::kWithin);
  EXPECT_EQ(VerdictOf(surface, "all", "residual_v", 20), RepeatVerdict::kBeyond);
  EXPECT_EQ(VerdictOf(surface, "all", "e_star", 20), RepeatVerdict::kBeyond);
  EXPECT_EQ(VerdictOf(surface, "all", "mu_k", 20), RepeatVerdict::kWithin);
  const RepeatRow* e = Row(surface, "all", "e_star", 20);
  EXPECT_NEAR(e->sd_between, 0.04, 0.016);  // its own standard deviation is 0.0065
}

TEST(Repeatability, SaysWhereTheUncertaintyIsTooLarge) {
  RepeatabilityDrops drops(13);
  const Repeatability repeats =
      StudyRepeats(drops.Many({.stated = 4}, Box(false), 10), Box(false), Truth());
  EXPECT_EQ(VerdictOf(repeats, "condition 1", "v_minus", 10), RepeatVerdict::kBelow);
  EXPECT_EQ(VerdictOf(repeats, "all", "residual_v", 10), RepeatVerdict::kBelow);
}

TEST(Repeatability, RowsOfTheFirstFiveTenTwenty) {
  RepeatabilityDrops drops(14);
  const Repeatability repeats = StudyRepeats(drops.Many({}, Box(false), 23), Box(false), Truth());
  for (const int n : {5, 10, 20, 23})
    EXPECT_NE(Row(repeats, "condition 1", "v_minus", n), nullptr) << n;
  EXPECT_EQ(Row(repeats, "condition 1", "v_minus", 50), nullptr);
}

TEST(Repeatability, TwoDropsDecideNothing) {
  RepeatabilityDrops drops(15);
  const Repeatability two =
      StudyRepeats(drops.Many({.release = 0.02}, Box(false), 2), Box(false), Truth());
  EXPECT_EQ(VerdictOf(two, "condition 1", "v_minus", 2), RepeatVerdict::kUndetermined);
  ASSERT_NE(Row(two, "condition 1", "v_minus", 2), nullptr);
  EXPECT_TRUE(std::isfinite(Row(two, "condition 1", "v_minus", 2)->sd_between));
  const Repeatability one = StudyRepeats(drops.Many({}, Box(false), 1), Box(false), Truth());
  EXPECT_THAT(one.groups, SizeIs(0));
  for (const RepeatRow& row : one.rows)
    EXPECT_EQ(row.verdict, RepeatVerdict::kUndetermined) << row.quantity;
  EXPECT_TRUE(StudyRepeats({}, Box(false), Truth()).empty());
}

// A rod's spin about its axis is a prior, not a measurement: however it scatters, it is not looked
// at.
TEST(Repeatability, LeavesOutASpinThatNobodySaw) {
  RepeatabilityDrops drops(16);
  const Body body = Box(false);
  std::vector<ImpactEvent> events = drops.Many({}, body, 12);
  for (ImpactEvent& e : events) {
    e.unseen_axis_B = Vector3d::UnitZ();
    const Vector3d axis = e.X_WB.linear() * e.unseen_axis_B;
    e.omega_minus += (e.recording.size() % 2 == 0 ? 40 : -40) * axis;
    e.cov.block<3, 3>(kOmegaMinus, kOmegaMinus) += 900 * axis * axis.transpose();
  }
  RepeatOptions named;
  named.groups = {{"rods", "*"}};
  const Repeatability repeats = StudyRepeats(events, body, Truth(), named);
  const RepeatRow* row = Row(repeats, "rods", "omega_minus", 12);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->dof, 22);
  EXPECT_EQ(row->verdict, RepeatVerdict::kWithin);
  EXPECT_NEAR(row->sd_within, 0.02, 1e-6);
  EXPECT_LT(row->sd_between, 0.04);
}

TEST(Repeatability, GroupsByLikenessAndByName) {
  RepeatabilityDrops drops(17);
  const Body body = Box(false);
  std::vector<ImpactEvent> events;
  events.reserve(11);
  for (int i = 0; i < 5; ++i) events.push_back(drops.Draw({}, body, i));
  for (int i = 5; i < 9; ++i) events.push_back(drops.Draw({}, body, i, {-0.5, 0, -3}));
  events.push_back(drops.Draw({}, body, 9, {0, 0, -5}));
  events.push_back(events[0]);
  events.back().impact = 1;  // a later impact repeats no release
  const Repeatability found = StudyRepeats(events, body, Truth());
  ASSERT_THAT(found.groups, SizeIs(2));
  EXPECT_THAT(found.groups[0].recordings, SizeIs(5));
  EXPECT_THAT(found.groups[1].recordings, SizeIs(4));
  ASSERT_THAT(found.notes, SizeIs(1));
  EXPECT_THAT(found.notes[0], HasSubstr("1 of 10 first impacts"));
  RepeatOptions wide;
  wide.velocity = 10;
  EXPECT_THAT(StudyRepeats(events, body, Truth(), wide).groups, SizeIs(1));

  RepeatOptions named;
  named.groups = {{"slow", "drop_[0-4]"}, {"fast", "drop_[5-8]"}, {"lost", "take_*"}};
  const Repeatability by_name = StudyRepeats(events, body, Truth(), named);
  EXPECT_FALSE(by_name.found);
  EXPECT_NE(Row(by_name, "slow", "v_minus", 5), nullptr);
  EXPECT_NE(Row(by_name, "fast", "v_minus", 4), nullptr);
  ASSERT_THAT(by_name.notes, SizeIs(1));
  EXPECT_THAT(by_name.notes[0], HasSubstr("lost: 0 of the recordings that match"));
}

// Standard deviation of a figure of an event, by central differences of `step` standard deviations
// of all that is measured.
template <class Figure>
double SdByDifferences(const ImpactEvent& event, const Body& body, double step,
                       const Figure& figure) {
  double variance = 0;
  for (int k = 0; k < kEventDim; ++k) {
    if (event.cov(k, k) == 0) continue;
    const double h = step * std::sqrt(event.cov(k, k));
    double value[2] = {};
    for (const int side : {0, 1}) {
      ImpactEvent moved = event;
      Vector3d* const parts[] = {&moved.v_minus, &moved.omega_minus, &moved.v_plus,
                                 &moved.omega_plus, &moved.p_WP};
      (*parts[k / 3])[k % 3] += side == 0 ? -h : h;
      UpdateContact(moved, body, Plane{}, kGravity);
      value[side] = figure(moved);
    }
    variance += std::pow((value[1] - value[0]) / (2 * h), 2) * event.cov(k, k);
  }
  return std::sqrt(variance);
}

TEST(SingleImpact, RestitutionComesBackByEveryLaw) {
  RepeatabilityDrops drops(18);
  for (const bool planar : {false, true}) {
    const Body body = Box(planar);
    const ImpactEvent drawn = drops.Draw({.planar = planar}, body, 0);
    for (const RestitutionLaw law :
         {RestitutionLaw::kNewton, RestitutionLaw::kPoisson, RestitutionLaw::kEnergetic}) {
      for (const double e : {0.05, 0.5, 0.95}) {
        const ImpactModel model = {{.e = e, .mu_k = 0.15, .mu_s = 0.15}, law};
        ImpactEvent event = drawn;
        event.v_plus = event.v_minus +
                       event.contact.X_WF.linear() * Solve(event.contact, model).J_F / body.mass;
        const std::optional<SingleCoefficient> found = RestitutionOf(event, body, model);
        ASSERT_TRUE(found) << LawName(law) << e;
        EXPECT_NEAR(found->value, e, 1e-9) << LawName(law);
      }
    }
  }
}

// Against differences over all that is measured, inside the bounds and beyond them.
TEST(SingleImpact, RestitutionStatesWhatTheMeasurementDoesToIt) {
  RepeatabilityDrops drops(19);
  for (const bool planar : {false, true}) {
    const Body body = Box(planar);
    for (const double beyond : {0.0, 1.0, -1.0}) {
      ImpactEvent event = drops.Draw({.planar = planar}, body, 0);
      if (beyond != 0) {
        ImpactModel bound = kLaw;
        bound.e = beyond > 0 ? 1 : 0;
        const Vector3d J = (1 + 0.01 * beyond) * Solve(event.contact, bound).J_F;
        event.v_plus = event.v_minus + event.contact.X_WF.linear() * J / body.mass;
        UpdateContact(event, body, Plane{}, kGravity);
      }
      const std::optional<SingleCoefficient> at = RestitutionOf(event, body, kLaw);
      ASSERT_TRUE(at);
      if (beyond > 0) {
        EXPECT_GT(at->value, 1.005);
      } else if (beyond < 0) {
        EXPECT_LT(at->value, -0.005);
      }
      const double sd = SdByDifferences(event, body, 0.05, [&](const ImpactEvent& moved) {
        return RestitutionOf(moved, body, kLaw)->value;
      });
      EXPECT_NEAR(at->sd, sd, 0.03 * sd) << planar << " " << beyond;
    }
  }
}

// Slip that turns on its way: the ratio of the impulses is below mu, and mu comes back all the
// same.
TEST(SingleImpact, FrictionOnlyWhereTheContactSlidThroughout) {
  RepeatabilityDrops drops(20);
  const Body body = Box(false);
  for (const double mu : {0.05, 0.2, 0.3}) {
    const ImpactModel model = {{.e = 0.55, .mu_k = mu, .mu_s = mu}, RestitutionLaw::kEnergetic};
    ImpactEvent event = drops.Draw({}, body, 0, {1.5, 1.2, -2});
    const ImpactOutcome outcome = Solve(event.contact, model);
    ASSERT_EQ(outcome.path_case.digit, 0);
    event.v_plus = event.v_minus + event.contact.X_WF.linear() * outcome.J_F / body.mass;
    // from another mu
    const std::optional<SingleCoefficient> found = FrictionOf(event, body, kLaw);
    ASSERT_TRUE(found) << mu;
    EXPECT_NEAR(found->value, mu, 1e-7);
    const double sd = SdByDifferences(event, body, 0.02, [&](const ImpactEvent& moved) {
      return FrictionOf(moved, body, kLaw)->value;
    });
    EXPECT_NEAR(found->sd, sd, 0.02 * sd) << mu;
  }
  const ImpactEvent sticks = drops.Draw({}, body, 0, {0, 0, -2});
  ImpactModel rough = kLaw;
  rough.mu_k = rough.mu_s = 5;
  EXPECT_FALSE(FrictionOf(sticks, body, rough));
}

TEST(Repeatability, KeysOfTheExperiment) {
  const auto parse = [](const std::string& text) {
    const YamlNode root = ParseYaml(text, "e.yaml");
    RepeatOptions o = pipelines::ReadKeys<RepeatOptions>(root.Map("repeats"));
    root.Finish();
    return o;
  };
  const RepeatOptions o =
      parse("repeats:\n  groups:\n    - {name: flat, recordings: \"drop_0*\"}\n  angle_rad: 0.3\n");
  ASSERT_THAT(o.groups, SizeIs(1));
  EXPECT_EQ(o.angle, 0.3);
  const RepeatOptions again = parse("repeats:\n" + pipelines::WriteKeys(o, 1));
  ASSERT_THAT(again.groups, SizeIs(1));
  EXPECT_EQ(again.groups[0].name, "flat");
  EXPECT_EQ(again.groups[0].recordings, "drop_0*");
  EXPECT_EQ(again.angle, 0.3);
  const auto fault = [&](const std::string& text) { return test::FaultOf([&] { parse(text); }); };
  EXPECT_THAT(fault("repeats:\n  angle_deg: 3\n"), HasSubstr("angle_rad"));
  EXPECT_THAT(fault("repeats:\n  groups:\n    - {name: all, recordings: a}\n"),
              HasSubstr("groups[0].name: found all"));
  EXPECT_THAT(
      fault(
          "repeats:\n  groups:\n    - {name: a, recordings: a}\n    - {name: a, recordings: b}\n"),
      HasSubstr("again"));
  EXPECT_THAT(fault("repeats:\n  velocity_m_per_s: 0\n"), HasSubstr("above 0"));
}

}  // namespace
}  // namespace impactlab
