#include "pipelines/tables/solve_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/base/error.h"

namespace impactlab {
namespace {

using nlohmann::json;

// Shen and Townsend 1998, example 1, first row: e = 0.5, mu_s = 0.25, mu = 0.2.
const char* kRow =
    R"({"A_F": [[0.813446, 0, 0.507103], [0, 1, 0], [0.507103, 0, 0.336520]], "v_minus_F": [-0.534331, 0, -0.268404],
  "law": "poisson", "e": 0.5, "mu_k": 0.2, "mu_s": 0.25})";

json Solve(const std::string& text) { return json::parse(SolveCasesJson(text, "cases.json")); }

TEST(SolveIo, PrintedRowOfShenAndTownsend1998) {
  const json out = Solve(std::string("[") + kRow + "]");
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0]["status"], "ok");
  EXPECT_NEAR(out[0]["J_F"][2].get<double>(), 0.9193, 1e-4);
  EXPECT_NEAR(out[0]["v_plus_F"][0].get<double>(), 0.04186, 2e-5);
  EXPECT_NEAR(out[0]["v_plus_F"][2].get<double>(), 0.10955, 2e-5);
  EXPECT_TRUE(out[0]["certificate"]["checks"].contains("momentum"));
  EXPECT_TRUE(out[0]["certificate"]["ok"].get<bool>()) << out[0]["certificate"].dump(1);
}

TEST(SolveIo, StaticFrictionDefaultsToKinetic) {
  json with = json::parse(kRow), without = with;
  with["mu_s"] = 0.2;
  without.erase("mu_s");
  const json out = Solve(json::array({with, without}).dump());
  EXPECT_EQ(out[0], out[1]);
}

// A sphere that grips: v_t+ = -e_t v_t-.
TEST(SolveIo, TangentialRestitution) {
  const json out = Solve(
      R"([{"A_F": [[3.5, 0, 0], [0, 3.5, 0], [0, 0, 1]], "v_minus_F": [0.3, 0, -1], "law": "newton", "e": 0.6,
                              "mu_k": 0.3, "e_t": 0.5}])");
  EXPECT_NEAR(out[0]["v_plus_F"][0].get<double>(), -0.15, 1e-12);
  EXPECT_TRUE(out[0]["certificate"]["checks"].contains("recovery"));
  EXPECT_TRUE(out[0]["certificate"]["ok"].get<bool>()) << out[0]["certificate"].dump(1);
}

TEST(SolveIo, BadRowsStayInPlaceWithAReason) {
  const std::vector<std::pair<const char*, const char*>> changes = {
      {R"({"mu_k": -0.1})", "mu_k"},  {R"({"e": 1.5})", "e"},
      {R"({"law": "hooke"})", "law"}, {R"({"A_F": [1, 2, 3]})", "A_F"},
      {R"({"mu_s": 0.1})", "mu_s"},   {R"({"e_t": 1.1})", "e_t"},
      {R"({"e": "half"})", "e"},      {R"({"v_minus_F": [1, 2]})", "v_minus_F"},
      {R"({"muk": 0.1})", "muk"},     {R"({"A_F": [[1,0,0],[0,1,0],[0,0,-1]]})", "A_F"},
      {R"({"e": null})", "e"}};
  for (const auto& [change, key] : changes) {
    json bad = json::parse(kRow);
    bad.update(json::parse(change));
    const json out = Solve(json::array({bad, json::parse(kRow)}).dump());
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(out[0]["status"], "invalid") << change;
    EXPECT_THAT(out[0]["reason"].get<std::string>(), ::testing::HasSubstr(key)) << change;
    EXPECT_FALSE(out[0].contains("v_plus_F"));
    EXPECT_EQ(out[1]["status"], "ok");
  }
}

TEST(SolveIo, EmptyArrayAndBadText) {
  EXPECT_EQ(Solve("[]"), json::array());
  EXPECT_THROW(Solve("{}"), DataError);
  EXPECT_THROW(Solve(""), DataError);
  EXPECT_THROW(Solve("[1,"), DataError);
  EXPECT_THROW(Solve(std::string(100000, '[')), DataError);
  EXPECT_THROW(Solve("[{\"e\": 1e999}]"), DataError);
  EXPECT_THROW(Solve("[{\"law\": \"\xff\"}]"), DataError);
  EXPECT_EQ(Solve("[1]")[0]["status"], "invalid");
}

TEST(SolveIo, SeparatingContactIsNoApproach) {
  json row = json::parse(kRow);
  row["v_minus_F"] = {0.1, 0, 0.2};
  const json out = Solve(json::array({row}).dump());
  EXPECT_EQ(out[0]["status"], "no_approach");
}

}  // namespace
}  // namespace impactlab
