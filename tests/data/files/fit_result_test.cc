#include "data/files/fit_result.h"

#include <cmath>
#include <random>

#include "data/files/text.h"
#include "tests/data/message.h"

namespace impactlab {
namespace {

using test::MessageOf;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool Same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool Same(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) return false;
  for (Eigen::Index i = 0; i < a.size(); ++i) {
    if (!Same(a.data()[i], b.data()[i])) return false;
  }
  return true;
}

FitResult Example() {
  FitResult result;
  result.n_events = 12;
  result.fitted = {{"drop_1", 0, -1.25}, {"drop_1", 1, -0.5}};
  result.rejected = {
      {"drop \"7\".csv", 0, "second_contact", "two corners within 3 ms\nof each other"},
      {"drop_8.csv", 1, "arc_misfit", ""}};
  LawFit fit;
  fit.law = "energetic";
  ParameterEstimate mu, e;
  mu.name = "mu_k";
  mu.value = 0.1234567890123456;
  mu.sd = 1.0 / 3;
  mu.sd_noise_only = 1e-3;
  mu.lower95 = 0.05;
  mu.identifiable = false;
  mu.reason = "every event sticks: upper side open";
  e.name = "e_star";
  e.value = 0.5;
  e.sd = 0.01;
  e.sd_noise_only = 0.001;
  e.lower95 = 0.48;
  e.upper95 = 0.52;
  e.identifiable = true;
  fit.mu_k = mu, fit.e = e;
  fit.covariance = Eigen::Matrix2d{{kNan, 0.1}, {0.1, 1e-4}};
  fit.covariance_noise_only = Eigen::Matrix2d{{1e-6, 0}, {0, 1e-6}};
  fit.discrepancy = {0.05, 0.03, 0.01, 0.002};
  fit.likelihood = "student_t";
  fit.loglik = -123.456;
  fit.dof = 22;
  fit.n_starts = 8;
  fit.n_starts_agreeing = 7;
  fit.sd_bootstrap = {0.01, kNan};
  fit.influence = {{"caf\xC3\xA9.csv", 0, {0.1, -0.2}, 0.7}};
  fit.grid_mu = {0, 0.1, 0.2};
  fit.grid_e = {0.4, 0.6};
  fit.grid_deviance = Eigen::MatrixXd(3, 2);
  fit.grid_deviance << 0, 1, 2, kInf, 4, 5;
  result.fits = {fit, fit};
  result.fits[1].law = "newton";
  result.fits[1].e.name = "e_n";
  result.fits[1].covariance.resize(0, 0);
  result.fits[1].influence.clear();
  return result;
}

TEST(FitResult, RoundTripsThroughJson) {
  const FitResult before = Example();
  const std::string text = ToJson(before);
  const FitResult after = FitResultFromJson(text, "fit.json");
  EXPECT_EQ(after.n_events, before.n_events);
  ASSERT_EQ(after.fitted.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(after.fitted[i].recording, before.fitted[i].recording);
    EXPECT_EQ(after.fitted[i].impact, before.fitted[i].impact);
    EXPECT_EQ(after.fitted[i].v_minus_n, before.fitted[i].v_minus_n);
  }
  ASSERT_EQ(after.rejected.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(after.rejected[i].recording, before.rejected[i].recording);
    EXPECT_EQ(after.rejected[i].impact, before.rejected[i].impact);
    EXPECT_EQ(after.rejected[i].reason, before.rejected[i].reason);
    EXPECT_EQ(after.rejected[i].detail, before.rejected[i].detail);
  }
  ASSERT_EQ(after.fits.size(), 2u);
  for (std::size_t k = 0; k < 2; ++k) {
    const LawFit &a = after.fits[k], &b = before.fits[k];
    EXPECT_EQ(a.law, b.law);
    const auto found = ListParameters(a), expected = ListParameters(b);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const ParameterEstimate &p = found[i], &q = expected[i];
      EXPECT_EQ(p.name, q.name);
      EXPECT_TRUE(Same(p.value, q.value) && Same(p.sd, q.sd) &&
                  Same(p.sd_noise_only, q.sd_noise_only));
      EXPECT_TRUE(Same(p.lower95, q.lower95) && Same(p.upper95, q.upper95));
      EXPECT_EQ(p.identifiable, q.identifiable);
      EXPECT_EQ(p.reason, q.reason);
    }
    EXPECT_TRUE(Same(a.covariance, b.covariance));
    EXPECT_TRUE(Same(a.covariance_noise_only, b.covariance_noise_only));
    EXPECT_EQ(a.discrepancy.sd_tangential, b.discrepancy.sd_tangential);
    EXPECT_EQ(a.discrepancy.sd_normal, b.discrepancy.sd_normal);
    EXPECT_EQ(a.discrepancy.sd_couple, b.discrepancy.sd_couple);
    EXPECT_EQ(a.discrepancy.sd_couple_normal, b.discrepancy.sd_couple_normal);
    EXPECT_EQ(a.likelihood, b.likelihood);
    EXPECT_EQ(a.loglik, b.loglik);
    EXPECT_EQ(a.dof, b.dof);
    EXPECT_EQ(a.n_starts, b.n_starts);
    EXPECT_EQ(a.n_starts_agreeing, b.n_starts_agreeing);
    ASSERT_EQ(a.sd_bootstrap.size(), 2u);
    EXPECT_TRUE(std::isnan(a.sd_bootstrap[1]));
    ASSERT_EQ(a.influence.size(), b.influence.size());
    EXPECT_EQ(a.grid_mu, b.grid_mu);
    EXPECT_EQ(a.grid_e, b.grid_e);
    EXPECT_TRUE(Same(a.grid_deviance, b.grid_deviance));
  }
  EXPECT_EQ(after.fits[0].influence[0].recording, before.fits[0].influence[0].recording);
  EXPECT_EQ(after.fits[0].influence[0].shift, before.fits[0].influence[0].shift);
  EXPECT_EQ(after.fits[0].influence[0].weight, 0.7);
  EXPECT_EQ(ToJson(after), text);
}

TEST(FitResult, JsonHasThePublishedShape) {
  const std::string text = ToJson(Example());
  EXPECT_THAT(text, StartsWith("{\n  \"schema\": \"impactlab.fit/1\",\n  \"verdict\": "
                               "\"not_tested\",\n  \"reason\": \"\",\n  "
                               "\"withheld\": false,\n  \"n_events\": 12,\n  \"fitted\": [\n"));
  EXPECT_THAT(text, HasSubstr("\"mu_k\": {\n"));
  EXPECT_THAT(text, HasSubstr("\"upper95\": null"));
  EXPECT_THAT(text, HasSubstr("[null, 0.1]"));
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_LT(text.find("\"mu_k\""), text.find("\"e_star\""));
  EXPECT_THAT(ToJson({}), HasSubstr("\"fits\": []"));
  EXPECT_EQ(FitResultFromJson(ToJson({}), "fit.json").n_events, 0);
}

TEST(FitResult, AFreshParameterSurvives) {
  FitResult result;
  result.fits.emplace_back();
  result.fits[0].law = "poisson";
  result.fits[0].mu_k.name = "mu_k";
  const FitResult back = FitResultFromJson(ToJson(result), "fit.json");
  EXPECT_TRUE(std::isnan(back.fits[0].mu_k.value));
  EXPECT_EQ(back.fits[0].mu_k.lower95, 0);
  EXPECT_EQ(back.fits[0].mu_k.upper95, kInf);
}

TEST(FitResult, RecordingNamesMayHoldAnyBytes) {
  FitResult result;
  result.rejected = {{"caf\xE9.csv", 0, "no_impact", ""}};
  EXPECT_EQ(FitResultFromJson(ToJson(result), "fit.json").rejected[0].recording,
            "caf\xEF\xBF\xBD.csv");
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

TEST(FitResult, HostileJsonNamesThePlace) {
  const std::string good = ToJson(Example());
  const auto fault = [&](const std::string& text) {
    std::string message = MessageOf<DataError>([&] { FitResultFromJson(text, "fit.json"); });
    EXPECT_THAT(message,
                AllOf(StartsWith("fit.json: "), HasSubstr("found "), HasSubstr(", allowed ")));
    return message;
  };
  const auto changed = [&](const char* from, const char* to) {
    return fault(Replaced(good, from, to));
  };
  EXPECT_THAT(fault(""), HasSubstr("line 1"));
  EXPECT_THAT(fault(good.substr(0, good.size() / 2)), HasSubstr("line"));
  EXPECT_THAT(fault("[]"), HasSubstr("document: found a list of 0, allowed an object"));
  EXPECT_THAT(fault("{}"), HasSubstr("schema: found nothing"));
  EXPECT_THAT(fault("3"), HasSubstr("document: found 3"));
  EXPECT_THAT(changed("impactlab.fit/1", "impactlab.fit/9"),
              HasSubstr("schema: found \"impactlab.fit/9\", allowed impactlab.fit/1"));
  EXPECT_THAT(changed("\"n_events\": 12", "\"n_events\": -12"), HasSubstr("n_events: found -12"));
  EXPECT_THAT(changed("\"n_events\": 12", "\"n_events\": 12.5"),
              HasSubstr("n_events: found 12.5, allowed a whole number"));
  EXPECT_THAT(changed("\"n_events\": 12", "\"n_events\": 1e99"), HasSubstr("n_events"));
  EXPECT_THAT(changed("\"n_events\": 12", "\"n_events\": 99999999999"), HasSubstr("n_events"));
  EXPECT_THAT(changed("\"n_events\": 12,", "\"n_events\": 12, \"n_events\": 13,"),
              HasSubstr("'n_events' twice"));
  EXPECT_THAT(changed("\"dof\": 22", "\"dof\": NaN"), HasSubstr("line"));
  EXPECT_THAT(changed("-123.456", "1e999"), HasSubstr("1e999"));
  EXPECT_THAT(changed("\"energetic\"", "\"hertz\""),
              HasSubstr("fits[0].law: found \"hertz\", allowed newton | poisson | energetic"));
  EXPECT_THAT(changed("\"mu_k\": {", "\"mu_x\": {"), HasSubstr("fits[0].parameters.mu_x"));
  EXPECT_THAT(changed("0.1234567890123456", "\"0.12\""),
              HasSubstr("fits[0].parameters.mu_k.value: found \"0.12\", allowed a number or null"));
  EXPECT_THAT(changed("\"identifiable\": false", "\"identifiable\": 0"),
              HasSubstr("mu_k.identifiable: found 0, allowed true or false"));
  EXPECT_THAT(changed("[null, 0.1]", "[null]"),
              HasSubstr("fits[0].covariance[0]: found a list of 1, allowed a list of 2 numbers"));
  EXPECT_THAT(changed("[null, 0.1]", "null"), HasSubstr("fits[0].covariance[0]: found null"));
  EXPECT_THAT(changed("[0.01, null]", "[0.01]"), HasSubstr("sd_bootstrap: found a list of 1"));
  EXPECT_THAT(changed("\"mu_k\": [0.0, 0.1, 0.2]", "\"mu_k\": [0.0, 0.1]"),
              HasSubstr("grid.deviance: found a list of 3"));
  EXPECT_THAT(changed("second_contact", "\x1B[2J"), HasSubstr("line"));
  EXPECT_THAT(changed("second_contact", "\xE9"), HasSubstr("found"));
  EXPECT_THAT(fault(std::string(100000, '[')), HasSubstr("levels"));
  EXPECT_THAT(fault(std::string(100000, '{')), HasSubstr("found"));
}

TEST(FitResult, TangentialRestitutionStandsBetweenRestitutionAndStaticFriction) {
  FitResult result = Example();
  LawFit& fit = result.fits[0];
  fit.e_t = ParameterEstimate{.name = "e_t", .value = 0.2, .reason = {}};
  fit.mu_s = ParameterEstimate{.name = "mu_s", .value = 0.3, .lower95 = 0.2, .reason = {}};
  fit.covariance = fit.covariance_noise_only = Eigen::Matrix4d::Constant(kNan);
  fit.sd_bootstrap.assign(4, kNan);
  fit.influence[0].shift.assign(4, 0);
  const LawFit back = FitResultFromJson(ToJson(result), "fit.json").fits[0];
  ASSERT_TRUE(back.e_t.has_value());
  EXPECT_EQ(back.e_t->value, 0.2);
  EXPECT_EQ(back.covariance.rows(), 4);
  const auto listed = ListParameters(back);
  ASSERT_EQ(listed.size(), 4u);
  EXPECT_EQ(listed[2].get().name, "e_t");
  EXPECT_EQ(listed[3].get().name, "mu_s");
}

TEST(FitResult, StaticFrictionStandsBehindRestitution) {
  FitResult result = Example();
  LawFit& fit = result.fits[0];
  fit.mu_s = ParameterEstimate{.name = "mu_s", .value = 0.3, .lower95 = 0.2, .reason = {}};
  fit.covariance = fit.covariance_noise_only = Eigen::Matrix3d::Constant(kNan);
  fit.sd_bootstrap.push_back(kNan);
  fit.influence[0].shift.push_back(0);
  const std::string text = ToJson(result);
  const LawFit back = FitResultFromJson(text, "fit.json").fits[0];
  ASSERT_TRUE(back.mu_s.has_value());
  EXPECT_EQ(back.mu_s->value, 0.3);
  EXPECT_EQ(back.e.name, "e_star");
  EXPECT_EQ(back.covariance.rows(), 3);
  const auto listed = ListParameters(back);
  ASSERT_EQ(listed.size(), 3u);
  EXPECT_EQ(listed[0].get().name, "mu_k");
  EXPECT_EQ(listed[1].get().name, "e_star");
  EXPECT_EQ(listed[2].get().name, "mu_s");
  EXPECT_FALSE(FitResultFromJson(text, "fit.json").fits[1].mu_s.has_value());

  // Covariances are read by position, so the order of the names counts; and a law has one e.
  const auto fault = [&](const std::string& from, const std::string& to) {
    std::string changed = ToJson(Example());
    changed.replace(changed.find(from), from.size(), to);
    try {
      FitResultFromJson(changed, "fit.json");
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(fault("\"mu_k\": {", "\"mu_s\": {"), HasSubstr("in this order"));
  EXPECT_THAT(fault("\"e_star\": {", "\"e_n\": {"),
              HasSubstr("fits[0].parameters.e_n: found an object, allowed parameters mu_k"));
}

TEST(FitResult, RandomDamageIsAlwaysOneLine) {
  const std::string good = ToJson(Example());
  std::mt19937_64 random(21);
  const std::string alphabet = "{}[]:,\"\\-+.eE0 nul\n\x80\xFF\x01";
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (std::uint64_t n = 1 + random() % 3; n > 0; --n) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text.erase(at, 1 + random() % 8);
      } else {
        text.insert(at, 1, alphabet[random() % alphabet.size()]);
      }
    }
    try {
      FitResultFromJson(text, "fit.json");
    } catch (const DataError& error) {
      ++refused;
      EXPECT_FALSE(FindTextFault(error.what()).has_value()) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(refused, 1500);
}

TEST(FitResult, BriefReportSaysWhatMatters) {
  const std::string report = Example().BriefReport();
  EXPECT_THAT(report, HasSubstr("12 events used, 2 rejected (1 arc_misfit, 1 second_contact)"));
  EXPECT_THAT(report, HasSubstr("e_star  0.500 +- 0.010  95 % [0.48, 0.52]"));
  EXPECT_THAT(
      report,
      HasSubstr("95 % [0.05, open]  not identifiable (every event sticks: upper side open)"));
  EXPECT_THAT(report, HasSubstr("only 7 of 8 starts"));
  EXPECT_LT(std::count(report.begin(), report.end(), '\n'), 14);
  FitResult empty;
  empty.fits.emplace_back();
  empty.fits[0].mu_k.name = "mu_k";
  EXPECT_THAT(empty.BriefReport(), HasSubstr("not known"));
}

TEST(FitResult, CarriesTheVerdictOfTheDataAndReadsFilesWithoutOne) {
  FitResult result = Example();
  result.verdict = {"does_not_close", "residual 46 % of the spin change", true};
  const std::string text = ToJson(result);
  const FitResult read = FitResultFromJson(text, "fit.json");
  EXPECT_EQ(read.verdict.verdict, "does_not_close");
  EXPECT_EQ(read.verdict.reason, result.verdict.reason);
  EXPECT_TRUE(read.verdict.withheld);
  EXPECT_THAT(result.BriefReport(), Not(HasSubstr("energetic")));
  std::string earlier = text;
  for (const char* key : {"verdict", "reason", "withheld"}) {
    const auto from = earlier.find("  \"" + std::string(key) + "\": ");
    earlier.erase(from, earlier.find('\n', from) + 1 - from);
  }
  EXPECT_EQ(FitResultFromJson(earlier, "fit.json").verdict.verdict, "not_tested");
  std::string wrong = text;
  wrong.replace(wrong.find("does_not_close"), 14, "shuts");
  EXPECT_THAT(MessageOf<DataError>([&] { FitResultFromJson(wrong, "fit.json"); }),
              HasSubstr("verdict: found \"shuts\""));
}

}  // namespace
}  // namespace impactlab
