#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <random>

#include "tracking/track/tracker.h"

namespace impactlab {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double Total(const Eigen::MatrixXd& cost, const std::vector<int>& column, double alone) {
  double sum = 0;
  for (int i = 0; i < cost.rows(); ++i) sum += column[i] < 0 ? alone : cost(i, column[i]);
  return sum;
}

// Every way there is.
double Least(const Eigen::MatrixXd& cost, double alone) {
  std::vector<char> used(cost.cols(), 0);
  const std::function<double(int)> rest = [&](int i) {
    if (i == cost.rows()) return 0.0;
    double best = alone + rest(i + 1);
    for (int j = 0; j < cost.cols(); ++j) {
      if (used[j] || cost(i, j) == kInf) continue;
      used[j] = 1;
      best = std::min(best, cost(i, j) + rest(i + 1));
      used[j] = 0;
    }
    return best;
  };
  return rest(0);
}

bool Valid(const Eigen::MatrixXd& cost, const std::vector<int>& column) {
  std::vector<char> used(cost.cols(), 0);
  for (int i = 0; i < cost.rows(); ++i) {
    const int j = column[i];
    if (j < 0) continue;
    if (j >= cost.cols() || used[j] || cost(i, j) == kInf) return false;
    used[j] = 1;
  }
  return true;
}

TEST(Assign, IsTheBestOfAllWays) {
  std::mt19937_64 rng(11);
  std::uniform_real_distribution<double> uniform;
  for (int trial = 0; trial < 2000; ++trial) {
    const int rows = static_cast<int>(rng() % 6), cols = static_cast<int>(rng() % 7);
    Eigen::MatrixXd cost(rows, cols);
    for (int i = 0; i < rows; ++i) {
      // Integers half of the time: ties.
      for (int j = 0; j < cols; ++j)
        cost(i, j) = uniform(rng) < 0.3 ? kInf
                     : trial % 2        ? 10 * uniform(rng) - 3
                                        : static_cast<double>(rng() % 4);
    }
    const double alone = 3;
    const std::vector<int> column = AssignLeastCost(cost, alone);
    ASSERT_EQ(column.size(), static_cast<std::size_t>(rows));
    ASSERT_TRUE(Valid(cost, column)) << cost;
    ASSERT_NEAR(Total(cost, column, alone), Least(cost, alone), 1e-12) << cost;
  }
}

TEST(Assign, TakesTheJointOptimumNotTheNearest) {
  Eigen::MatrixXd cost(2, 2);
  cost << 1, 2, 2, 100;
  EXPECT_EQ(AssignLeastCost(cost, 1000), (std::vector<int>{1, 0}));
}

TEST(Assign, StaysAloneWhereThatIsCheaperOrNothingIsAllowed) {
  EXPECT_EQ(AssignLeastCost(Eigen::MatrixXd::Constant(3, 2, 9.0), 5),
            (std::vector<int>{-1, -1, -1}));
  EXPECT_EQ(AssignLeastCost(Eigen::MatrixXd::Constant(2, 2, kInf), 1e300),
            (std::vector<int>{-1, -1}));
  EXPECT_TRUE(AssignLeastCost(Eigen::MatrixXd(0, 4), 1).empty());
  EXPECT_EQ(AssignLeastCost(Eigen::MatrixXd(2, 0), 1), (std::vector<int>{-1, -1}));
}

TEST(Assign, RefusesCostsThatMeanNothing) {
  Eigen::MatrixXd cost = Eigen::MatrixXd::Zero(2, 2);
  cost(1, 0) = std::nan("");
  EXPECT_THROW(AssignLeastCost(cost, 1), std::invalid_argument);
  cost(1, 0) = -kInf;
  EXPECT_THROW(AssignLeastCost(cost, 1), std::invalid_argument);
  EXPECT_THROW(AssignLeastCost(Eigen::MatrixXd::Zero(1, 1), kInf), std::invalid_argument);
}

TEST(Assign, ManyRowsInReasonableTime) {
  std::mt19937_64 rng(12);
  std::uniform_real_distribution<double> uniform;
  Eigen::MatrixXd cost(200, 400);
  for (int i = 0; i < cost.rows(); ++i) {
    for (int j = 0; j < cost.cols(); ++j) cost(i, j) = uniform(rng);
  }
  const auto start = std::chrono::steady_clock::now();
  const std::vector<int> column = AssignLeastCost(cost, 10);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 2);
  EXPECT_TRUE(Valid(cost, column));
  EXPECT_LT(Total(cost, column, 10), 200 * 0.05);
}

}  // namespace
}  // namespace impactlab
