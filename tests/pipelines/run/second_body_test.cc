// A struck body that moves: its part of an experiment file, its files, its columns of events.csv
// and what is judged by it.

#include "pipelines/run/second_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/statistics/statistics.h"
#include "pipelines/run/experiment.h"
#include "pipelines/study/validation.h"
#include "pipelines/tables/tables.h"
#include "tests/reconstruction/two_body_scene.h"
#include "tests/support/faults.h"
#include "tests/support/folder.h"

namespace impactlab {
namespace {

using test::TemporaryFolder;
using ::testing::HasSubstr;

const std::string kSecondBodyHead =
    "schema: impactlab.experiment/1\nrecordings: {kind: spatial_poses, files: rod/*.csv}\nbody: "
    "{shape: rod, length_m: 0.14, radius_m: "
    "0.006, "
    "mass_kg: 0.06}\n";
const std::string kPlate =
    "second_body:\n  files: plate/*.csv\n  body: {shape: box, sides_m: [0.2, 0.15, 0.02], mass_kg: "
    "0.4}\n  surface: {normal: [0, 0, 2], "
    "offset_m: 0.01}\n";

Experiment SecondBodyLoad(const std::string& text) { return test::LoadText(text); }

std::string SecondBodyFault(const std::string& text) {
  return test::FaultOf([&] { SecondBodyLoad(text); });
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return text.replace(text.find(from), from.size(), to);
}

TEST(SecondBody, FileIsReadAndWrittenBackExactly) {
  const std::string text = kSecondBodyHead + kPlate +
                           "  axis: {point_m: [0.1, 0, 0.02], direction: [0, 2, 0], inertia_kg_m2: "
                           "0.0041}\n  columns: {x: \"plate x mm\"}\n";
  const Experiment e = SecondBodyLoad(text);
  ASSERT_TRUE(e.second);
  EXPECT_EQ(e.second->struck.body.mass, 0.4);
  EXPECT_EQ(e.second->struck.surface_B.normal, Eigen::Vector3d::UnitZ());
  EXPECT_EQ(e.second->struck.surface_B.offset, 0.01);
  EXPECT_EQ(e.second->struck.axis->axis_W, Eigen::Vector3d::UnitY());
  EXPECT_EQ(e.second->struck.axis->p_W, Eigen::Vector3d(0.1, 0, 0.02));
  EXPECT_EQ(e.second->struck.axis->inertia, 0.0041);
  EXPECT_EQ(e.second->columns.names.at("x"), "plate x mm");
  EXPECT_FALSE(e.second->columns.planar);
  const std::string written = ToYaml(e);
  const Experiment back = SecondBodyLoad(written);
  EXPECT_EQ(ToYaml(back), written);
  EXPECT_TRUE(std::filesystem::path(back.second->files).is_absolute());
  EXPECT_EQ(back.second->struck.axis->p_W, e.second->struck.axis->p_W);
}

TEST(SecondBody, FaultsNameTheKeyAndWhatIsAllowed) {
  const std::string good = kSecondBodyHead + kPlate;
  EXPECT_EQ(SecondBodyFault(good), "no error");
  EXPECT_THAT(SecondBodyFault(Replaced(good, "surface:", "surfcae:")), HasSubstr("second_body"));
  EXPECT_THAT(SecondBodyFault(Replaced(good, "offset_m: 0.01", "offset_mm: 10")),
              HasSubstr("offset_m"));
  EXPECT_THAT(SecondBodyFault(Replaced(good, "[0, 0, 2]", "[0, 0, 0]")),
              HasSubstr("second_body.surface.normal"));
  EXPECT_THAT(SecondBodyFault(Replaced(good, ", mass_kg: 0.4", "")),
              HasSubstr("second_body.body.mass_kg"));
  EXPECT_THAT(SecondBodyFault(Replaced(good, ", mass_kg: 0.06", "")), HasSubstr("body.mass_kg"));
  EXPECT_THAT(SecondBodyFault(Replaced(good, "  files: plate/*.csv\n", "")),
              HasSubstr("second_body.files"));
  EXPECT_THAT(SecondBodyFault(good + "  axis: {point_m: [0, 0, 0], direction: [0, 0, 0]}\n"),
              HasSubstr("second_body.axis.direction"));
  EXPECT_THAT(SecondBodyFault(good + "  axis: {point_m: [0, 0, 0], directon: [0, 1, 0]}\n"),
              HasSubstr("direct"));
  EXPECT_THAT(SecondBodyFault(good + "  tracking: plate.yaml\n"), HasSubstr("tracking"));
  EXPECT_THAT(SecondBodyFault(good + "floor: {normal: [0, 0, 1]}\n"),
              HasSubstr("second_body.surface"));
  EXPECT_THAT(SecondBodyFault(good + "audit: {apply: all}\n"), HasSubstr("audit.apply"));
  EXPECT_THAT(SecondBodyFault(good + "correction: {mirrored: true}\n"), HasSubstr("correction"));
  EXPECT_THAT(SecondBodyFault(Replaced(Replaced(good, "spatial_poses", "planar_poses"),
                                       "length_m: 0.14", "length_m: 0.14")),
              HasSubstr("second_body"));
}

std::vector<ImpactEvent> Events(int n, bool on_axis, std::uint64_t seed, test::Blow* last) {
  std::mt19937_64 random(seed);
  std::vector<ImpactEvent> events;
  for (int k = 0; k < n; ++k) {
    *last = test::DrawBlow({.on_axis = on_axis}, random);
    for (TwoBodyEvent& event :
         FitTwoBodies(last->first, last->striker, last->second, last->plate)) {
      event.event.recording = "blow " + std::to_string(k);
      events.push_back(event.event);
    }
  }
  return events;
}

TEST(SecondBody, EventsReadBackExactly) {
  const TemporaryFolder folder;
  test::Blow blow;
  std::vector<ImpactEvent> events = Events(3, true, 5, &blow);
  ASSERT_EQ(events.size(), 3u);
  ImpactEvent bad;
  bad.recording = "unreadable";
  bad.reason = RejectReason::kBadRecording;
  events.push_back(bad);
  WriteEvents(folder.path(), events);
  const std::vector<ImpactEvent> back =
      ReadEvents(folder / "events.csv", blow.striker, Plane{}, blow.gravity);
  ASSERT_EQ(back.size(), 4u);
  EXPECT_FALSE(back[3].struck);
  for (int k = 0; k < 3; ++k) {
    const ImpactEvent &a = events[k], &b = back[k];
    ASSERT_TRUE(b.struck);
    EXPECT_LT((a.contact.A_F - b.contact.A_F).norm(), 1e-12 * a.contact.A_F.norm());
    EXPECT_LT((a.contact.v_minus_F - b.contact.v_minus_F).norm(), 1e-12);
    EXPECT_LT((a.contact.X_WF.linear() - b.contact.X_WF.linear()).norm(), 1e-12);
    EXPECT_LT((a.v_plus_F - b.v_plus_F).norm(), 1e-12);
    EXPECT_EQ(a.cov, b.cov);
    EXPECT_EQ(a.struck->A_W, b.struck->A_W);
    EXPECT_EQ(a.struck->omega_plus, b.struck->omega_plus);
    EXPECT_EQ(a.struck->closure_chi_square, b.struck->closure_chi_square);
    EXPECT_EQ(a.struck->closure_dof, 1);
  }
  // A table that lacks a column of the second body is not taken for one of a body on a floor.
  std::string text = ReadFile(folder / "events.csv");
  WriteFile(folder / "events.csv", Replaced(text, "A2_xx_per_kg", "B2_xx_per_kg"));
  try {
    ReadEvents(folder / "events.csv", blow.striker, Plane{}, blow.gravity);
    ADD_FAILURE() << "no error";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("A2_xx_per_kg"));
  }
}

TEST(SecondBody, FilesArePairedByName) {
  const TemporaryFolder folder;
  test::Blow blow;
  std::mt19937_64 random(6);
  std::vector<PoseRecording> recordings;
  for (const char* name : {"a", "c"}) {
    blow = test::DrawBlow({}, random);
    blow.second.name = name;
    recordings.push_back(blow.second);
  }
  WritePoses(folder / "plate", std::vector<const PoseRecording*>{&recordings[0], &recordings[1]});
  SecondBody second;
  second.files = "plate/*.csv";
  second.columns.planar = false;
  const SecondRecordings found = ReadSecondBody(
      second, folder.path(), {"rod/a.csv", "rod/b.csv", "rod/c.csv"}, {"a", "b", "c"});
  EXPECT_EQ(found.poses.recordings[0].fault, "");
  EXPECT_THAT(found.poses.recordings[1].fault, HasSubstr("none named b"));
  EXPECT_EQ(found.poses.recordings[2].poses.t, recordings[1].t);
  EXPECT_TRUE(found.poses.recordings[1].poses.t.empty());
  EXPECT_THROW(ReadSecondBody(second, folder.path(), {"rod/x.csv"}, {"x"}), DataError);
}

TEST(SecondBody, BadPairsAreEventsWithTheReason) {
  test::Blow blow;
  std::mt19937_64 random(7);
  blow = test::DrawBlow({}, random);
  PoseRecording later = blow.second;
  for (double& t : later.t) t += 10;
  const MotionFit apart = FitRelativeMotion(blow.first, blow.striker, later, blow.plate, {});
  ASSERT_EQ(apart.events.size(), 1u);
  EXPECT_EQ(apart.events[0].reason, RejectReason::kBadRecording);
  EXPECT_THAT(apart.events[0].detail, HasSubstr("no common time"));
  PoseRecording away = blow.second;
  for (auto& X : away.X_WB) X.translation().z() -= 1;
  const MotionFit missed = FitRelativeMotion(blow.first, blow.striker, away, blow.plate, {});
  ASSERT_EQ(missed.events.size(), 1u);
  EXPECT_EQ(missed.events[0].reason, RejectReason::kNoImpact);
}

TEST(SecondBody, SurfaceFrameKeepsWhatTheAuditAsks) {
  test::Blow blow;
  for (const ImpactEvent& event : Events(3, false, 8, &blow)) {
    const ImpactEvent seen =
        SeenFromSurface(std::vector<ImpactEvent>{event}, blow.striker, blow.plate, blow.gravity)
            .front();
    EXPECT_FALSE(seen.struck);
    EXPECT_LT((seen.contact.X_WF.linear().col(2) - Eigen::Vector3d::UnitZ()).norm(), 1e-12);
    EXPECT_NEAR(seen.contact.v_minus_F.z(), event.contact.v_minus_F.z(), 1e-12);
    EXPECT_NEAR(MeasuredImpulse(seen, blow.striker).norm(),
                MeasuredImpulse(event, blow.striker).norm(), 1e-12);
    // The lowest point is at the surface within the noise of the poses, and not by construction.
    EXPECT_LT(std::abs(seen.p_WP.z()), 3e-4);
    EXPECT_GT(std::abs(seen.p_WP.z()), 1e-9);
    EXPECT_NEAR(seen.cov.trace(), event.cov.trace(), 1e-9 * event.cov.trace());
  }
}

TEST(SecondBody, ClosureJudgesMassesAndValidationTheRelativeMotion) {
  test::Blow blow;
  std::vector<ImpactEvent> events = Events(8, false, 9, &blow);
  const MomentumClosure closure = ClosureOf(events);
  EXPECT_EQ(closure.dof, 3 * closure.impacts);
  EXPECT_NEAR(closure.probability, 1 - ChiSquareCdf(closure.chi_square, closure.dof), 1e-12);
  EXPECT_TRUE(closure.ok) << ToWords(closure);
  for (ImpactEvent& event : events) event.struck->closure_chi_square *= 20;
  EXPECT_FALSE(ClosureOf(events).ok);
  EXPECT_THAT(ToWords(ClosureOf(events)), HasSubstr("does not close"));
  EXPECT_THAT(ToWords(ClosureOf({})), HasSubstr("cannot be told"));

  // With the coefficients that made the impacts the predicted separation of the contact points is
  // the measured one.
  LawFit fit;
  fit.law = "energetic";
  fit.mu_k.name = "mu_k";
  fit.mu_k.value = 0.2;
  fit.e.name = "e_star";
  fit.e.value = 0.6;
  for (const ImpactEvent& event : events) {
    if (!event.accepted) continue;
    const Prediction prediction = Predict(event, blow.striker, ModelOf(fit), fit);
    // v_plus_F of the outcome is relative; so is the measured one, from the poses of both bodies.
    EXPECT_NEAR(prediction.outcome.v_plus_F.z(), event.v_plus_F.z(), 0.03);
  }
}

}  // namespace
}  // namespace impactlab
