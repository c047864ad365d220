// Bias, efficiency and covariance of the marker fit over sizes, noise and motion: marker_study
// [--pictures N] [--seed S] [--out FILE]. N pictures a cell as modelled, and half of that in cells
// with effects the model does not know.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "tests/statistical/marker_cells.h"
#include "tests/statistical/studies/study.h"
#include "tests/support/per_test_level.h"

namespace {

using namespace impactlab;
using test::MarkerCell;
using test::MarkerEffect;
using test::MarkerTally;

const char* NameOf(MarkerEffect effect) {
  switch (effect) {
    case MarkerEffect::kNone:
      return "as_modelled";
    case MarkerEffect::kBlur:
      return "blur_1.2_times";
    case MarkerEffect::kDefocus:
      return "defocus";
    case MarkerEffect::kGradient:
      return "background_slope";
    case MarkerEffect::kClutter:
      return "clutter";
    case MarkerEffect::kShade:
      return "uneven_light";
    case MarkerEffect::kTilt:
      return "tilt_as_circle";
    case MarkerEffect::kCovered:
      return "third_covered";
    case MarkerEffect::kBar:
      return "bar_behind";
  }
  return "";
}

nlohmann::json Json(const MarkerCell& cell, const MarkerTally& t) {
  return {{"diameter_px", cell.diameter},
          {"snr", cell.snr},
          {"motion_px", cell.motion},
          {"n", t.n},
          {"not_found", t.failed},
          {"hidden", t.hidden},
          {"rough", t.rough},
          {"bias_along_px", t.BiasAlong()},
          {"bias_across_px", t.BiasAcross()},
          {"sd_of_bias_along_px", t.SdOfBiasAlong()},
          {"sd_of_bias_across_px", t.SdOfBiasAcross()},
          {"rms_along_px", t.RmsAlong()},
          {"rms_across_px", t.RmsAcross()},
          {"rms_over_bound", t.OverBound()},
          {"nees", t.Nees()},
          {"within_95", t.within_95},
          {"bins_chi_square", t.BinChiSquare()},
          {"us_per_fit", t.Microseconds()}};
}

}  // namespace

int main(int argc, char** argv) {
  int pictures = 1000;
  test::Study study(
      "markers", "Bias, efficiency and covariance of the marker fit over sizes, noise and motion",
      20260201);
  study.app.add_option("--pictures", pictures, "of every cell")->capture_default_str();
  int code = 0;
  if (!study.Read(argc, argv, &code)) return code;
  std::vector<MarkerCell> cells;
  for (double motion : {0., 5., 15.})
    for (double diameter : {4., 6., 9., 12., 20., 30.})
      for (double snr : {5., 10., 20., 50.}) cells.push_back({diameter, snr, motion});
  const int n_modelled = static_cast<int>(cells.size());
  for (MarkerEffect effect : {MarkerEffect::kBlur, MarkerEffect::kDefocus, MarkerEffect::kGradient,
                              MarkerEffect::kClutter, MarkerEffect::kShade, MarkerEffect::kTilt,
                              MarkerEffect::kCovered, MarkerEffect::kBar})
    for (double diameter : {4., 6., 9., 12., 20., 30.})
      for (double snr : {10., 50.}) cells.push_back({diameter, snr, 0, effect});

  std::vector<MarkerTally> tallies(cells.size());
  study.Each(static_cast<int>(cells.size()), "marker cells", "cells", [&](int k) {
    tallies[k] =
        test::RunMarkerCell(cells[k], k < n_modelled ? pictures : pictures / 2, study.seed + k);
  });

  // Bias of discs that stand still below 0.02 px and along a motion below 0.05 px; efficiency; and
  // per cell two tests of distribution.
  const double alpha = PerTestLevel(0.001, 2 * n_modelled);
  bool ok = true;
  nlohmann::json json;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const MarkerCell& cell = cells[k];
    const MarkerTally& t = tallies[k];
    std::string verdict;
    if (static_cast<int>(k) < n_modelled) {
      const Interval nees = ChiSquareBand(2 * t.found(), alpha);
      if (t.failed > 0) verdict += " not-found";
      if (std::max(std::abs(t.BiasAlong()), std::abs(t.BiasAcross())) >
          (cell.motion > 0 ? 0.05 : 0.02))
        verdict += " bias";
      if (t.OverBound() > 1.3) verdict += " rms";
      if (t.sum_nees < nees.lower || t.sum_nees > nees.upper) verdict += " nees";
      if (t.BinChiSquare() > ChiSquareQuantile(1 - alpha, MarkerTally::kBins - 1))
        verdict += " locking";
      ok &= verdict.empty();
    }
    json["cells"][NameOf(cell.effect)].push_back(Json(cell, t));
    fmt::print(
        "{:<17} {:>2} px snr {:>2} motion {:>2}: bias {:7.4f} {:7.4f} rms {:.4f} {:.4f} over bound "
        "{:.3f} nees {:7.3f} bins {:4.1f} "
        "not found {} hidden {} rough {} {:4.0f} us{}\n",
        NameOf(cell.effect), cell.diameter, cell.snr, cell.motion, t.BiasAlong(), t.BiasAcross(),
        t.RmsAlong(), t.RmsAcross(), t.OverBound(), t.Nees(), t.BinChiSquare(), t.failed, t.hidden,
        t.rough, t.Microseconds(), verdict);
  }
  json["pictures"] = pictures;
  json["alpha_per_test"] = alpha;
  json["all_inside"] = ok;
  fmt::print("{} cells as modelled, all inside: {}\n", n_modelled, ok ? "yes" : "no");
  return study.Keep(std::move(json), ok);
}
