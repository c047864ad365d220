#pragma once
// Motion of one synthetic drop: free flight, impacts, contact that lasts.
//
// Until contact lasts for the first time, flight follows Propagate, and impacts are roots of the
// gap of each vertex, found to 1e-12 s and solved with Solve. Contact lasts where bounces become
// too small to follow (or too many): from there on the motion is that of Simulate
// (impact/motion/simulate.h) - sliding, tipping, rolling, further flights, bounces down to 0.1
// mm/s, rest. Of its impacts, those that arrive too fast for that limit are solved here, one
// contact after the other and the fastest first, so that they scatter as the others do.

#include <Eigen/Core>
#include <filesystem>
#include <random>
#include <vector>

#include "impact/body/body.h"
#include "impact/body/event.h"
#include "impact/body/free_flight.h"
#include "impact/law/solve.h"

namespace impactlab {
struct SynthOptions;
struct SynthTruth;
}  // namespace impactlab

namespace impactlab::pipelines {

class Keys;

// Points of a body that can touch the floor: spheres around fixed centres (radius 0: vertices) or,
// for an ellipsoid, its lowest point.
class FloorContacts {
 public:
  FloorContacts(const Body& body, const Plane& floor);
  int size() const { return smooth_ ? 1 : static_cast<int>(centres_B_.size()); }
  double Gap(int i, const Eigen::Isometry3d& X_WB) const;             // signed distance [m]
  double GapRate(int i, const BodyState& state) const;                // [m/s]
  Eigen::Vector3d Point(int i, const Eigen::Isometry3d& X_WB) const;  // lowest point, in W [m]
  double LowestGap(const Eigen::Isometry3d& X_WB) const;
  // Least angle over the floor of the lines from point i to the others [rad]: 0 where two arrive
  // together, infinity where there is no other.
  double Lean(int i, const Eigen::Isometry3d& X_WB) const;
  // Point that spans this least angle with i; -1 where there is none.
  int Neighbour(int i, const Eigen::Isometry3d& X_WB) const;
  const Eigen::Vector3d& normal() const { return normal_; }

 private:
  // of the centre of sphere i, or of the lowest point [m]
  Eigen::Vector3d Lever(int i, const Eigen::Matrix3d& R_WB) const;
  const Body* body_;
  Eigen::Vector3d normal_;
  double offset_ = 0;
  bool smooth_ = false;
  double radius_ = 0;
  std::vector<Eigen::Vector3d> centres_B_;
};

// Impulses that scatter from impact to impact.
struct Scatter {
  // relative to m_eff |v_n-|, see Discrepancy
  double sd_tangential = 0, sd_normal = 0, sd_couple = 0;
  double sd_mu = 0, sd_e = 0;
  double wild_share = 0;
};

struct Strike {
  double t = 0;  // since the release [s]
  // states, contact point and contact; t and everything the recorder adds are not set
  ImpactEvent event;
  ImpactModel model;  // coefficients of this impact
  bool from_flight = true;
};

// A stretch of the motion, from `t` to the start of the next.
struct MotionPhase {
  enum class Kind { kFlight, kContact, kRest };
  double t = 0;
  Kind kind = Kind::kFlight;
  BodyState state;
  // Motion in lasting contact; without an end (t_end = t) it continues steadily.
  double t_end = 0;
  BodyState end;
};

struct DropMotion {
  std::vector<MotionPhase> stretches;
  std::vector<Strike> strikes;
  double t_end = 0;
  // of the impacts that end a flight before contact lasts [s]; their stretches meet in its middle
  double contact_time = 0;
  // Impacts that take time let the body into the floor; where contact lasts it is lifted out, over
  // the contact time around `lift_t`.
  Eigen::Vector3d lift = Eigen::Vector3d::Zero();  // [m]
  double lift_t = 0;                               // [s]
};

struct MotionRules {
  FlightOptions flight;
  ImpactModel model;
  Scatter scatter;
  // that are listed; the motion after them is simulated without scatter
  int max_impacts = 20;
  bool to_rest = false;  // the time after counts from the rest in place of the first impact
  // An impact that ends a flight begins where the body touches and lasts so long; its impulse,
  // drawn for the middle, rises and falls like a raised cosine [s].
  double contact_time = 0;
};

// Time of the first contact of a flight that starts now, and the point that touches; point -1 where
// there is none before `t_max`.
struct FirstContact {
  double t = 0;
  int point = -1;
  bool sunk = false;  // it never came out of the floor
};
FirstContact FindContact(const FloorContacts& contacts, const Body& body,
                         const FlightOptions& flight, const BodyState& start, double t_max);

// Motion from a release until `duration_after` behind the first impact (`to_rest`: behind the time
// at which it rests or moves on steadily, at most 20 s after the first impact), or until `t_max`
// where there is no impact. ConfigError when an impact cannot be solved or the motion cannot be
// followed.
DropMotion SimulateDrop(const Body& body, const Plane& floor, const MotionRules& rules,
                        const BodyState& release, double duration_after, double t_max,
                        std::mt19937_64& rng);

// The motion of a drop (from 1) of a scene, release and impacts drawn as `Synthesise` does.
// ConfigError.
DropMotion DrawMotion(const SynthOptions& options, int drop);

// Body, floor, law, releases and seed of a scene file. `poses`: the keys of the recorder of poses
// too.
void VisitMotion(Keys& keys, SynthOptions& options, bool planar, bool poses);
// truth.csv: events and their models.
void WriteTruth(const std::filesystem::path& path, const SynthTruth& truth);
// truth_rest.csv: where and when drops came to rest.
void WriteRests(const std::filesystem::path& path, const SynthTruth& truth, bool planar);

Eigen::Isometry3d PoseAt(const DropMotion& motion, const Body& body, const FlightOptions& flight,
                         double t);

}  // namespace impactlab::pipelines
