#include "tracking/spot_pieces.h"

#include <algorithm>
#include <cstddef>

namespace impactlab::internal {
namespace {

int Root(std::vector<Run>& runs, int r) {
  while (runs[r].parent != r) {
    runs[r].parent = runs[runs[r].parent].parent;
    r = runs[r].parent;
  }
  return r;
}

// The earlier run becomes the root, so that pieces come in the order of their first run.
void Unite(std::vector<Run>& runs, int a, int b) {
  a = Root(runs, a);
  b = Root(runs, b);
  if (a == b) return;
  runs[std::max(a, b)].parent = std::min(a, b);
}

}  // namespace

void JoinRuns(double count_min, Pieces* pieces) {
  std::vector<Run>& runs = pieces->runs;
  pieces->pieces.clear();
  const int n = static_cast<int>(runs.size());
  int above = 0, above_end = 0;  // runs of the row above
  for (int begin = 0; begin < n;) {
    int end = begin;
    while (end < n && runs[end].y == runs[begin].y) {
      runs[end].parent = end;
      ++end;
    }
    if (above < above_end && runs[above].y == runs[begin].y - 1) {
      for (int i = above, j = begin; i < above_end && j < end;) {
        if (runs[i].left <= runs[j].right + 1 && runs[j].left <= runs[i].right + 1) Unite(runs, i, j);
        if (runs[i].right < runs[j].right) {
          ++i;
        } else {
          ++j;
        }
      }
    }
    above = begin;
    above_end = end;
    begin = end;
  }
  std::vector<int>& count = pieces->scratch;  // of a root: its pixels, later minus one minus its piece
  count.assign(n, 0);
  for (int r = 0; r < n; ++r) count[Root(runs, r)] += runs[r].right - runs[r].left + 1;
  for (int r = 0; r < n; ++r) {
    const int root = Root(runs, r);
    if (count[root] >= 0 && count[root] < count_min) continue;
    if (count[root] >= 0) {
      count[root] = -1 - static_cast<int>(pieces->pieces.size());
      pieces->pieces.push_back({r, r});
    }
    Piece& piece = pieces->pieces[-1 - count[root]];
    if (piece.last != r) runs[piece.last].next = r;
    piece.last = r;
    runs[r].next = -1;
    Add(runs[r], &piece);
  }
}

}  // namespace impactlab::internal
