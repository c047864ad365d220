#pragma once
// The naming of all pieces at once. Private to identity.
//
// Windows follow one another like the letters of a word: good namings of each are joined along the
// pieces that reach from one into the next (dynamic programming that keeps the best kBeam
// histories), with what the cuts say about the name before. Then single pieces, pairs of pieces and
// whole remainders are renamed as long as that helps; the best refused change gives the odds.

#include <string>
#include <vector>

#include "reconstruction/identity/detail/window.h"

namespace impactlab::reconstruction {

constexpr double kCertain = 99;  // odds are not distinguished beyond this

struct PieceNaming {
  std::vector<char> label;  // of every piece: a label or kNone
  double score = 0;
  // of every named piece against the best change that names it otherwise; kCertain for others
  std::vector<double> odds;
  std::vector<char> rival;    // what it would be then
  std::vector<double> doubt;  // against having no name; kCertain for others
  std::vector<double> keep;   // of every piece against its incoming name; 0 where it has that
};

PieceNaming NamePieces(const Scene& scene, const std::vector<TimeWindow>& windows,
                       std::vector<WindowScore>& scores);

// Labels of the live pieces of a window.
std::string NamesIn(const TimeWindow& window, const std::vector<char>& label);

}  // namespace impactlab::reconstruction
