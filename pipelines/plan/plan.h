#pragma once
// A planned experiment on friction and restitution: the uncertainty to expect of it.
//
// Every setting of the apparatus (slope, height, lean, speed, spin) is released several times as it
// would be by hand, each drop is followed through its impact and filmed without noise, and the
// bundle fit (or the fit to poses) of what was filmed gives the covariance of the event. From these
// the shares of the settings follow by impact/identify/design.h. The
// intervals of a number of drops are not taken from the information, which includes neither
// Student's quantile nor the fit of the scatter: campaigns are drawn and identified, and the
// information only scales their half widths to other numbers of drops.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "calibration/camera/rig.h"
#include "impact/identify/design.h"
#include "impact/identify/identify.h"
#include "reconstruction/pose/marker_pose.h"

namespace impactlab {

// One setting of the apparatus.
struct PlanSetting {
  double slope = 0;   // of the surface, downhill along W_x [rad]
  double height = 0;  // by which the lowest point falls [m]
  // of the line from the vertex that strikes to the centre of mass (smooth bodies: of B_z) from the
  // normal, downhill [rad]
  double lean = 0;
  double speed = 0;  // at the release, along the surface and downhill [m/s]
  double spin = 0;   // at the release, about -W_y [rad/s]
};

// Standard deviations of releases by hand or clamp.
struct ReleaseScatter {
  double height = 0.002;  // [m]
  double lean = 0.05;     // [rad]
  double azimuth = 0.05;  // of the lean about the normal [rad]; space only
  double roll = 0.05;     // about the leaning line [rad]; space only
  double speed = 0.02;    // each component along the surface [m/s]
  double spin = 0.2;      // each component; of a rod those across its axis [rad/s]
};

struct ExperimentDesign {
  std::filesystem::path path;
  std::string name;
  Body body;
  RestitutionLaw law = RestitutionLaw::kEnergetic;
  CoefficientPrior mu, e;
  // Impacts scatter by more than mu and e explain. The defaults lie between what the square drops
  // (0.035, 0.051, 0.063) and the cube tosses (0.034, 0.086, 0.123) of data/experiments show.
  ImpactScatter scatter{.wrench = {0.035, 0.07, 0.09}};
  std::vector<PlanSetting> settings;
  int vertex = 0;  // that strikes, of Vertices(body)
  ReleaseScatter release;
  int drops = 24;  // at most
  Eigen::Vector3d centre_W = Eigen::Vector3d::Zero(), gravity_W = Eigen::Vector3d(0, 0, -9.80665);
  double duration_after = 0.15;  // filmed after the impact [s]
  double rate = 0;               // [1/s]
  double exposure = 0;           // [s]
  // Bodies in space: cameras and markers.
  CameraRig rig;
  // a rig.yaml; else made of focal length, distance and baseline, without errors
  bool rig_known = false;
  std::vector<BodyMarker> markers;
  double pixel_sd = 0.05;   // of a centroid, one coordinate [px]
  double offset_sd = 0;     // of the clocks of the cameras after the first [s]
  double layout_sd = 1e-4;  // of every coordinate of a marker, the same in all drops [m]
  double inertia_sd = 0.01;
  // Poses, of bodies in a plane always.
  double noise_position = 0, noise_angle = 0;        // [m], [rad]
  Eigen::Vector2d wanted = Eigen::Vector2d::Zero();  // half widths of mu and e; 0: not given
  // of states after an impact [m/s], [rad/s]; 0: not given
  double wanted_sd_velocity = 0, wanted_sd_spin = 0;
  DesignCriterion criterion = DesignCriterion::kA;
  double effort = 1;                   // campaigns drawn, in units of the usual numbers
  std::vector<RestitutionLaw> rivals;  // to distinguish from `law`
  std::uint64_t seed = 1;
  bool filmed() const { return !markers.empty() && !body.planar; }
};

// Schema impactlab.plan/1 (keys in data/README). ConfigError.
ExperimentDesign LoadPlan(const std::filesystem::path& path);

// One setting as it would be filmed: rms over its usable drops unless stated
// otherwise.
struct SettingFigures {
  PlannedSetting drops;
  std::string refused;            // why most of its drops could not be used; empty: they can
  double approach = 0, slip = 0;  // speeds of the contact point before the impact [m/s]
  double frames_minus = 0, frames_plus = 0;
  double sd_t = 0;  // of the time of the impact [s]
  // at the impact, one coordinate; along the view of the cameras [m]
  double sd_position = 0, sd_depth = 0;
  double sd_v_minus = 0, sd_v_plus = 0;        // one component [m/s]
  double sd_spin_minus = 0, sd_spin_plus = 0;  // [rad/s]; of a rod across its axis
  // longest way of a marker's image during an exposure [px]
  double blur = 0;
  // smallest diameter of a marker's image [px]; 0: not known
  double marker_size = 0;
  double outside = 0;  // share of images that fall outside the pictures
};

// Releases, follows and films a setting `variants` times.
SettingFigures FilmSetting(const ExperimentDesign& plan, const PlanSetting& setting, int variants,
                           std::uint64_t seed);

// What campaigns of a number of drops give for one coefficient.
struct ExpectedCoefficient {
  double half_width = 0;  // median of the 95 % intervals
  double error95 = 0;     // 95 % of estimates lie nearer to the truth
  double determined = 0;  // share of campaigns with an interval closed on both sides
};

struct PlanPoint {
  int drops = 0;
  bool simulated = false;  // else carried over from the simulated numbers by the information
  ExpectedCoefficient mu, e;
};

// Campaigns drawn and identified. `intervals` of them with intervals, the others for their
// covariance alone.
struct CampaignStudy {
  int campaigns = 300, intervals = 40;
};
PlanPoint SimulateCampaigns(const ExperimentDesign& plan,
                            const std::vector<PlannedSetting>& settings,
                            const std::vector<int>& counts, const CampaignStudy& study,
                            std::uint64_t seed, int threads);

// Power to distinguish the plan's law from another: the difference of their log likelihoods,
// critical value by the other law as truth.
struct PlanRival {
  RestitutionLaw law = RestitutionLaw::kNewton;
  double e = 0, mu = 0;  // coefficients with which it comes closest to the plan's law
  // of the difference for one drop where the plan's law is true
  double mean = 0, sd = 0;
  double mean_other = 0, sd_other = 0;  // where the other one is
  // standard deviation of mean - mean_other by the number of campaigns
  double error = 0;
  double Power(int drops) const;  // of the test at level 5 %
  // Infinite where campaigns show no difference beyond three standard errors; then it takes more
  // than `Beyond`.
  double Drops(double power) const;
  double Beyond(double power) const;
};
PlanRival CompareLaws(const ExperimentDesign& plan, const std::vector<PlannedSetting>& settings,
                      const std::vector<int>& counts, RestitutionLaw rival, int campaigns,
                      std::uint64_t seed, int threads);

// States at another frame rate, of the setting with most drops.
struct PlanRate {
  double rate = 0, sd_v_plus = 0, sd_spin_plus = 0, sd_t = 0;
};

struct PlanCheck {
  std::string name;   // "blur", "depth", ...
  std::string found;  // with unit
  bool fine = true;
  std::string advice;  // what to change; empty where fine
};

struct PlanResult {
  std::vector<SettingFigures> settings;  // in the order of the plan's
  // of each setting, at each draw of the prior
  std::vector<std::vector<SettingInformation>> information;
  std::vector<double> shares;  // of the optimum
  std::vector<int> counts;     // of plan.drops
  // half widths were all drops made at one setting; infinite: not determined
  std::vector<Eigen::Vector2d> alone;
  std::array<double, 7> cases{};  // shares of the proposal's impacts
  // standard deviations by what all impacts share; part of all half widths
  Eigen::Vector2d common = Eigen::Vector2d::Zero();
  // half widths of the proposal by one cause alone, by the information
  Eigen::Vector2d by_scatter = common, by_noise = common;
  std::vector<PlanPoint> curve;  // by number of drops
  // drops for the wanted half widths; infinite: common errors forbid it; 0: not asked
  double needed_mu = 0, needed_e = 0;
  std::vector<PlanRival> rivals;
  std::vector<PlanRate> rates;
  std::vector<PlanCheck> checks;
  std::vector<std::string> limits;  // sentences: what limits it
  double seconds = 0;
};

// `step` is called with the name of each stage, for a terminal.
PlanResult MakePlan(const ExperimentDesign& plan, int threads = 0,
                    const std::function<void(const std::string&)>& step = {});

// plan.csv
void WritePlanTable(const std::filesystem::path& path, const ExperimentDesign& plan,
                    const PlanResult& result);
// plan.json
std::string PlanJson(const ExperimentDesign& plan, const PlanResult& result);
void WritePlanPage(const std::filesystem::path& path, const ExperimentDesign& plan,
                   const PlanResult& result, const std::string& library);
std::string BriefReport(const ExperimentDesign& plan, const PlanResult& result);  // one screen

}  // namespace impactlab
