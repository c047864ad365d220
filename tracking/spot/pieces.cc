#include "tracking/spot/detail/pieces.h"

#include <algorithm>
#include <cstddef>

namespace impactlab::tracking {
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

void Add(const Run& run, Piece* piece) {
  const double n = run.right - run.left + 1, middle = 0.5 * (run.left + run.right), y = run.y;
  if (piece->count == 0) {
    *piece = {piece->first, piece->last, run.left, run.y, run.right, run.y};
  } else {
    piece->left = std::min(piece->left, run.left);
    piece->right = std::max(piece->right, run.right);
    piece->bottom = run.y;
  }
  piece->count += n;
  piece->x += n * middle;
  piece->y += n * y;
  piece->xx += n * middle * middle + n * (n * n - 1) / 12;
  piece->xy += n * middle * y;
  piece->yy += n * y * y;
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
        if (runs[i].left <= runs[j].right + 1 && runs[j].left <= runs[i].right + 1) {
          if (runs[j].parent == j) {
            runs[j].parent = Root(runs, i);
          } else {
            Unite(runs, i, j);
          }
        }
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
  // A parent comes before its children, so that its piece is known.
  std::vector<int>& piece_of = pieces->scratch;
  if (static_cast<int>(piece_of.size()) < n) piece_of.resize(n);
  for (int r = 0; r < n; ++r) {
    const int parent = runs[r].parent;
    int k = static_cast<int>(pieces->pieces.size());
    if (parent == r) {
      pieces->pieces.push_back({r, r});
    } else {
      k = piece_of[parent];
      runs[pieces->pieces[k].last].next = r;
    }
    piece_of[r] = k;
    Piece& piece = pieces->pieces[k];
    piece.last = r;
    runs[r].next = -1;
    Add(runs[r], &piece);
  }
  std::erase_if(pieces->pieces,
                [count_min](const Piece& piece) { return piece.count < count_min; });
}

}  // namespace impactlab::tracking
