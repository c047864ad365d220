#pragma once
// Private to the tracking room: the edge model before a background of any form.
//
//   I(q) = C(q) level + (1 - C(q)) B(q)
//
// A marker on a rod lies before a stripe whose edges run into it: neither a level nor a slope
// describes its surroundings. B is a random field on the pixels (a membrane; Rue and Held, Gaussian
// Markov Random Fields, 2005, ch. 3): neighbours differ by normal steps whose covariance is the
// structure tensor of the picture outside of the marker (Weickert, IJCV 31, 1999). So B is smooth
// where the picture is, rough across edges, and carries an edge straight on towards the marker.
// Outline and level of the marker are fitted together with it, and what B leaves unknown of the
// outline is in the covariance. Inside of the marker there is nothing for B to explain: a covered
// part stays a misfit.
//
// The work is the Cholesky factor of the precision of B. Only pixels where B contributes are
// unknowns, numbered row by row: the rows across the marker are short, and the envelope of the
// matrix with them. The factor is kept while the outline hardly moves: gradients are exact in every
// pass, so that the passes end at the same place.

#include <vector>

#include "tracking/marker/detail/solve.h"

namespace impactlab::tracking {

class UnevenSolver {  // keeps its storage
 public:
  // From `start`, a solution of the plain fit or what the detector says. The amplitude is over the
  // mean background beside the marker, slopes are zero; the information is that of centre,
  // amplitude, form and blur with B unknown; n counts pixels less the one mean level, chi-square
  // holds what B costs. Not converged where B is no background: it reaches half-way up to the
  // marker where the outline is.
  MarkerSolution Solve(const MarkerPatch& patch, const MarkerProblem& problem,
                       const MarkerVector& start);

  // Of the last evaluation, as of MarkerSolver.
  double cover(int i) const { return cover_.pixel(i)[CoverChannel::kCover]; }
  double variance(int i) const { return 1 / weights_[static_cast<std::size_t>(i)]; }

 private:
  static constexpr int kUnknowns = 7;  // centre, level, form, blur
  static constexpr int kColumns = 8;   // those and the gradient by B
  using Vector = Eigen::Matrix<double, kUnknowns, 1>;
  using Matrix = Eigen::Matrix<double, kUnknowns, kUnknowns>;
  struct Tensor {
    double xx, xy, yy;
  };
  // a row of the precision of the membrane: with the pixel itself and those that follow it
  struct Steps {
    double own, right, below_left, below, below_right;
  };
  void FindTensors(const MarkerPatch& patch, const MarkerProblem& problem);
  void FindSteps();
  void Number();
  double Energy(const MarkerPatch& patch, const MarkerProblem& problem, const MarkerVector& p,
                bool factor);
  void Assemble();
  void Eliminate();
  void Forward();
  void Reduce(bool factor, Vector* gradient, Matrix* normal);
  void FollowB(const Vector& step);
  bool Finish(const MarkerVector& p, MarkerSolution* solution) const;

  // Place of a pixel in an array that has one pixel more at every edge.
  std::size_t Bordered(int y, int x) const {
    return static_cast<std::size_t>(y + 1) * static_cast<std::size_t>(width_ + 2) +
           static_cast<std::size_t>(x + 1);
  }
  std::size_t Bordered(int i) const { return Bordered(i / width_, i % width_); }

  int width_ = 0, height_ = 0, n_used_ = 0;
  MarkerCover cover_;
  std::vector<float> planes_, smooth_;  // of the structure tensor
  std::vector<Tensor> tensors_;         // of the cells between four pixels: weights of the steps
  std::vector<Steps> steps_;            // of the pixels, a border of one around them
  std::vector<double> behind_;          // B, the same border
  std::vector<double> weights_, by_b_;  // of the pixels: inverse variance, weight of B
  std::vector<double> gradient_b_;
  std::vector<int> pixel_, number_;  // of the unknowns of B, and back; -1 where B is not felt
  std::vector<int> last_;            // of the unknowns a column of the factor reaches
  std::ptrdiff_t stride_ = 0;
  std::vector<double> matrix_;  // lower triangle, column by column from the diagonal on
  // derivatives by the unknowns of the marker, and the gradient by B; row by row
  std::vector<double> right_;
  std::vector<double> forward_;  // of the gradient alone
  std::vector<double> rows_, ones_;
  Matrix information_;  // of the unknowns of the marker, B known
  Vector gradient_;
};

}  // namespace impactlab::tracking
