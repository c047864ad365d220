#include "impact/identify/coefficient_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "data/base/error.h"
#include "tests/impact/identify_twin.h"

namespace impactlab {
namespace {

const IdentifyOptions kGaussian{.likelihood = Likelihood::kGaussian};

// Groups whose friction and restitution are drawn from a population.
std::vector<EventGroup> Population(int n_groups, int n, double sd_mu, double sd_e, double exponent,
                                   std::mt19937_64& random,
                                   std::vector<twin::Options>* truth = nullptr) {
  std::vector<EventGroup> groups;
  for (int g = 0; g < n_groups; ++g) {
    twin::Options options{.n = n,
                          .mu = 0.2,
                          .e = 0.5,
                          .exponent = exponent,
                          .sd_t = 0.02,
                          .sd_n = 0.02,
                          .sd_c = 0.02};
    options.mu += sd_mu * twin::Normal(random);
    options.e += sd_e * twin::Normal(random);
    groups.push_back({"group_" + std::to_string(g), twin::Square(),
                      twin::Experiment(twin::Square(), options, random)});
    for (ImpactEvent& event : groups.back().events) event.recording += "_of_" + std::to_string(g);
    if (truth != nullptr) truth->push_back(options);
  }
  return groups;
}

CoefficientFit Fit(const std::vector<EventGroup>& groups, const CoefficientModel& model) {
  return FitCoefficients(groups, RestitutionLaw::kEnergetic, model, kGaussian);
}

const CoefficientModel kConstant, kSpeed{.fit_exponent = true},
    kPartial{Pooling::kPartial, Pooling::kPartial}, kNone{Pooling::kNone, Pooling::kNone};

TEST(CoefficientModel, ConstantIsWhatIdentifyFinds) {
  std::mt19937_64 random(11);
  for (const bool planar : {true, false}) {
    const Body body = planar ? twin::Square() : MakeBox({0.06, 0.05, 0.04}, 0.2, false);
    const std::vector<ImpactEvent> events = twin::Experiment(
        body,
        {.n = planar ? 25 : 10, .mu = 0.25, .e = 0.4, .sd_t = 0.02, .sd_n = 0.02, .sd_c = 0.02},
        random);
    const std::vector<EventGroup> one{{"all", body, events}};
    for (const Likelihood likelihood : {Likelihood::kGaussian, Likelihood::kStudentT}) {
      const IdentifyOptions options{.likelihood = likelihood};
      const LawFit two = Identify(events, body, {}, options);
      const CoefficientFit fit =
          FitCoefficients(one, RestitutionLaw::kEnergetic, kConstant, options);
      ASSERT_TRUE(fit.ok);
      for (int k = 0; k < 2; ++k) {
        const ParameterEstimate &a = ListParameters(two)[k], &b = fit.parameters[k];
        EXPECT_NEAR(a.value, b.value, 0.03 * a.sd) << a.name;
        EXPECT_NEAR(std::log(a.sd / b.sd), 0, 0.25) << a.name;  // that of Identify knows of kinks
        EXPECT_EQ(a.name, b.name);
      }
      EXPECT_EQ(ModelName(fit.model), "constant");
    }
  }
}

TEST(CoefficientModel, RestitutionThatFallsWithSpeedIsFound) {
  std::mt19937_64 random(12);
  const std::vector<EventGroup> groups = Population(1, 80, 0, 0, 0.25, random);
  const CoefficientFit fit = Fit(groups, kSpeed);
  ASSERT_TRUE(fit.ok);
  const ParameterEstimate &m = *fit.Find("exponent"), &e = fit.parameters[1],
                          &alpha = *fit.Find("alpha");
  EXPECT_NEAR(m.value, 0.25, 4 * m.sd);
  EXPECT_LT(m.sd, 0.03);
  EXPECT_GT(m.lower95, 0);
  EXPECT_NEAR(e.value, 1 - 0.5 * std::pow(fit.reference_speed / 1.5, 0.25), 4 * e.sd);
  EXPECT_NEAR(alpha.value, (1 - e.value) * std::pow(fit.reference_speed, -m.value), 1e-12);
  EXPECT_NEAR(alpha.value, 0.5 * std::pow(1.5, -0.25), 4 * alpha.sd);
  EXPECT_LT(fit.slowest, fit.reference_speed);
  // Its own exponent given, the same curve.
  const CoefficientFit given = Fit(groups, {.exponent = m.value});
  EXPECT_EQ(ModelName(given.model).substr(0, 7), "speed0.");
  EXPECT_NEAR(given.parameters[1].value, e.value, 0.02 * e.sd);
}

TEST(CoefficientModel, GroupsThatKnowNothingOfEachOtherAreSeparateFits) {
  std::mt19937_64 random(13);
  const std::vector<EventGroup> groups = Population(3, 20, 0.05, 0.05, 0, random);
  const CoefficientFit fit = Fit(groups, kNone);
  ASSERT_TRUE(fit.ok);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const LawFit own = Identify(groups[g].events, groups[g].body, {}, kGaussian);
    // the scatter is common
    EXPECT_NEAR(fit.groups[g].mu_k.value, own.mu_k.value, 0.5 * own.mu_k.sd);
    EXPECT_NEAR(fit.groups[g].e.value, own.e.value, 0.5 * own.e.sd);
    EXPECT_EQ(fit.groups[g].n_events, 20);
  }
}

TEST(CoefficientModel, SmallGroupLeansOnTheOthersAndStickingOneTakesTheirFriction) {
  std::mt19937_64 random(14);
  std::vector<EventGroup> groups = Population(12, 15, 0.03, 0.05, 0, random);
  groups[0].events.resize(1);
  // Straight drops of a square on its corner diagonal: nothing slides.
  std::vector<ImpactEvent> still;
  for (const ImpactEvent& event : twin::Experiment(twin::Square(),
                                                   {.n = 400,
                                                   .mu = 0.9,
                                                   .e = 0.5,
                                                   .sd_t = 0.02,
                                                   .sd_n = 0.02,
                                                   .sd_c = 0.02,
                                                   .speed_t = 0.02,
                                                   .spin = 0.05},
                                                   random)) {
    const Eigen::Matrix3d& A = event.contact.A_F;
    if (std::abs(A(0, 2) / A(0, 0)) < 0.03) still.push_back(event);
  }
  ASSERT_GT(still.size(), 2U);
  groups[1].events = still;
  const CoefficientFit none = Fit(groups, kNone), partial = Fit(groups, kPartial);
  ASSERT_TRUE(partial.ok);
  const double population = partial.parameters[1].value;
  EXPECT_LT(std::abs(partial.groups[0].e.value - population),
            std::abs(none.groups[0].e.value - population));
  EXPECT_LT(partial.groups[0].e.sd, none.groups[0].e.sd);
  EXPECT_NEAR(partial.groups[1].mu_k.value, partial.parameters[0].value, 0.03);
  EXPECT_NE(partial.groups[1].mu_k.reason.find("population"), std::string::npos)
      << partial.groups[1].mu_k.reason;
  EXPECT_NEAR(partial.Find("sd_e_star")->value, 0.05, 0.04);
  EXPECT_GT(partial.Find("sd_mu_k")->value, 0.01);
}

TEST(CoefficientModel, CrossValidationChoosesTheModelOfTheTruth) {
  const std::vector<CoefficientModel> models{kConstant, kSpeed, kPartial, kNone};
  const auto chosen = [&](const std::vector<EventGroup>& groups) {
    const std::vector<ModelScore> scores =
        CompareModels(groups, RestitutionLaw::kEnergetic, models, 5, kGaussian);
    std::string name;
    int best = 0;
    for (const ModelScore& score : scores) {
      if (score.chosen) name += ModelName(score.fit.model);
      best += score.behind == 0;
      EXPECT_GE(score.delta_aic, 0);
      EXPECT_FALSE(score.verdict.empty());
    }
    EXPECT_EQ(best, 1);
    return name;
  };
  std::mt19937_64 random(15);
  EXPECT_EQ(chosen(Population(4, 12, 0, 0, 0, random)), "constant");
  EXPECT_EQ(chosen(Population(4, 12, 0, 0, 0.3, random)), "speed");
  const std::string grouped = chosen(Population(8, 8, 0.06, 0.08, 0, random));
  EXPECT_EQ(grouped, "groups");
}

// Drops of one square in the order they were recorded, friction and restitution changing by so much
// from the first to the last.
std::vector<EventGroup> InOrder(int n, double change_mu, double change_e, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  EventGroup group{"all", twin::Square(), {}};
  for (int k = 0; k < n; ++k) {
    const double place = static_cast<double>(k) / (n - 1) - 0.5;
    const twin::Options options{.n = 1,
                                .mu = 0.2 + change_mu * place,
                                .e = 0.5 + change_e * place,
                                .sd_t = 0.02,
                                .sd_n = 0.02,
                                .sd_c = 0.02};
    for (ImpactEvent event : twin::Experiment(group.body, options, random)) {
      event.recording = "drop_" + std::to_string(k);
      group.events.push_back(event);
    }
  }
  return {group};
}

// Wear, warming, another day: what changes with the order of the recordings is found with its
// interval, chosen where it is there and not chosen where it is not.
TEST(CoefficientModel, ChangesWithTheOrderOfRecordingsAreFoundAndChosen) {
  const CoefficientModel order{.fit_order = true};
  struct Truth {
    double mu, e;
  };
  int covered_mu = 0, covered_e = 0, chosen_falsely = 0;
  constexpr int kRepeats = 20;
  for (int k = 0; k < kRepeats; ++k) {
    const std::uint64_t seed = 300 + static_cast<std::uint64_t>(k);
    const Truth truth = k % 2 == 0 ? Truth{0.06, 0.05} : Truth{0, 0};
    const CoefficientFit fit = Fit(InOrder(60, truth.mu, truth.e, seed), order);
    ASSERT_TRUE(fit.ok);
    const ParameterEstimate &mu = *fit.Find("change_mu_k"), &e = *fit.Find("change_e_star");
    EXPECT_NEAR(mu.value, truth.mu, 5 * mu.sd);
    EXPECT_NEAR(e.value, truth.e, 5 * e.sd);
    EXPECT_LT(e.sd, 0.02);
    covered_mu += mu.lower95 <= truth.mu && truth.mu <= mu.upper95;
    covered_e += e.lower95 <= truth.e && truth.e <= e.upper95;
    EXPECT_NEAR(fit.parameters[1].value, 0.5, 5 * fit.parameters[1].sd);
  }
  EXPECT_GE(covered_mu, 16);  // below it one time in a thousand
  EXPECT_GE(covered_e, 16);
  for (int k = 0; k < kRepeats; ++k) {
    const bool changes = k % 4 == 0;
    for (const ModelScore& score :
         CompareModels(InOrder(60, 0, changes ? 0.08 : 0, 400 + static_cast<std::uint64_t>(k)),
                       RestitutionLaw::kEnergetic, std::vector{kConstant, order}, 5, kGaussian)) {
      if (!score.chosen) continue;
      const bool named = ModelName(score.fit.model) == "order";
      EXPECT_TRUE(named || !changes) << k;
      chosen_falsely += named && !changes;
    }
  }
  EXPECT_LE(chosen_falsely, 5);  // of 15, where one in ten is expected
}

// One recording has no order.
TEST(CoefficientModel, ChangeWithOrderIsNotKnownFromOneRecording) {
  std::vector<EventGroup> groups = InOrder(12, 0, 0, 5);
  for (std::size_t i = 0; i < groups[0].events.size(); ++i) {
    groups[0].events[i].recording = "long";
    groups[0].events[i].impact = static_cast<int>(i);
  }
  const CoefficientFit fit = Fit(groups, {.fit_order = true});
  ASSERT_TRUE(fit.ok);
  EXPECT_FALSE(fit.Find("change_mu_k")->identifiable);
  EXPECT_FALSE(fit.Find("change_e_star")->identifiable);
}

// A ball that grips and springs back: e_t is found beside mu and e, chosen where it is there, and
// not known where nothing sticks.
TEST(CoefficientModel, TangentialRestitutionIsFoundAndChosen) {
  const Body ball = MakeBall(0.02, 0.03, true);
  const CoefficientModel tangential{.fit_e_t = true};
  const auto campaign = [&](double mu, double e_t, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const twin::Options options{
        .n = 40, .mu = mu, .e = 0.7, .e_t = e_t, .sd_t = 0.01, .sd_n = 0.01, .sd_c = 0.01};
    return std::vector<EventGroup>{{"all", ball, twin::Experiment(ball, options, random)}};
  };
  const auto chosen = [&](const std::vector<EventGroup>& groups) {
    for (const ModelScore& score : CompareModels(groups, RestitutionLaw::kEnergetic,
                                                 std::vector{kConstant, tangential}, 5, kGaussian))
      if (score.chosen) return ModelName(score.fit.model);
    return std::string();
  };
  int covered = 0;
  constexpr int kRepeats = 20;
  for (int k = 0; k < kRepeats; ++k) {
    const CoefficientFit fit =
        Fit(campaign(0.15, 0.45, 100 + static_cast<std::uint64_t>(k)), tangential);
    ASSERT_TRUE(fit.ok);
    const ParameterEstimate& e_t = *fit.Find("e_t");
    ASSERT_TRUE(e_t.identifiable);
    EXPECT_NEAR(e_t.value, 0.45, 5 * e_t.sd);
    EXPECT_LT(e_t.sd, 0.03);
    EXPECT_NEAR(fit.parameters[0].value, 0.15, 0.02);
    covered += e_t.lower95 <= 0.45 && 0.45 <= e_t.upper95;
  }
  EXPECT_GE(covered, 16);  // below it one time in a thousand
  EXPECT_EQ(chosen(campaign(0.15, 0.45, 7)), "tangential");
  EXPECT_EQ(chosen(campaign(0.15, 0, 8)), "constant");
  const CoefficientFit slides = Fit(campaign(0.002, 0.45, 9), tangential);
  ASSERT_TRUE(slides.ok);
  EXPECT_FALSE(slides.Find("e_t")->identifiable);
}

TEST(CoefficientModel, NamesReadBack) {
  for (const char* name : {"constant", "speed", "speed1", "speed0.25", "order", "speed_order",
                           "static", "tangential", "static_tangential_groups", "groups", "separate",
                           "speed_groups", "mugroups_eseparate", "speed_static_egroups"}) {
    EXPECT_EQ(ModelName(ParseModel(name)), name);
  }
  for (const char* name : {"", "sped", "speed_speed", "groups_speed", "speed99", "speednan",
                           "constant_speed", "speed1x", "_"})
    EXPECT_THROW(ParseModel(name), ConfigError) << name;
}

TEST(CoefficientModel, DataThatTellNothingAreSaidSo) {
  std::mt19937_64 random(16);
  const std::vector<EventGroup> nobody{{"none", twin::Square(), {}}};
  const CoefficientFit none = Fit(nobody, kSpeed);
  EXPECT_FALSE(none.ok);
  EXPECT_FALSE(none.reason.empty());
  EXPECT_TRUE(CompareModels(nobody, RestitutionLaw::kEnergetic, std::vector{kConstant}, 5).empty());
  std::vector<EventGroup> mixed = Population(2, 3, 0, 0, 0, random);
  mixed[1].body = MakeBox({0.06, 0.06, 0.06}, 1, false);
  EXPECT_THROW(Fit(mixed, kConstant), ConfigError);
  // One speed tells no exponent.
  std::vector<EventGroup> one = Population(1, 1, 0, 0, 0, random);
  ImpactEvent again = one[0].events[0];
  again.recording = "again";
  one[0].events.push_back(again);
  const CoefficientFit flat = Fit(one, kSpeed);
  if (flat.ok) {
    EXPECT_FALSE(flat.Find("exponent")->identifiable);
  }
}

}  // namespace
}  // namespace impactlab
