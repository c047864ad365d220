#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "tracking/track/tracker.h"

namespace impactlab {

// Shortest augmenting paths with dual prices u, v: after every row the assignment of the rows so
// far is optimal. Columns beyond those of `cost` are one for each row: being alone.
std::vector<int> AssignLeastCost(const Eigen::MatrixXd& cost, double alone) {
  if (!std::isfinite(alone))
    throw std::invalid_argument("Assign: the cost of staying alone must be finite");
  const int rows = static_cast<int>(cost.rows()), real = static_cast<int>(cost.cols()),
            cols = real + rows;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const auto entry = [&](int i, int j) {
    if (j >= real) return j - real == i ? alone : kInf;
    const double c = cost(i, j);
    if (std::isnan(c) || c == -kInf) throw std::invalid_argument("Assign: a cost is not a number");
    return c;
  };
  std::vector<double> u(rows, 0), v(cols, 0), shortest(cols);
  std::vector<int> row_of(cols, -1), path(cols), column(rows, -1);
  std::vector<char> done(cols);
  for (int start = 0; start < rows; ++start) {
    std::fill(shortest.begin(), shortest.end(), kInf);
    std::fill(done.begin(), done.end(), 0);
    std::fill(path.begin(), path.end(), -1);
    int i = start, sink = -1;
    double distance = 0;
    std::vector<int> scanned_rows, scanned_cols;
    while (sink < 0) {
      scanned_rows.push_back(i);
      double least = kInf;
      int next = -1;
      for (int j = 0; j < cols; ++j) {
        if (done[j]) continue;
        const double c = entry(i, j);
        if (c < kInf) {
          const double reduced = distance + c - u[i] - v[j];
          if (reduced < shortest[j]) {
            shortest[j] = reduced;
            path[j] = i;
          }
        }
        // Of equal columns a free one ends the search at once.
        if (shortest[j] < least ||
            (shortest[j] == least && least < kInf && row_of[j] < 0 && row_of[next] >= 0)) {
          least = shortest[j];
          next = j;
        }
      }
      // A row can always be alone, so that there is a next column.
      distance = least;
      done[next] = 1;
      scanned_cols.push_back(next);
      if (row_of[next] < 0) {
        sink = next;
      } else {
        i = row_of[next];
      }
    }
    u[start] += distance;
    for (const int r : scanned_rows) {
      if (r != start) u[r] += distance - shortest[column[r]];
    }
    for (const int j : scanned_cols) v[j] -= distance - shortest[j];
    for (int j = sink;;) {
      const int r = path[j];
      row_of[j] = r;
      std::swap(column[r], j);
      if (r == start) break;
    }
  }
  for (int& c : column) {
    if (c >= real) c = -1;
  }
  return column;
}

}  // namespace impactlab
