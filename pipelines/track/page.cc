#include "pipelines/track/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/base64.h"
#include "pipelines/page/html.h"
#include "pipelines/page/markup.h"
#include "pipelines/page/page.h"
#include "pipelines/page/plot.h"

namespace impactlab {
namespace {

using namespace pipelines;

struct Totals {
  long long recordings = 0, failed = 0, markers = 0, measured = 0, predicted = 0, flagged = 0,
            longest_gap = 0;
  long long named = 0, tried = 0;
  std::vector<double> sds;
};

Totals Sum(const TrackRun& run) {
  Totals t;
  t.recordings = static_cast<long long>(run.recordings.size());
  for (const RecordingSummary& r : run.recordings) {
    t.failed += !r.failure.empty();
    t.tried += r.identity_tried;
    t.named += r.identity_tried && r.identity_usable;
    for (const MarkerSummary& m : r.markers) {
      ++t.markers;
      t.measured += m.measured, t.predicted += m.predicted, t.flagged += m.flagged;
      t.longest_gap = std::max(t.longest_gap, m.longest_gap);
      t.sds.push_back(m.sd);
    }
  }
  std::sort(t.sds.begin(), t.sds.end());
  return t;
}

std::string Share(long long part, long long whole) {
  return Percent(whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0);
}

std::string Head(const TrackRun& run, const Totals& t) {
  std::string tiles =
      Tile("Standard deviation",
           t.sds.empty() ? Num(std::nan("")) : Num(t.sds[t.sds.size() / 2], 2) + "\u00A0px",
           "of a measured position, median over the markers; worst marker " +
               (t.sds.empty() ? "" : Num(t.sds.back(), 2)) + "\u00A0px");
  tiles += Tile("Bridged", Share(t.predicted, t.measured + t.predicted),
                fmt::format("longest gap {}", Count(t.longest_gap, "frame")));
  tiles += Tile("Flagged", Share(t.flagged, t.measured),
                "saturated, touching, partly hidden, cut, faint, or not as the model says");
  if (t.tried > 0)
    tiles += Tile("Names confirmed in space", fmt::format("{} of {}", t.named, t.tried),
                  "rays of the cameras meet and the markers keep their distances");
  return PageHeadHtml(
      {.eyebrow = "Marker tracks",
       .title = run.plan.name,
       .lead = fmt::format("{} of {} followed in {}; {} of {} positions were measured, the rest "
                           "bridged and marked.",
                           t.recordings - t.failed, Count(t.recordings, "recording"),
                           Count(static_cast<long long>(run.plan.cameras.size()), "camera"),
                           t.measured, t.measured + t.predicted),
       .tiles = tiles});
}

Section RecordingsSection(const TrackRun& run) {
  Section section{"recordings", "Recordings", "", {}};
  HtmlTable table("Every camera of every recording",
                  {"Recording", "Camera", "#Frames", "#Rate [Hz]", "#Blur [px]", "#Noise [grey]",
                   "Marker", "#Measured", "#Bridged", "#Longest gap", "#Flagged", "#sd [px]"});
  for (const RecordingSummary& r : run.recordings)
    if (!r.failure.empty())
      table.Row({Escape(r.name), Escape(r.failure), "", "", "", "", "", "", "", "", "", ""},
                "rejected");
  for (const RecordingSummary& r : run.recordings) {
    if (!r.failure.empty()) continue;
    for (const RecordingSummary::Camera& c : r.cameras) {
      bool first = true;
      const auto row = [&](const std::string& marker, const std::vector<std::string>& rest) {
        std::vector<std::string> cells = {first ? Escape(r.name) : "",
                                          first ? Escape(c.name) : "",
                                          first ? std::to_string(c.frames) : "",
                                          first ? Num(c.rate, 5) : "",
                                          first ? Num(c.blur, 2) : "",
                                          first ? Num(c.noise, 2) : "",
                                          Escape(marker)};
        cells.insert(cells.end(), rest.begin(), rest.end());
        table.Row(cells);
        first = false;
      };
      for (const MarkerSummary& m : r.markers) {
        if (m.camera != c.name) continue;
        row(m.marker, {std::to_string(m.measured), std::to_string(m.predicted),
                       std::to_string(m.longest_gap), std::to_string(m.flagged), Num(m.sd, 2)});
      }
      if (first) row(c.failure.empty() ? "none" : c.failure, {"", "", "", "", ""});
    }
  }
  section.html = table.Html(true);
  std::string notes;
  for (const std::string& note : GroupedNotes(run)) notes += "<li>" + Escape(note) + "</li>";
  if (!notes.empty()) section.html += "<h3>Notes</h3><ul>" + notes + "</ul>";
  return section;
}

// One marker's value over time: measured points, bridged ones open, the smoothed curve broken at
// impacts.
void AddMarker(const MarkerTracks& tracks, int camera, int marker, int axis, double t0,
               Plot* plot) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Series measured{.name = tracks.markers[static_cast<std::size_t>(marker)],
                  .mark = Mark::kDot,
                  .colour = marker,
                  .size = 3};
  Series bridged{.name = "", .mark = Mark::kRing, .colour = marker, .size = 3},
      smooth{.name = "", .mark = Mark::kLine, .colour = marker};
  for (const TrackPoint& p : tracks.points) {
    if (p.camera != camera || p.marker != marker) continue;
    const double value = axis < 2 ? p.q(axis) : p.smooth_v.norm();
    Series& series = (p.flags & kPredicted) != 0 ? bridged : measured;
    if ((p.flags & kImpact) != 0) smooth.x.push_back(p.t - t0), smooth.y.push_back(kNan);
    smooth.x.push_back(p.t - t0);
    smooth.y.push_back(axis < 2 ? p.smooth_q(axis) : p.smooth_v.norm());
    if (axis == 2) continue;
    series.x.push_back(p.t - t0);
    series.y.push_back(value);
  }
  if (axis == 2) smooth.name = tracks.markers[static_cast<std::size_t>(marker)];
  for (Series* series : {&smooth, &measured, &bridged})
    if (!series->x.empty()) plot->series.push_back(std::move(*series));
}

Figure PathsFigure(const std::vector<MarkerTracks>& shown) {
  Figure figure{.id = "paths",
                .title = "Markers over time",
                .caption =
                    "Measured positions are filled, bridged ones open; the line is smoothed on "
                    "each side of an impact and never through it. y runs down in the picture.",
                .selectors = {"Recording", "Camera", "Quantity"},
                .plots = {}};
  figure.wide = true;
  constexpr const char* kNames[] = {"y", "x", "speed"};
  constexpr const char* kLabels[] = {"y [px]", "x [px]", "speed [px/s]"};
  constexpr int kAxis[] = {1, 0, 2};
  for (const MarkerTracks& tracks : shown) {
    double t0 = std::numeric_limits<double>::infinity();
    for (const TrackPoint& p : tracks.points) t0 = std::min(t0, p.t);
    for (std::size_t c = 0; c < tracks.cameras.size(); ++c) {
      for (int k = 0; k < 3; ++k) {
        Plot plot;
        plot.choice = {tracks.recording, tracks.cameras[c], kNames[k]};
        plot.x_label = "time since the first frame [s]";
        plot.y_label = kLabels[k];
        for (std::size_t m = 0; m < tracks.markers.size(); ++m)
          AddMarker(tracks, static_cast<int>(c), static_cast<int>(m), kAxis[k], t0, &plot);
        if (!plot.series.empty() && (PreparePlot(plot), true))
          figure.plots.push_back(std::move(plot));
      }
    }
  }
  return figure;
}

Figure ConsistencyFigure(const std::vector<MarkerTracks>& shown) {
  std::vector<double> nis;
  for (const MarkerTracks& tracks : shown)
    for (const TrackPoint& p : tracks.points)
      if (std::isfinite(p.nis) && (p.flags & (kPredicted | kImpact)) == 0) nis.push_back(p.nis);
  Figure figure{.id = "nis",
                .title = "Consistency of the stated covariances",
                .caption =
                    "Normalised innovation squared of every measured position against the "
                    "&chi;&sup2; density with 2 degrees of freedom it has when the stated "
                    "covariances are right. Values above 12 stand in the last column. More small "
                    "values than expected mean that the stated covariances are too large; a marker "
                    "at rest causes them.",
                .selectors = {},
                .plots = {}};
  if (nis.empty()) return figure;
  Plot plot;
  plot.x_label = "normalised innovation squared [1]";
  plot.y_label = "positions";
  plot.counts = true;
  constexpr int kBins = 24;
  constexpr double kUpper = 12;
  plot.series.push_back(Histogram(nis, 0, kUpper, kBins, "found", 0));
  Series expected{.name = "expected", .mark = Mark::kLine, .colour = kInk};
  for (int k = 0; k <= 60; ++k) {
    const double x = kUpper * k / 60;
    expected.x.push_back(x);
    expected.y.push_back(static_cast<double>(nis.size()) * kUpper / kBins * 0.5 *
                         std::exp(-0.5 * x));
  }
  plot.series.push_back(std::move(expected));
  PreparePlot(plot);
  figure.plots.push_back(std::move(plot));
  return figure;
}

Section TracksSection(const std::vector<MarkerTracks>& shown, bool interactive) {
  Section section{"tracks", "Tracks", "", {}};
  for (Figure figure : {PathsFigure(shown), ConsistencyFigure(shown)})
    if (!figure.empty()) section.figures.push_back(std::move(figure));
  section.html = FiguresHtml(section.figures, interactive);
  return section;
}

Section FramesSection(const std::vector<MarkerTracks>& shown, const std::filesystem::path& sheets) {
  Section section{"frames", "Frames about the first impact", "", {}};
  constexpr std::size_t kMost = 4;
  std::size_t n = 0;
  for (const MarkerTracks& tracks : shown) {
    for (const std::string& camera : tracks.cameras) {
      const std::filesystem::path file = sheets / (tracks.recording + "_" + camera + ".png");
      std::error_code absent;
      if (n >= kMost || !std::filesystem::is_regular_file(file, absent)) continue;
      ++n;
      try {
        section.html += fmt::format(
            "<figure class=\"figure\"><h3>{0}, {1}</h3><img style=\"max-width:100%\" alt=\"Frames "
            "about the first impact, recording {0}, camera {1}\" "
            "src=\"data:image/png;base64,{2}\"></figure>\n",
            Escape(tracks.recording), Escape(camera),
            Base64(ReadFile(file, std::size_t{32} << 20)));
      } catch (const DataError&) {
        // The page is complete without it.
      }
    }
  }
  return section;
}

Section MethodSection(const TrackRun& run) {
  return {"method",
          "How",
          fmt::format("<p>{} positions in {}\u00A0s. Spots are found in every frame by their "
                      "difference from the background and followed by a Kalman filter with "
                      "constant acceleration; at every position the image of a marker (disc or "
                      "stripe, blurred by the lens and by its motion during the exposure) is "
                      "fitted to the grey values. The covariance of a position follows from the "
                      "noise of the pixels. All positions stand in tracks.csv with flags; smoothed "
                      "values are for looking, not for fitting: they are correlated from frame to "
                      "frame.</p>",
                      run.points, Num(run.seconds, 2)),
          {}};
}

}  // namespace

void WriteTrackingPage(const std::filesystem::path& path, const TrackRun& run,
                       const std::filesystem::path& sheets,
                       const std::filesystem::path& plot_library) {
  const std::string library = ReadPlotLibrary(plot_library);
  Page page;
  page.title = run.plan.name + " \u2013 marker tracks";
  page.head = Head(run, Sum(run));
  page.sections.push_back(TracksSection(run.shown, !library.empty()));
  if (Section frames = FramesSection(run.shown, sheets); !frames.html.empty())
    page.sections.push_back(std::move(frames));
  page.sections.push_back(RecordingsSection(run));
  page.sections.push_back(MethodSection(run));
  WritePage(path, page, library);
}

}  // namespace impactlab
