#pragma once
// What all impacts of a run from marker images share of their errors: cameras, layout of the
// markers, direction of gravity, moments and outline of the body.
//
// Every source is split into independent directions of one prior standard deviation each, carried
// through the bundle fits to first order. What the impacts themselves say of them is used before
// anything is made of the impacts (see FindSharedErrors).

#include <Eigen/Core>
#include <array>
#include <string>
#include <vector>

#include "impact/identify/shared_errors.h"
#include "pipelines/config/run_context.h"
#include "pipelines/run/experiment.h"
#include "pipelines/run/marker_recordings.h"
#include "reconstruction/bundle/impact_bundle.h"

namespace impactlab {

struct Analysis;

struct CommonSource {
  std::string name;               // "cameras", "layout", "gravity", "inertia", "outline"
  std::string how;                // what may be wrong, by how much, in words
  int first = 0, dimensions = 0;  // its directions among all
};

// States that a budget speaks of, each by one component: position, v_minus, v_plus, omega_minus,
// omega_plus.
using StateVariances = std::array<double, 5>;
inline constexpr int kStatePlaces[] = {kDropPose, kDropMinus, kDropPlus, kDropMinus + 3,
                                       kDropPlus + 3};

class CommonErrors {
 public:
  // `markers` with the layout that the fits of `analysis` have.
  CommonErrors(const Experiment& experiment, const MarkerRecordings& markers,
               const Analysis& analysis, const RunContext& context);

  int dimensions() const { return dimensions_; }
  const std::vector<CommonSource>& sources() const { return sources_; }
  const std::vector<std::string>& notes() const { return notes_; }  // what was left out and why
  // All events of the analysis and the body, were the errors c; covariances of what differs from
  // impact to impact.
  EventsOfBody At(const Eigen::VectorXd& c) const;
  // Mean over the accepted impacts.
  StateVariances Variances(const CommonSource& source) const;

 private:
  using Directions = Eigen::Matrix<double, kDropDim, Eigen::Dynamic>;
  void AddGiven(const std::string& name, const std::string& how, const Eigen::MatrixXd& cov,
                Directions ImpactBundle::*dx_dgiven);
  // whether any fit follows that direction
  bool Moves(const Eigen::VectorXd& given, Directions ImpactBundle::*dx_dgiven) const;
  void AddLayout();
  void AddGravity(const RunContext& context);
  void AddInertia(const RunContext& context);
  void AddOutline();
  // Change of every state when everything is fitted again with another gravity or body.
  std::vector<Eigen::Matrix<double, kDropDim, 1>> Refit(const Eigen::Vector3d& gravity_W,
                                                        const Body& body,
                                                        const RunContext& context) const;
  void AddRefit(const std::string& name, const std::string& how,
                const std::vector<std::vector<Eigen::Matrix<double, kDropDim, 1>>>& dx);

  const Experiment& experiment_;
  const MarkerRecordings& markers_;
  const Analysis& analysis_;
  Plane floor_;
  int dimensions_ = 0, inertia_ = -1, outline_ = -1;
  std::vector<CommonSource> sources_;
  std::vector<std::string> notes_;
  std::vector<ImpactEvent> events_;
  std::vector<const ImpactBundle*> fits_;  // behind every event; null where there is none
  std::vector<std::size_t> recording_;     // of every event
  std::vector<Directions> dx_;             // of every event; empty where it was not accepted
  // Of every event: where it touches, in B, were the body larger by one standard deviation, and
  // rounder.
  std::vector<Eigen::Matrix<double, 3, 2>> reach_;
};

// The analysis' events at the best common errors.
struct Adjustment {
  SharedErrors shared;
  EventsOfBody set;
};
Adjustment AdjustToCommon(const CommonErrors& common, const Experiment& experiment);

// Events of bundle fits with the covariance of what differs from impact to impact: all but the rig
// and a given layout.
std::vector<ImpactEvent> NoiseEvents(const Analysis& analysis);

}  // namespace impactlab
