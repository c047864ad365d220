// Findings of a recording and the error that each causes.
//
// Costs are errors of e* = v_plus / v_minus of a central impact at 1 m/s (at e* = 1, where they are
// largest, unless said otherwise), both speeds being slopes of least-squares lines over `kArc` of
// flight:
//   lost frame, repeated frame, uneven stamps: the times that would be believed against the real
//     ones (CostOfTimes). A step s of time in the middle of an arc T changes its slope by
//     1.5 s / T.
//   wrong rate: speeds change alike and their ratio does not, but g does: CostOfRate.
//   rolling shutter: a body that moves by u pixels a second along the rows' direction is seen at
//     t + y t_line, its speed by 1 + u t_line too small or large; before and after have opposite
//     signs: (1 + e) u t_line. The scale is not known here: 0.5 m are taken for the height of the
//     picture.
//   exposure that changes with the light: its middle moves by half of the change.

#include "tracking/doctor/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "tracking/doctor/detail/examination.h"

namespace impactlab {
namespace tracking {

Severity FromCost(double cost) {
  return cost >= 0.02 ? Severity::kFault : cost >= 0.002 ? Severity::kWarning : Severity::kNote;
}

namespace {

std::string Numbers(const std::vector<long long>& list) {
  std::string text;
  constexpr std::size_t kShown = 6;
  for (std::size_t k = 0; k < std::min(kShown, list.size()); ++k)
    text += fmt::format("{}{}", k > 0 ? ", " : "", list[k]);
  if (list.size() > kShown) text += fmt::format(" and {} more", list.size() - kShown);
  return text;
}

}  // namespace

void Examination::Read() {
  // With several threads a decoder gives fewer frames at the end of a truncated file: one thread is
  // used, as in tracking.
  FrameSource alone = source;
  alone.decode.threads = 1;
  FrameReader reader(alone);
  report.name = SourceName(source);
  report.info = reader.info();
  if (!source.video.empty()) facts = ProbeStream(source.video);
  Frame frame;
  try {
    while (reader.Next(&frame)) {
      if (static_cast<long long>(t.size()) >= options.max_frames) {
        more = true;
        break;
      }
      t.push_back(frame.t);
      index.push_back(frame.index);
      frames.push_back(meter.MeasureFrame(frame.image));
      if (first.pixels.empty()) first = frame.image;
      last = frame.image;
    }
  } catch (const DataError& error) {
    broken = error.what();
    if (broken.starts_with(report.name + ": ")) broken.erase(0, report.name.size() + 2);
  }
  report.damaged = reader.damaged();
  report.frames = static_cast<long long>(t.size());
}

void Examination::Stamps() {
  sorted = t;
  std::stable_sort(sorted.begin(), sorted.end());
  std::vector<long long> back, same;
  for (std::size_t k = 1; k < t.size(); ++k) {
    if (t[k] < t[k - 1]) back.push_back(index[k]);
    if (t[k] == t[k - 1]) same.push_back(index[k]);
  }
  report.first = sorted.front(), report.last = sorted.back();
  if (!back.empty()) {
    Add("out_of_order", Severity::kFault, CostOfTimes(sorted, t, kArc),
        fmt::format("{} {} before the one that precedes {} in the file: {}", back.size(),
                    Plural(back.size(), "frame is stamped", "frames are stamped"),
                    Plural(back.size(), "it", "them"), Numbers(back)),
        "frames or stamps were mixed up when the file was written: record or convert it again");
  }
  if (!same.empty()) {
    Add("repeated_stamps", Severity::kFault, 0,
        fmt::format("{} the stamp of the one before: {}",
                    Plural(same.size(), "frame has", "frames have"), Numbers(same)),
        "times must increase: give a table of stamps, or the file as the camera wrote it");
  }
  beat = FitBeat(sorted);
  if (beat.step <= 0) return;
  report.rate = 1 / beat.step;
  report.jitter = beat.jitter;
  std::vector<double> steps;
  for (std::size_t k = 1; k < sorted.size(); ++k) steps.push_back(sorted[k] - sorted[k - 1]);
  for (const double p : {0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0})
    report.step_quantiles.push_back(Quantile(steps, p));
  report.step_min = report.step_quantiles.front(), report.step_max = report.step_quantiles.back();

  // Damaged frames are gaps of the stamps too, but not lost by the camera.
  std::vector<double> even(sorted.size());
  for (std::size_t k = 0; k < sorted.size(); ++k)
    even[k] = sorted[0] + beat.step * static_cast<double>(k);
  long long missing = 0;
  for (std::size_t k = 1; k < sorted.size(); ++k) {
    const long long gap = beat.count[k] - beat.count[k - 1] - 1,
                    skipped = index[k] > index[k - 1] ? index[k] - index[k - 1] - 1 : 0;
    if (gap <= skipped) continue;
    report.dropped.push_back(index[k - 1]);
    missing += gap - skipped;
  }
  const bool wanders = beat.jitter > 0.25 * beat.step;  // no beat to miss frames of
  if (wanders) report.dropped.clear();
  if (!report.dropped.empty()) {
    const double cost = CostOfTimes(sorted, even, kArc);
    Add("dropped_frames", Severity::kWarning, cost,
        fmt::format("{} {} missing by the stamps, after {} {}", missing,
                    missing == 1 ? "frame is" : "frames are",
                    Plural(report.dropped.size(), "frame", "frames"), Numbers(report.dropped)),
        "times are taken from the stamps, which show the gap: harmless unless it lies at an "
        "impact; never count frames in this file");
  }
  Evenness(beat.even);
}

// Jitter, drift and rounding of the stamps.
void Examination::Evenness(const std::vector<double>& even) {
  const double scale = source.rate > 0 || source.clock_rate != 1 ? 0 : DecimalTick(sorted);
  const double tick = std::max(facts.tick * (source.rate > 0 && report.info.nominal_rate > 0
                                                 ? report.info.nominal_rate / source.rate
                                                 : 1),
                               scale);
  const bool rounded = tick > 0 && beat.residual_max <= 1.01 * tick;
  if (rounded && beat.residual_sd > 2e-3 * beat.step) {
    const double cost = CostOfTimes(even, sorted, kArc);
    Add("coarse_stamps", FromCost(cost), cost,
        fmt::format("stamps are rounded to {:.3g} ms, {:.0f} % of the time between frames; behind "
                    "them is an even {:.4f} frames/s",
                    1e3 * tick, 100 * tick / beat.step, 1 / beat.step),
        "record into MP4 or MOV, or give a table of even stamps if the camera is known to run at a "
        "fixed rate");
    return;
  }
  if (beat.residual_max <= 1e-3 * beat.step || (rounded && beat.residual_sd <= 2e-3 * beat.step))
    return;
  std::vector<double> believed(sorted.size());
  for (std::size_t k = 0; k < sorted.size(); ++k)
    believed[k] = sorted[0] + beat.step * static_cast<double>(beat.count[k]);
  const double cost = CostOfTimes(sorted, believed, kArc);
  Add("variable_rate", std::min(Severity::kWarning, FromCost(cost)), cost,
      fmt::format("the time between frames varies: {:.3f} to {:.3f} ms, half of it within {:.3f} "
                  "to {:.3f} ms (median {:.3f} ms)",
                  1e3 * report.step_min, 1e3 * report.step_max, 1e3 * report.step_quantiles[2],
                  1e3 * report.step_quantiles[4], 1e3 * report.step_quantiles[3]),
      "times are taken from the stamps, frame by frame; where the stamps come from the computer "
      "rather than the camera the pictures may be more even than they: fix the rate in the camera");
}

void Examination::Rate() {
  if (beat.step <= 0) return;
  const double rate = report.rate;
  if (source.rate > 0) {
    if (facts.capture_rate > 0 && std::abs(facts.capture_rate / source.rate - 1) > 0.02) {
      const double factor = facts.capture_rate / source.rate;
      Add("rate_unlikely", Severity::kWarning, CostOfRate(factor, kArc),
          fmt::format("the rate given is {:.4g} frames/s, but the file says that {:.4g} were "
                      "recorded a second ({})",
                      source.rate, facts.capture_rate, facts.capture_tag),
          "check which is right: the tracks of a free fall must show g");
    }
    return;
  }
  if (facts.capture_rate > 0 && std::abs(facts.capture_rate / rate - 1) > 0.02) {
    const double factor = facts.capture_rate / rate;
    Add("rate_unlikely", Severity::kFault, CostOfRate(factor, kArc),
        fmt::format("slow motion: stamped for playing at {:.4g} frames/s, recorded at {:.4g} ({}); "
                    "all times are {:.4g} times too long",
                    rate, facts.capture_rate, facts.capture_tag, factor),
        fmt::format("give the true rate, rate_hz: {:.6g}, in the experiment file",
                    facts.capture_rate));
    return;
  }
  if (rate < 5 || rate > 5e6) {
    Add("rate_unlikely", Severity::kWarning, 0,
        fmt::format("{:.4g} frames/s is no rate at which impacts are filmed", rate),
        "give the true rate, rate_hz, in the experiment file");
    return;
  }
  if (facts.capture_rate > 0) return;
  for (const double playing : {24.0, 25.0, 30.0}) {
    const bool near =
        std::abs(rate / playing - 1) < 1e-4 || std::abs(rate * 1.001 / playing - 1) < 1e-4;
    if (!near || source.video.empty()) continue;
    Add("playing_rate", Severity::kNote, 0,
        fmt::format("{:.4g} frames/s is a rate for playing: if this was recorded faster (slow "
                    "motion) the file does not show it",
                    rate),
        "give rate_hz in the experiment file if so; the tracks of a free fall must show g");
  }
  if (facts.counted) {
    Add("counted_stamps", Severity::kNote, 0,
        "AVI holds a rate and no stamps: frames that the camera lost do not show in its times",
        "prefer a container with stamps, or check the rate with a free fall");
  }
}

void Examination::Exposure() {
  if (options.exposure <= 0 || beat.step <= 0 || options.exposure <= 1.02 * beat.step) return;
  Add("exposure_unlikely", Severity::kFault, 0,
      fmt::format("the exposure given, {:.4g} s, is longer than the {:.4g} s from frame to frame: "
                  "no camera does that",
                  options.exposure, beat.step),
      "give the exposure in seconds, or the true rate of the camera if the stamps are wrong");
}

void Examination::Pictures() {
  pictures = FindRepeated(frames, meter.samples(), meter.blocks(), facts.predicted);
  report.exposure.assign(t.size(), 0);
  long long latest = 0;
  for (std::size_t k = 1; k < t.size(); ++k) {
    const long long by_stamps = beat.step > 0 ? beat.count[k] - beat.count[k - 1] : 1;
    const long long by_picture = pictures.exposures[k], shown = pictures.shown[k];
    latest += by_picture == 0 ? 0 : std::max(by_stamps, by_picture);
    report.exposure[k] = by_picture == 0 ? report.exposure[shown] : latest;
  }
  for (const long long k : pictures.repeated) report.duplicated.push_back(index[k]);
  Repeats();
}

void Examination::Repeats() {
  if (beat.step <= 0) return;
  // Real times after the exposures that the pictures show, against the stamps that would be
  // believed.
  std::vector<double> real(t.size());
  for (std::size_t k = 0; k < t.size(); ++k)
    real[k] = sorted[0] + beat.step * static_cast<double>(report.exposure[k]);
  if (!report.duplicated.empty()) {
    const double cost = CostOfTimes(real, beat.even, kArc);
    const std::size_t n = report.duplicated.size();
    const double share = static_cast<double>(n) / static_cast<double>(t.size());
    std::string text =
        fmt::format("{} of {} {} the picture of the frame before ({}): {}", n, t.size(),
                    Plural(n, "frames repeats", "frames repeat"),
                    pictures.by_copy && !pictures.by_noise    ? "every pixel is the same"
                    : pictures.by_noise && pictures.by_motion ? "noise and motion stand still"
                    : pictures.by_noise                       ? "its noise stands still"
                                                              : "motion halts and goes on",
                    Numbers(report.duplicated));
    if (share > 0.15)
      text += fmt::format("; {:.4g} pictures/s are real", report.rate * (1 - share));
    Add("duplicated_frames", std::max(Severity::kWarning, FromCost(cost)), cost, text,
        "leave these frames out: they were taken at other times than stamped, and so may be those "
        "that follow");
  }
  if (std::vector<long long> back, again; !pictures.returned.empty()) {
    for (const long long k : pictures.returned)
      back.push_back(index[k]), again.push_back(index[pictures.shown[k]]);
    const double cost = CostOfTimes(real, beat.even, kArc);
    Add("out_of_order", Severity::kFault, cost,
        fmt::format("{} {} a picture that was there before, pixel by pixel: that of {} {}",
                    Plural(back.size(), "frame", "frames"),
                    Numbers(back) + Plural(back.size(), " shows", " show"),
                    Plural(again.size(), "frame", "frames"), Numbers(again)),
        "frames were mixed up when the file was written: record or convert it again, or leave "
        "these frames out");
  }
  std::vector<long long> lost;
  for (const long long k : pictures.lost)
    if (beat.count[k] - beat.count[k - 1] < pictures.exposures[k]) lost.push_back(index[k - 1]);
  if (!lost.empty()) {
    const double cost = CostOfTimes(real, beat.even, kArc);
    Add("lost_frames", std::max(Severity::kWarning, FromCost(cost)), cost,
        fmt::format("by the motion a frame is missing after {} {}, though the stamps go on evenly",
                    Plural(lost.size(), "frame", "frames"), Numbers(lost)),
        "the stamps after it are too early: use the original file, or split the recording there");
    report.dropped.insert(report.dropped.end(), lost.begin(), lost.end());
    std::sort(report.dropped.begin(), report.dropped.end());
  }
  if (t.size() <= 5) return;
  const auto pairs = static_cast<double>(t.size() - 1);
  if (!pictures.decidable) {
    Add("duplicates_unknown", Severity::kNote, 0,
        facts.predicted ? "repeated frames could not be looked for: the coder left neither noise "
                          "nor motion in the pictures"
                        : "repeated frames could not be looked for: the pictures show neither "
                          "noise nor motion");
  } else if (static_cast<double>(pictures.decided) < 0.75 * pairs) {
    Add("duplicates_unknown", Severity::kFine, 0,
        fmt::format("repeated frames could be looked for only while something moves, in {} of {} "
                    "frames: noise does not tell them",
                    pictures.decided, t.size()));
  }
}

}  // namespace tracking

namespace {

void Judge(TimeBaseReport* to) {
  TimeBaseReport& report = *to;
  report.verdict = Severity::kFine;
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const TimeFinding& a, const TimeFinding& b) {
                     return a.severity != b.severity ? a.severity > b.severity
                                                     : a.cost_e > b.cost_e;
                   });
  for (const TimeFinding& f : report.findings)
    report.verdict = std::max(report.verdict, f.severity);
  const std::string base = report.frames == 1 ? "a single frame"
                           : report.rate > 0
                               ? fmt::format("{} frames at {:.4f} /s", report.frames, report.rate)
                               : fmt::format("{} frames without a rate", report.frames);
  const auto unknown =
      std::find_if(report.findings.begin(), report.findings.end(),
                   [](const TimeFinding& f) { return f.code == "duplicates_unknown"; });
  const bool undecided = unknown != report.findings.end() && unknown->severity == Severity::kNote;
  const auto worst = static_cast<std::size_t>(
      std::count_if(report.findings.begin(), report.findings.end(),
                    [&](const TimeFinding& f) { return f.severity == report.verdict; }));
  switch (report.verdict) {
    case Severity::kFine:
      report.headline = fmt::format("Good: {}, nothing found against the times{}.", base,
                                    unknown != report.findings.end()
                                        ? ", but repeats would show in a part of the frames only"
                                        : "");
      break;
    case Severity::kNote:
      report.headline =
          undecided
              ? fmt::format(
                    "Undecided: {}, no fault seen, but repeated frames could not be looked for.",
                    base)
              : fmt::format(
                    "Good: {}; {} to know.", base,
                    tracking::Plural(static_cast<long long>(worst), "one thing", "some things"));
      break;
    case Severity::kWarning:
      report.headline = fmt::format(
          "Usable with care: {}; {} {} attention.", base, worst,
          tracking::Plural(static_cast<long long>(worst), "finding needs", "findings need"));
      break;
    case Severity::kFault:
      report.headline =
          fmt::format("Not to be trusted as it is: {}; {} {} to be put right.", base, worst,
                      tracking::Plural(static_cast<long long>(worst), "fault has", "faults have"));
      break;
  }
}

}  // namespace

const char* ToString(Severity severity) {
  switch (severity) {
    case Severity::kFine:
      return "fine";
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kFault:
      return "fault";
  }
  return "";
}

void AddFinding(TimeBaseReport* report, TimeFinding finding) {
  report->findings.push_back(std::move(finding));
  Judge(report);
}

TimeBaseReport ExamineTimeBase(const FrameSource& source, const DoctorOptions& options) {
  if (options.max_frames < 1) throw ConfigError("doctor: max_frames must be at least 1");
  if (!(options.exposure >= 0)) throw ConfigError("doctor: exposure_s must not be negative");
  tracking::Examination e(source, options);
  e.Read();
  if (e.t.empty())
    throw DataError(fmt::format("{}: {}", e.report.name,
                                e.broken.empty() ? "holds no frame that can be read" : e.broken));
  if (e.t.size() == 1) {
    e.report.first = e.report.last = e.t[0];
    e.report.exposure = {0};
    e.Add("single_frame", Severity::kFault, 0, "a single frame has no motion and no rate",
          "give a recording");
  } else {
    e.Stamps();
    e.Exposure();
    e.Pictures();
    e.Rate();
    e.Shutter();
    e.Brightness();
    e.Steadiness();
  }
  e.Container();
  Judge(&e.report);
  return e.report;
}

}  // namespace impactlab
