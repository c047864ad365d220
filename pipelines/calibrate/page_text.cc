// The calibration page as text, tables and plots.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/cache/provenance.h"
#include "data/files/text.h"
#include "pipelines/calibrate/detail/page_parts.h"
#include "pipelines/page/markup.h"

namespace impactlab::pipelines {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// "Good: the lenses ..." without the verdict, which stands above it. Names of cameras keep their
// first letter.
std::string Headline(const RigContext& context) {
  const bool lost = context.run.world && !context.run.world->problem.empty();
  std::string text = lost ? context.run.world->problem : context.run.certificate.headline;
  const auto colon = text.find(": ");
  if (colon != std::string::npos && colon < 24) text.erase(0, colon + 2);
  for (std::size_t c = 0; c < context.cameras(); ++c)
    if (text.starts_with(context.name(c) + ":")) return text;
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

const char* VerdictWords(RigVerdict verdict) {
  switch (verdict) {
    case RigVerdict::kGood:
      return "Good";
    case RigVerdict::kUsable:
      return "Usable with care";
    case RigVerdict::kRefused:
      break;
  }
  return "Refused";
}

std::string FindingsHtml(const RigCertificate& certificate) {
  std::string held, known;
  for (const RigFinding& finding : certificate.findings) {
    if (finding.level == RigVerdict::kGood) {
      known += "<li>" + Escape(finding.text) + "</li>";
      continue;
    }
    const bool refused = finding.level == RigVerdict::kRefused;
    held += fmt::format("<li class=\"{}\"><span class=\"badge\">{}</span> {}</li>",
                        refused ? "named" : "usable",
                        refused ? "must be changed" : "could be better", Escape(finding.text));
  }
  std::string out;
  if (!held.empty()) out += "<ul class=\"findings\">" + held + "</ul>\n";
  if (!certificate.advice.empty()) {
    out += "<h3>What to film next</h3><ol class=\"next\">";
    for (const std::string& advice : certificate.advice) {
      std::string text = Escape(advice);
      if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
        text[0] = static_cast<char>(text[0] - 'a' + 'A');
      out += "<li>" + text + ".</li>";
    }
    out += "</ol>\n";
  }
  if (!known.empty())
    out += "<details><summary>Worth knowing</summary><ul class=\"plain\">" + known +
           "</ul></details>\n";
  return out;
}

// Position of a camera in the parameters of the rig.
Eigen::Index PositionIndex(const CameraRig& rig, int camera) {
  return FirstParameter(rig, camera) +
         IntrinsicCount(rig.cameras[static_cast<std::size_t>(camera)].camera.model) + 3;
}

// Distance between two cameras with its standard deviation.
std::pair<double, double> Baseline(const CameraRig& rig, int a, int b) {
  const Eigen::Vector3d arm = rig.cameras[static_cast<std::size_t>(b)].X_WC.translation() -
                              rig.cameras[static_cast<std::size_t>(a)].X_WC.translation();
  const double length = arm.norm();
  if (rig.covariance.rows() == 0 || length == 0) return {length, kNaN};
  const Eigen::Index i = PositionIndex(rig, a), j = PositionIndex(rig, b);
  const Eigen::Matrix3d cov = rig.covariance.block<3, 3>(i, i) + rig.covariance.block<3, 3>(j, j) -
                              rig.covariance.block<3, 3>(i, j) - rig.covariance.block<3, 3>(j, i);
  const Eigen::Vector3d u = arm / length;
  return {length, std::sqrt(std::max(0.0, u.dot(cov * u)))};
}

std::string LengthSd(double value, double sd) {
  if (!std::isfinite(sd)) return LengthWords(value, 4);
  return ValueSd(1e3 * value, 1e3 * sd) + "\u00A0mm";
}

std::string ParameterTable(const RigContext& context) {
  const CameraRig& rig = context.run.result.rig;
  std::vector<std::string> headers = {"Parameter"}, names;
  for (const RigCamera& camera : rig.cameras) {
    headers.push_back("#" + Escape(camera.name));
    for (const std::string& name : IntrinsicNames(camera.camera.model))
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  HtmlTable table("Lens parameters with their standard deviations", headers);
  for (const std::string& name : names) {
    std::string label = name;
    const bool pixels = label.ends_with("_px");
    if (pixels) label.erase(label.size() - 3);
    std::vector<std::string> row = {"<i>" + label.substr(0, 1) + "</i><sub>" + label.substr(1) +
                                    "</sub>" + (pixels ? " [px]" : "")};
    for (std::size_t c = 0; c < rig.cameras.size(); ++c) {
      const std::vector<std::string> own = IntrinsicNames(rig.cameras[c].camera.model);
      const auto at = std::find(own.begin(), own.end(), name) - own.begin();
      if (at == static_cast<std::ptrdiff_t>(own.size())) {
        row.emplace_back("\u2013");
        continue;
      }
      const Eigen::Index k = FirstParameter(rig, static_cast<int>(c)) + at;
      const double sd =
          rig.covariance.rows() > k ? std::sqrt(std::max(0.0, rig.covariance(k, k))) : kNaN;
      const double value = Intrinsics(rig.cameras[c].camera)(at);
      row.push_back(sd == 0 ? Num(value, 6) + " (fixed)" : ValueSd(value, sd));
    }
    table.Row(row);
  }
  return table.Html();
}

std::string RigTable(const RigContext& context) {
  const CameraRig& rig = context.run.result.rig;
  if (rig.cameras.size() < 2) return {};
  HtmlTable table("Cameras against the first", {"Camera", "#Distance", "#Right [mm]", "#Down [mm]",
                                                "#Ahead [mm]", "#Angle of the axes [°]"});
  const Eigen::Isometry3d X_CW = rig.cameras[0].X_WC.inverse();
  for (std::size_t c = 1; c < rig.cameras.size(); ++c) {
    const auto [length, sd] = Baseline(rig, 0, static_cast<int>(c));
    const Eigen::Vector3d p = X_CW * rig.cameras[c].X_WC.translation();
    const double angle = std::acos(std::clamp(
        rig.cameras[0].X_WC.linear().col(2).dot(rig.cameras[c].X_WC.linear().col(2)), -1.0, 1.0));
    table.Row({Escape(rig.cameras[c].name), LengthSd(length, sd), Fixed(1e3 * p.x(), 2),
               Fixed(1e3 * p.y(), 2), Fixed(1e3 * p.z(), 2),
               Fixed(angle * 180 / 3.14159265358979, 2)});
  }
  return table.Html();
}

std::string LensTable(const RigContext& context) {
  if (!context.run.lenses) return {};
  HtmlTable table("Lens models, compared by shots left out of their fit",
                  {"Camera", "Model", "#Error of prediction [px]",
                   "#Difference from the best, standard error [px]", "Remark"});
  for (std::size_t c = 0; c < context.run.lenses->scores.size(); ++c) {
    for (const LensChoice::Score& score : context.run.lenses->scores[c]) {
      const bool chosen = score.model == context.run.lenses->chosen[c];
      table.Row({Escape(context.name(c)), ToString(score.model), Fixed(score.held_out_rms, 4),
                 Fixed(score.paired_se, 4),
                 (chosen ? "chosen" : "") + std::string(chosen && !score.note.empty() ? "; " : "") +
                     Escape(score.note)},
                chosen ? "first" : "");
    }
  }
  return table.Html();
}

std::string BarsTable(const RigContext& context) {
  std::vector<std::string> headers = {"Shot"};
  double largest = 0;
  for (std::size_t c = 0; c < context.cameras(); ++c) {
    headers.push_back(Escape(context.name(c)));
    headers.emplace_back("#rms [px]");
    headers.emplace_back("#left out");
    for (std::size_t k = 0; k < context.run.problem.shots.size(); ++k)
      if (context.used(k, c)) largest = std::max(largest, context.view(k, c)->rms);
  }
  HtmlTable table("Residual of every picture", headers);
  for (std::size_t k = 0; k < context.run.problem.shots.size(); ++k) {
    std::vector<std::string> row = {Escape(context.run.problem.shots[k].name)};
    bool worst = false;
    for (std::size_t c = 0; c < context.cameras(); ++c) {
      const ViewResult* v = context.view(k, c);
      const BoardView& seen = context.run.problem.shots[k].views[c];
      if (!context.used(k, c)) {
        const std::string why = v != nullptr && !v->rejected.empty() ? v->rejected
                                : seen.problem.empty()               ? "not used"
                                                                     : seen.problem;
        row.push_back("<span class=\"note\" style=\"all:unset\">" + Escape(why) + "</span>");
        row.emplace_back("\u2013");
        row.emplace_back("\u2013");
        continue;
      }
      worst = worst || v->rms == largest;
      const auto n_out = std::count_if(v->points.begin(), v->points.end(),
                                       [](const PointResidual& p) { return p.outlier; });
      row.push_back(
          fmt::format("<div class=\"barcell\"><span style=\"width:{:.1f}%\"></span></div>",
                      largest > 0 ? 100 * v->rms / largest : 0));
      row.push_back(Fixed(v->rms, 3));
      row.push_back(n_out == 0 ? "0" : fmt::format("{} of {}", n_out, v->points.size()));
    }
    table.Row(row, worst ? "worst" : "");
  }
  return "<div class=\"bars\">" + table.Html(context.run.problem.shots.size() > 16) + "</div>";
}

Figure HistogramFigure(const RigContext& context) {
  Figure figure{.id = "histogram",
                .title = "Residuals in units of their standard deviation",
                .caption =
                    "Both coordinates of all points used. Line: the normal distribution that the "
                    "uncertainties assume.",
                .selectors = {"Camera"},
                .plots = {}};
  for (std::size_t c = 0; c < context.run.certificate.cameras.size(); ++c) {
    const ResidualStatistics& r = context.run.certificate.cameras[c].residuals;
    if (r.histogram.empty()) continue;
    const double width =
        (r.histogram_upper - r.histogram_lower) / static_cast<double>(r.histogram.size());
    Series bars{.name = "points", .mark = Mark::kBar, .colour = 0, .bar_width = width};
    Series normal{.name = "normal", .mark = Mark::kLine, .colour = kInk};
    double total = 0;
    for (std::size_t k = 0; k < r.histogram.size(); ++k) {
      bars.x.push_back(r.histogram_lower + (static_cast<double>(k) + 0.5) * width);
      bars.y.push_back(r.histogram[k]);
      total += r.histogram[k];
    }
    for (int k = 0; k <= 120; ++k) {
      const double z = r.histogram_lower + (r.histogram_upper - r.histogram_lower) * k / 120;
      normal.x.push_back(z);
      normal.y.push_back(total * width * std::exp(-0.5 * z * z) / 2.5066282746);
    }
    Plot plot{.choice = {context.name(c)},
              .x_label = "residual / standard deviation [1]",
              .y_label = "coordinates",
              .counts = true,
              .series = {bars, normal}};
    PreparePlot(plot);
    figure.plots.push_back(std::move(plot));
  }
  return figure;
}

Figure RadialFigure(const RigContext& context) {
  Figure figure{.id = "radial",
                .title = "Mean residual along the radius",
                .caption =
                    "Outwards from the principal point, with one standard error. A lens model that "
                    "is too simple shows as a wave; scatter about zero is what is hoped for.",
                .selectors = {"Camera"},
                .plots = {}};
  for (std::size_t c = 0; c < context.run.certificate.cameras.size(); ++c) {
    const ResidualStatistics& r = context.run.certificate.cameras[c].residuals;
    Series along{.name = "along the radius", .mark = Mark::kDot, .colour = 0},
        across{.name = "across", .mark = Mark::kRing, .colour = 7};
    double end = 0;
    for (const RadialBin& bin : r.radial) {
      if (bin.n == 0) continue;
      end = std::max(end, bin.radius_upper);
      along.x.push_back(0.5 * (bin.radius_lower + bin.radius_upper));
      along.y.push_back(bin.mean);
      along.sd_y.push_back(bin.se);
      across.x.push_back(along.x.back());
      across.y.push_back(bin.mean_across);
    }
    if (along.x.empty()) continue;
    Series zero{.name = "", .mark = Mark::kLine, .colour = kInk, .x = {0, end}, .y = {0, 0}};
    Plot plot{.choice = {context.name(c)},
              .x_label = "distance from the principal point [px]",
              .y_label = "mean residual [px]",
              .series = {zero, across, along}};
    plot.x_min = 0;
    plot.x_max = end;
    PreparePlot(plot);
    figure.plots.push_back(std::move(plot));
  }
  return figure;
}

std::string Figures(const std::vector<std::string>& figures) {
  std::string out = "<div class=\"figures\">";
  for (const std::string& figure : figures) out += figure;
  return out + "</div>\n";
}

}  // namespace

std::string RigHead(const RigContext& context) {
  const CalibrationRun& run = context.run;
  const RigCertificate& certificate = run.certificate;
  const RigVerdict verdict = run.refused() ? RigVerdict::kRefused : certificate.verdict;
  std::string tiles;
  if (run.result.usable()) {
    for (const CameraCertificate& camera : certificate.cameras)
      tiles +=
          Tile("Lens " + Escape(camera.name), Num(camera.total_pixel, 2) + "\u00A0px",
               LengthWords(camera.total_across) + " at " + LengthWords(camera.working_distance, 3) +
                   (camera.model_error > 0
                        ? fmt::format("; {}\u00A0px from noise, {}\u00A0px of model error",
                                      Num(camera.sd_pixel_90, 2), Num(camera.model_error, 2))
                        : "; nine tenths of the measured picture"));
    if (certificate.triangulation && certificate.triangulation->problem.empty()) {
      const TriangulationFigure& t = *certificate.triangulation;
      tiles += Tile(
          "Depth of a point", LengthWords(std::hypot(t.sd_along, t.sd_along_model)),
          fmt::format("along the view at {}; across the view {}{}", LengthWords(t.distance, 3),
                      LengthWords(std::hypot(t.sd_across, t.sd_across_model)),
                      t.sd_across > 2 * t.sd_across_pixels
                          ? ", mostly the direction of the first camera, which all points share"
                          : ""));
    }
    const CameraRig& rig = run.result.rig;
    if (rig.cameras.size() > 1) {
      const auto [length, sd] = Baseline(rig, 0, 1);
      tiles += Tile(
          "Between " + Escape(rig.cameras[0].name) + " and " + Escape(rig.cameras[1].name),
          LengthWords(length, 5), std::isfinite(sd) ? "standard deviation " + LengthWords(sd) : "");
    }
    for (const CameraCertificate& camera : certificate.cameras)
      tiles += Tile("Residual " + Escape(camera.name), Num(camera.residuals.rms, 3) + "\u00A0px",
                    fmt::format("rms of {}, {} left out", Count(camera.residuals.n, "point"),
                                camera.residuals.n_outliers));
    if (certificate.board_warp > 0)
      tiles += Tile("Board", LengthWords(certificate.board_warp), "largest departure from a plane");
  }
  return PageHeadHtml({.eyebrow = "Calibration certificate",
                       .title = run.plan.name,
                       .above = fmt::format("<p class=\"verdict {}\">{}</p>", ToString(verdict),
                                            VerdictWords(verdict)),
                       .lead = Escape(Headline(context)),
                       .tiles = tiles,
                       .rest = FindingsHtml(certificate)});
}

Section CamerasSection(const RigContext& context) {
  return {"cameras",
          "Parameters",
          RigTable(context) + ParameterTable(context) + LensTable(context) +
              "<p class=\"foot\">The standard deviations are those of single parameters; they are "
              "strongly correlated, and what counts is the uncertainty of a point above. All of "
              "them, with their covariance, stand in rig.yaml.</p>\n",
          {}};
}

Section ResidualsSection(const RigContext& context) {
  Section section{"residuals", "Residuals", "", {}};
  std::vector<std::string> fields;
  for (std::size_t c = 0; c < context.run.certificate.cameras.size(); ++c)
    fields.push_back(ResidualFieldSvg(context, c));
  std::vector<std::string> plots;
  for (Figure figure : {HistogramFigure(context), RadialFigure(context)}) {
    if (figure.empty()) continue;
    plots.push_back(FigureHtml(figure, context.interactive));
    section.figures.push_back(std::move(figure));
  }
  section.html = BarsTable(context) + Figures(fields) + Figures(plots);
  return section;
}

Section CoverageSection(const RigContext& context) {
  std::vector<std::string> coverage, doubt;
  for (std::size_t c = 0; c < context.run.certificate.geometry.cameras.size(); ++c)
    coverage.push_back(CoverageSvg(context, c));
  for (std::size_t c = 0; c < context.run.certificate.cameras.size(); ++c)
    doubt.push_back(UncertaintySvg(context, c));
  std::string html = "<h3>Where the board was seen</h3>" + Figures(coverage);
  if (!doubt.empty())
    html +=
        "<h3>Uncertainty of the lens</h3><p>Beyond the dashed line nothing was measured: the "
        "figures there hold only if the lens follows the model there as well.</p>" +
        Figures(doubt);
  const auto& halves = context.run.certificate.halves;
  if (halves && halves->usable) {
    HtmlTable table("Two halves of the shots, solved apart",
                    {"Camera", "#Difference [px]", "#Expected from noise [px]", "#Ratio",
                     "#Chance of such a ratio"});
    for (std::size_t c = 0; c < halves->cameras.size(); ++c) {
      const CrossValidation::PerCamera& half = halves->cameras[c];
      table.Row({Escape(context.name(c)), Fixed(half.rms_difference, 3),
                 Fixed(half.rms_predicted, 3), Fixed(half.ratio, 2), Percent(half.p)});
    }
    html += table.Html() +
            "<p class=\"foot\">The uncertainties follow from the scatter of the points. When two "
            "halves differ by more than these predict, there is another cause: a lens the model "
            "cannot follow, a board that bends, a focus that moved, pictures turned upside "
            "down.</p>\n";
  }
  return {"coverage", "Coverage and uncertainty", html, {}};
}

Section ViewsSection(const RigContext& context, const std::vector<ShownView>& views) {
  std::string html =
      "<p>Blue rings: points as found. Orange crosses: where the calibration puts them. Yellow: "
      "the order of the points, from the dot on. Red: points left out.</p>";
  std::vector<std::string> figures;
  figures.reserve(views.size());
  for (const ShownView& view : views) figures.push_back(PhotoSvg(context, view));
  html += views.empty() ? "<p>The board was found in no picture.</p>" : Figures(figures);
  HtmlTable table("Pictures that were not used", {"Picture", "Camera", "Reason"});
  for (std::size_t k = 0; k < context.run.problem.shots.size(); ++k) {
    for (std::size_t c = 0; c < context.cameras(); ++c) {
      const BoardView& view = context.run.problem.shots[k].views[c];
      const ViewResult* v = context.view(k, c);
      const std::string why = v != nullptr && !v->rejected.empty() && !view.points.empty()
                                  ? v->rejected
                              : view.points.empty() ? view.problem
                                                    : "";
      if (!why.empty() && !view.image.empty())
        table.Row({Escape(std::filesystem::path(view.image).filename().string()),
                   Escape(context.name(c)), Escape(why)});
    }
  }
  if (table.rows() > 0) html += table.Html(table.rows() > 12);
  return {"views", context.run.result.usable() ? "Worst pictures" : "Pictures", html, {}};
}

Section RigMethodSection(const RigContext& context) {
  const CalibrationRun& run = context.run;
  const CalibrationResult& r = run.result;
  std::string html = fmt::format(
      "<p>OpenCV finds the points of the board; everything else is one least-squares problem over "
      "lens parameters, camera poses, board poses and two numbers for the bend of the board: {} "
      "residuals, {} more than unknowns, solved in {} and {}\u00A0s. A robust fit finds points "
      "beyond {:g}\u00A0standard deviations, {} here; without them it is plain least squares, and "
      "its covariance gives every uncertainty of this page.</p>",
      2 * r.n_points, r.dof, Count(r.iterations, "step"), Num(r.seconds, 2),
      run.plan.solve.outlier_sigma, Count(r.n_outliers, "point"));
  if (r.starts > 1)
    html += fmt::format("<p>{} of {} solves from disturbed starts ended at this optimum.</p>",
                        r.starts_agreeing, r.starts);
  std::vector<std::string> notes = run.notes;
  notes.insert(notes.end(), r.notes.begin(), r.notes.end());
  if (!notes.empty()) {
    html += "<h3>Notes</h3><ul>";
    for (const std::string& note : notes) html += "<li>" + Escape(note) + "</li>";
    html += "</ul>";
  }
  html +=
      "<dl class=\"definitions\"><dt>Residual</dt><dd>Where the calibration puts a point less "
      "where it was found. The rms counts both coordinates together: the root of the sum of "
      "squared lengths over the number of points.</dd><dt>Lens uncertainty</dt><dd>Standard "
      "deviation of the image of a fixed point, along its worst direction, from the covariance of "
      "the lens parameters; the rigid motion that a change of the lens implies is taken out. It "
      "does not include the error of a lens that the model cannot follow.</dd><dt>Model "
      "error</dt><dd>What the lens does beyond the model, from the pattern of the residuals or "
      "from two halves of the shots, where it is more than chance. The head of the page gives both "
      "together, root of the sum of squares.</dd><dt>Depth of a point</dt><dd>Standard deviation "
      "along the view of the first camera, noise of the points, of the rig and model error "
      "together. Across the view the axes of the world count too: they are those of the first "
      "camera and turn with its principal point, for all points alike, so that most of it cancels "
      "in differences of points.</dd></dl>";
  html += fmt::format(
      "<p class=\"foot\">impactlab {}. Everything on this page stands as numbers in "
      "calibration.json; inputs and settings in run.yaml.</p>\n",
      Escape(ProgramVersion()));
  return {"method", "Method", html, {}};
}

}  // namespace impactlab::pipelines
