#pragma once
// Printed tables of planar impacts of a slender rod by ratios alone: v_x / v_y, an angle,
// coefficients, the share of energy lost by each law. Where a source says neither attitude nor size
// without doubt, the table is computed for every reading of it that is named.

#include <filesystem>
#include <string>
#include <vector>

#include "pipelines/literature/audit.h"
#include "pipelines/page/presentation_table.h"

namespace impactlab {
namespace pipelines {
class Keys;
}

// What the angle gamma means: the lever from the centre to the contact, as a unit vector (along the
// surface in the sense of v_x, normal).
enum class LeverReading {
  kFromNormal,  // (-sin gamma, cos gamma)
  kFromSlip,    // (-cos gamma, -sin gamma)
  kAlongFall    // along the velocity: a rod that falls along its axis
};

struct PlanarRow {
  std::string experiment, law;  // "experiment": measured
  Printed ratio, gamma, mu, e, loss;
  std::string case_label, mode_label;
  struct Ours {
    Recomputed loss;  // share; invalid (NaN) where the contact does not approach
    std::string path_case;
  };
  std::vector<Ours> ours;  // by reading; empty for what was measured
};

struct PlanarTable {
  std::string title;
  double slenderness = 30;  // length over radius
  std::vector<LeverReading> readings;
  std::vector<PlanarRow> rows;
  std::vector<TableFault> faults;
};

// One entry of `planar_tables`; its CSV is added to `inputs`.
PlanarTable ReadPlanarTable(pipelines::Keys& keys, std::vector<std::filesystem::path>& inputs);

PresentationTable PlanarForm(const std::vector<const PlanarTable*>& tables);

}  // namespace impactlab
