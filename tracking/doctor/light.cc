// Findings from brightness, lens and container.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/statistics/statistics.h"
#include "tracking/doctor/detail/examination.h"

namespace impactlab::tracking {

void Examination::Shutter() {
  // A picture is read within the time between frames, of which slow motion knows better than its
  // stamps.
  const double limit = source.rate <= 0 && facts.capture_rate > 0
                           ? std::min(beat.step, 1 / facts.capture_rate)
                           : std::min(beat.step, 0.033);
  const auto cost_of = [&](double readout) { return std::min(1.0, 2 * readout / kSceneHeight); };
  if (source.t_line != 0) {
    Add("rolling_shutter", Severity::kFine, 0,
        fmt::format("rolling shutter with the row time given, {:.3f} us", 1e6 * source.t_line));
    return;
  }
  const ShutterEvidence seen = FindShutter(sorted, frames, meter.covered());
  const double rows = std::max(
      1, (report.info.rotation_deg % 180 == 0 ? report.info.height : report.info.width) - 1);
  const char* advice = "give t_line_s, the time from row to row, for this camera";
  if (facts.readout > 0 || seen.rolling) {
    const double readout = facts.readout > 0 ? facts.readout : seen.readout;
    const double cost = cost_of(readout > 0 ? readout : limit);
    const std::string by = facts.readout > 0 ? "as the file says"
                           : seen.mains > 0
                               ? fmt::format("by lamps that flicker at {:.0f} Hz", seen.mains)
                               : "flicker of the lamps runs down the picture";
    Add("rolling_shutter", std::max(Severity::kWarning, FromCost(cost)), cost,
        readout > 0
            ? fmt::format(
                  "rolling shutter, {}: {:.2f} ms from the first row to the last, {:.3f} us a row",
                  by, 1e3 * readout, 1e6 * readout / rows)
            : fmt::format("rolling shutter: {}", by),
        advice);
  } else if (seen.flicker) {
    Add("rolling_shutter", Severity::kFine, 0,
        "all rows are exposed together: flicker of the lamps is in step from top to bottom");
  } else if (facts.phone) {
    Add("rolling_shutter", Severity::kWarning, cost_of(limit),
        "a phone: rolling shutter with a row time that is not known", advice);
  } else {
    Add("rolling_shutter", Severity::kFine, cost_of(limit),
        "rolling shutter: not known, since nothing in the pictures measures it (a flickering lamp "
        "would)");
  }
}

namespace {

// Frames in which the light is brighter for a moment: it comes and goes within `longest` frames and
// by sharp edges, or one of the two lies outside of the recording.
std::vector<char> Flashed(const std::vector<double>& gain, double least, std::size_t longest) {
  const std::size_t n = gain.size();
  std::vector<char> flash(n, 0);
  for (std::size_t k = 0; k < n;) {
    std::size_t end = k;
    if (k > 0 && gain[k] > gain[k - 1] * (1 + least)) {
      double peak = gain[k];
      while (end < n && gain[end] > gain[k - 1] + 0.1 * (peak - gain[k - 1]))
        peak = std::max(peak, gain[end]), ++end;
    } else if (k == 0) {
      // Lit from the start: all of it is brighter than the level to which it falls at once.
      double dimmest = gain[0];
      for (std::size_t at = 1; at <= longest && at + 1 < n && end == 0; ++at) {
        if (dimmest > gain[at] * (1 + least) && gain[at + 1] > 0.98 * gain[at]) end = at;
        dimmest = std::min(dimmest, gain[at]);
      }
    }
    if (end > k && end - k <= longest) {
      std::fill(flash.begin() + static_cast<std::ptrdiff_t>(k),
                flash.begin() + static_cast<std::ptrdiff_t>(end), char{1});
      k = end;
    } else {
      ++k;
    }
  }
  return flash;
}

}  // namespace

void Examination::Brightness() {
  const std::size_t n = frames.size();
  if (n < 12) return;
  std::vector<double> gain, smooth(n), rest;
  for (const FrameMeasure& m : frames) gain.push_back(m.gain);
  // Flashes carry no information on the exposure: their frames take the level of their neighbours.
  constexpr double kLongest = 0.15;  // of a flash [s]
  std::vector<double> jitter;
  for (std::size_t k = 1; k < n; ++k) jitter.push_back(gain[k] - gain[k - 1]);
  const double least = std::max(0.05, 8 * MadSigma(jitter));
  const auto longest = std::min<std::size_t>(
      n / 3, beat.step > 0 ? std::max(6L, std::lround(kLongest / beat.step)) : 6);
  const std::vector<char> flash = Flashed(gain, least, longest);
  long long flashes = 0, when = -1;
  for (std::size_t k = 0; k < n; ++k) {
    if (flash[k] == 0 || (k > 0 && flash[k - 1] != 0)) continue;
    std::size_t end = k;
    while (end < n && flash[end] != 0) ++end;
    const double level = k == 0 ? (end < n ? gain[end] : gain[k]) : gain[k - 1];
    std::fill(gain.begin() + static_cast<std::ptrdiff_t>(k),
              gain.begin() + static_cast<std::ptrdiff_t>(end), level);
    ++flashes;
    if (when < 0) when = index[k];
  }
  const auto around = [&](std::size_t k) {
    return std::pair(k < 7 ? 0 : k - 7, std::min(n, k + 8));
  };
  std::vector<double> typical(n);
  for (std::size_t k = 0; k < n; ++k) {
    const auto [a, b] = around(k);
    typical[k] = Median({gain.begin() + static_cast<std::ptrdiff_t>(a),
                         gain.begin() + static_cast<std::ptrdiff_t>(b)});
  }
  for (std::size_t k = 0; k < n; ++k) {
    const auto [a, b] = around(k);
    smooth[k] = Mean({typical.begin() + static_cast<std::ptrdiff_t>(a),
                      typical.begin() + static_cast<std::ptrdiff_t>(b)});
    rest.push_back(gain[k] - typical[k]);
  }
  const double scatter = MadSigma(rest);
  const auto [low, high] = std::minmax_element(smooth.begin(), smooth.end());
  if (*low > 0 && *high / *low > 1.04 + 0.5 * scatter) {
    const double exposure = options.exposure > 0 ? options.exposure : beat.step;
    std::vector<double> real(n);
    for (std::size_t k = 0; k < n; ++k)
      real[k] = sorted[k] + 0.5 * exposure * (std::min(2.0, smooth[k] / *high) - 1);
    const double cost = CostOfTimes(real, sorted, kArc);
    Add("exposure_changes", std::max(Severity::kWarning, FromCost(cost)), cost,
        fmt::format(
            "brightness changes by {:.0f} % in the course of the recording, from frame {} to {}",
            100 * (*high / *low - 1), index[std::min(low, high) - smooth.begin()],
            index[std::max(low, high) - smooth.begin()]),
        "fix exposure and gain in the camera; if a lamp was switched this is harmless to times, "
        "but thresholds must follow");
  }
  if (scatter > 0.01) {
    Add("flicker", Severity::kNote, 0,
        fmt::format("brightness flickers by {:.1f} % from frame to frame", 100 * scatter),
        "use lamps on direct current; thresholds must follow the light");
  }
  if (flashes > 0 && flashes < 20)
    Add("flash", Severity::kFine, 0,
        fmt::format("{} short {}, the first at frame {}", flashes,
                    flashes == 1 ? "flash" : "flashes", when));
}

// A camera that moves, or a picture that is stabilised, while the body flies.
void Examination::Steadiness() {
  for (TimeFinding& f : SimilarityFindings(FindSimilarity(first, last), report.info.width,
                                           "from the first to the last frame"))
    if (f.code != "exposure_changes" && f.code != "refocused")
      report.findings.push_back(std::move(f));
}

void Examination::Container() {
  if (report.info.rotation_deg != 0 || report.info.mirrored) {
    Add("rotation", Severity::kNote, 0,
        fmt::format("the file asks for a turn by {} degrees clockwise{}, which is followed: "
                    "pictures are {} x {}",
                    report.info.rotation_deg, report.info.mirrored ? " of a mirrored picture" : "",
                    report.info.width, report.info.height),
        "the calibration must come from clips with the same turn");
  }
  // Fast motion shows as a comb in interlaced frames; a slow body is at the same place in both
  // fields.
  long long moving = 0, frames_combed = 0;
  for (const FrameMeasure& m : frames)
    moving += m.active > 0, frames_combed += m.comb >= 12 && m.comb > 0.3 * m.ridges;
  const bool combed = frames_combed >= std::max(3LL, moving / 10);
  if (report.info.interlaced) {
    Add("interlaced", Severity::kNote, 0,
        fmt::format("interlaced, {} first: every field is a frame of its own here, {:.4g} a second",
                    report.info.top_field_first ? "upper lines" : "lower lines", report.rate),
        "calibrate with clips of the same kind; every second line is interpolated");
  }
  if (combed) {
    // Points scatter by a quarter of the time between frames to either side.
    const double s = beat.step / 4, n = std::max(3.0, kArc / std::max(beat.step, 1e-9));
    const double cost = std::min(1.0, std::sqrt(2.0) * s * std::sqrt(12 / n) / (n * beat.step));
    Add("interlaced", Severity::kFault, cost,
        report.info.interlaced ? "moving parts are combed in spite of it: fields are in the wrong "
                                 "order, or were split before"
                               : "moving parts are combed line by line: the pictures hold two "
                                 "fields taken at different times, but are not marked so",
        "record progressive, or mark the file (ffmpeg: -field_order tt or bb) so that the fields "
        "can be parted");
  }
  if (report.damaged > 0) {
    Add("damaged", Severity::kWarning, 0,
        fmt::format("{} {} cannot be decoded and {} left out", report.damaged,
                    Plural(static_cast<std::size_t>(report.damaged), "frame", "frames"),
                    report.damaged == 1 ? "is" : "are"),
        "copy the file from the camera again");
  }
  if (!broken.empty())
    Add("cut_short", Severity::kWarning, 0, "the file breaks: " + broken,
        "the good frames before are used; copy the file from the camera again");
  const long long announced = report.info.announced_frames;
  if (broken.empty() && !more && announced > 0 && report.frames + report.damaged < announced) {
    Add("frame_count", Severity::kNote, 0,
        fmt::format("the header announces {} frames, {} are there", announced,
                    report.frames + report.damaged),
        "never count frames by the header");
  }
  if (more)
    Add("not_all", Severity::kFine, 0,
        fmt::format("only the first {} frames were examined", options.max_frames));
}

}  // namespace impactlab::tracking
