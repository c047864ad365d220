#pragma once
// Scenes without noise for the tests of synthetic recordings.

#include "pipelines/synth/synth.h"

namespace impactlab::test {

inline SynthOptions Square() {
  SynthOptions o;
  o.body = MakeBox({0.06, 0, 0.06}, 0.2, true);
  o.model = {{0.45, 0.12, 0.12}, RestitutionLaw::kEnergetic};
  o.noise_position = o.noise_angle = 0;
  o.drops = 12;
  return o;
}

inline SynthOptions Cube() {
  SynthOptions o = Square();
  o.body = MakeBox({0.1, 0.1, 0.1}, 0.37);
  o.lean_min = 0.1;
  o.drops = 6;
  return o;
}

}  // namespace impactlab::test
