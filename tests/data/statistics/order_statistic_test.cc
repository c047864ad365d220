#include "data/statistics/order_statistic.h"

#include <gtest/gtest.h>

#include <vector>

namespace impactlab {
namespace {

TEST(OrderStatistic, IsTheValueOfItsRank) {
  std::vector<int> values = {5, 1, 4, 1, 3};
  const std::vector<int> sorted = {1, 1, 3, 4, 5};
  for (std::size_t rank = 0; rank < sorted.size(); ++rank)
    EXPECT_EQ(OrderStatistic(values, rank), sorted[rank]);
}

TEST(OrderStatistic, UpperMedianTakesTheUpperOfTwoMiddleValues) {
  const std::vector<double> even = {4, 1, 3, 2};
  EXPECT_EQ(UpperMedian(even), 3);
  EXPECT_EQ(even, (std::vector<double>{4, 1, 3, 2}));
  EXPECT_EQ(UpperMedian(std::vector<float>{7, 9, 8}), 8);
  EXPECT_EQ(UpperMedian(std::vector<double>{}), 0);
}

}  // namespace
}  // namespace impactlab
