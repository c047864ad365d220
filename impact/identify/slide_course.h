#pragma once
// The course of a slide along its way: which parts of a track one parabola may be fitted to.
//
// Coulomb friction holds back with one force while a body slides and with another, or none, after
// its speed has passed through zero. So a track may be: one parabola; a parabola up to its vertex
// and rest thereafter; rest and a parabola from its vertex on (let go in view); or two parabolas
// that share their vertex (pushed up an incline, sliding back). All are
//   s = s_r + b (t_r - t)^2 before t_r, s_r + c (t - t_r)^2 after it,
// linear but for t_r, which is searched. Parts are then fitted apart.

#include <cstddef>
#include <string>
#include <vector>

#include "impact/identify/coefficient_tests.h"

namespace impactlab {

enum class SlideKind {
  kMoves,        // slides from the first place to the last
  kComesToRest,  // slides, then rests
  kStarts,       // rests, then slides
  kReturns,      // turns round, and slides back
  kUneven        // stops and goes on the same way: pushed again, or caught and let go
};

// One part of the track in which the body slides one way.
struct SlideBranch {
  std::size_t first = 0, last = 0;  // its places; `last` is not among them
  SlideFit fit;                     // along s
  double sign = 1;                  // of its motion along s
  double travel = 0;                // along s, without a sign [as s]
  // Along its own motion: below 0 where it slows [as s, per s^2].
  double acceleration() const { return sign * fit.acceleration; }
};

struct SlideCourse {
  SlideKind kind = SlideKind::kMoves;
  double t_turn = 0;                  // where it stops, turns or starts [s]
  std::vector<SlideBranch> branches;  // in order of time; those of four places or more
  int left_out = 0;                   // places past the turn, too few to be fitted
};

// Four places at least (ConfigError); times rise. A part of a course is only cut off where one
// parabola cannot describe the whole (F test at 0.001) or where it would turn round inside.
SlideCourse DivideSlide(const std::vector<double>& t, const std::vector<double>& s);

}  // namespace impactlab
