#pragma once
// Private to the tracking room: the edge model before a background of any form.
//
//   I(q) = C(q) level + (1 - C(q)) B(q)
//
// A marker on a rod stands before a stripe whose edges run into it: neither a level nor a slope describes what is beside it. B is a random
// field on the pixels (a membrane; Rue and Held, Gaussian Markov Random Fields, 2005, ch. 3): neighbours differ by normal steps whose
// covariance is the structure tensor of the picture outside of the marker (Weickert, IJCV 31, 1999). So B is smooth where the picture is,
// rough across edges, and carries an edge straight on towards the marker. Outline and level of the marker are fitted together with it, and
// what B leaves unknown of the outline is in the covariance. Inside of the marker there is nothing for B to explain: a covered part stays
// a misfit.

#include <vector>

#include "tracking/marker_solve.h"

namespace impactlab::internal {

class UnevenSolver {  // keeps its storage
 public:
  // From the solution of the plain fit. The amplitude is over the mean background beside the marker, slopes are zero; the information is
  // that of centre, amplitude, form and blur with B unknown; n counts pixels less the one mean level, chi-square holds what B costs. Not
  // converged where B is no background: it reaches half-way up to the marker where the outline is.
  MarkerSolution Solve(const MarkerPatch& patch, const MarkerProblem& problem, const MarkerVector& start);

  // Of the last evaluation, as of MarkerSolver.
  double residual(int i) const { return residuals_[static_cast<std::size_t>(i)]; }

 private:
  struct Tensor {
    double xx = 0, xy = 0, yy = 0;
  };
  void FindTensors(const MarkerPatch& patch, const MarkerProblem& problem);
  double Energy(const MarkerPatch& patch, const MarkerProblem& problem, const MarkerVector& p, bool assemble);
  void Eliminate();

  int width_ = 0, height_ = 0, band_ = 0, n_used_ = 0;
  MarkerCover cover_;
  std::vector<Tensor> tensors_;      // of the cells between four pixels: weights of the steps
  std::vector<std::uint8_t> field_;  // pixels where B is felt
  std::vector<double> behind_;       // B
  std::vector<double> residuals_;
  std::vector<double> matrix_;  // band of the lower triangle, column by column
  std::vector<double> right_;   // derivatives by the unknowns of the marker, and the gradient by B; row by row
  MarkerMatrix information_;
  MarkerVector gradient_;
};

}  // namespace impactlab::internal
