#pragma once
// Errors that all events share - of cameras, markers, the body - found from the events themselves.
//
// Every event is a function of c, the shared errors in units of their prior standard deviations, c
// ~ N(0, I). Momentum has to close in every impact and one (mu, e) has to serve them all, so that
// events hold information on c: impulses and couples of all events are adjusted together for (mu,
// e) and c, the scatter of the impulses and of the couples fitted again in every round. Left alone,
// c would pass for scatter from event to event and be counted twice, as scatter and as what is
// common.
//
// Source: adjustment of conditions with parameters whose prior is known, Mikhail and Ackermann,
// Observations and Least Squares (1976).

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "impact/identify/identify.h"

namespace impactlab {

struct EventsOfBody {
  std::vector<ImpactEvent> events;  // `cov` without the shared errors
  Body body;
};

struct SharedErrors {
  // best, in prior standard deviations; zero where the events are too few to give information
  Eigen::VectorXd mean;
  // of the errors about `mean`, whatever (mu, e) are; I where the events are too few
  Eigen::MatrixXd cov;
  int rounds = 0;
  // How far the events want the errors to be, given what the prior and the events allow: chi-square
  // with `dof` of its directions that the events tell, 0 where they tell none.
  double chi_square = 0;
  int dof = 0;
};

// `at` gives the events and the body at a c of so many dimensions; `start` the law and a first
// guess. Events that Identify would not use are left out. Never throws because of what the data
// are.
SharedErrors FindSharedErrors(const std::function<EventsOfBody(const Eigen::VectorXd&)>& at,
                              int dimensions, const ImpactModel& start,
                              const IdentifyOptions& options = {});

}  // namespace impactlab
