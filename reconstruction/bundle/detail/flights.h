#pragma once
// Pose, velocity and spin of the body at one instant, from the images of a few frames: a flight so
// short that nothing has to be known of it beforehand. Cameras need not expose together, one side
// of an impact is enough, and an outlying image does no harm.

#include <optional>
#include <vector>

#include "reconstruction/bundle/detail/problem.h"

namespace impactlab::reconstruction {

struct BriefFlight {
  double t = 0;  // by the first clock, offset counted [s]
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
  Eigen::Vector3d v_WB = Eigen::Vector3d::Zero(), omega_B = Eigen::Vector3d::Zero();
  double begin = 0, end = 0;  // of the images it was fitted to [s]
  double misfit = 0;          // robust mean square of the residuals against a rough noise
  double off = 0;             // median distance of an image, in standard deviations of that noise
  // of v_WB and omega_B, of that noise
  Eigen::Matrix<double, 6, 6> cov = Eigen::Matrix<double, 6, 6>::Zero();
};

// State a time dt later. Spin to the first order in time, which a few frames allow.
BriefFlight After(const BriefFlight& flight, const DropProblem& problem, double dt);

// Whether both may be of one flight.
bool Agree(const BriefFlight& a, const BriefFlight& b, const DropProblem& problem);

class BriefFlights {
 public:
  // Both must outlive it. `offset`: of every clock, added to its times [s].
  BriefFlights(const DropProblem& problem, const std::vector<double>& offset,
               double frame_interval);

  // Fitted to the images within the frame before and after `start.t`, or the two frames before or
  // after it, whichever a flight explains. `start`: about where it is and how it moves. Nothing
  // where the images do not determine the motion.
  std::optional<BriefFlight> Fit(const BriefFlight& start) const;

  // The pose by the images nearest to the instant alone, one a marker and camera, moved there by
  // the motion: what makes poses of neighbouring frames independent of each other.
  BriefFlight Alone(const BriefFlight& flight) const;

 private:
  struct Image {
    double t = 0;
    const DropPoint* point = nullptr;
    Eigen::Matrix2d root;  // of the rough weight
  };
  std::vector<const Image*> Between(double begin, double end) const;
  std::optional<BriefFlight> Solve(const std::vector<const Image*>& images, BriefFlight flight,
                                   bool moves) const;
  double Cost(const std::vector<const Image*>& images, const BriefFlight& flight,
              Eigen::Matrix<double, 12, 12>* H, Eigen::Matrix<double, 12, 1>* g) const;

  const DropProblem& problem_;
  double frame_interval_;
  std::vector<Image> images_;  // by time
};

}  // namespace impactlab::reconstruction
