// Findings from the pictures and from the solve, before any uncertainty is computed.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "calibration/certificate/detail/findings.h"
#include "data/files/text.h"

namespace impactlab::calibration {

namespace {

constexpr const char* kUnmirror =
    "turn mirroring off in the camera or the recording program (often a selfie setting), and do "
    "not film through a mirror; pictures taken already can be flipped";

// Cameras whose pose relative to the first is not determined, and those that share very few shots
// with it.
void CheckLinks(const CalibrationProblem& problem, const CalibrationResult& result,
                Findings findings) {
  constexpr int kFewShared = 3;
  const int n_cameras = static_cast<int>(problem.cameras.size());
  if (n_cameras < 2) return;
  std::vector<std::vector<int>> shared(n_cameras, std::vector<int>(n_cameras, 0));
  std::vector<int> seen(n_cameras, 0), alone(n_cameras, 0);
  for (std::size_t s = 0; s < problem.shots.size(); ++s) {
    std::vector<int> here;
    for (int c = 0; c < std::min(n_cameras, static_cast<int>(problem.shots[s].views.size())); ++c) {
      if (problem.shots[s].views[c].points.empty() || problem.shots[s].views[c].mirrored) continue;
      ++seen[c];
      const bool rejected = result.usable() && s < result.shots.size() &&
                            c < static_cast<int>(result.shots[s].views.size()) &&
                            !result.shots[s].views[c].rejected.empty();
      if (!rejected) here.push_back(c);
    }
    for (int a : here)
      for (int b : here) shared[a][b] += a != b;
    for (int a : here) alone[a] += here.size() > 1;
  }
  std::vector<char> linked(n_cameras, 0);
  linked[0] = 1;
  for (int round = 0; round < n_cameras; ++round)
    for (int a = 0; a < n_cameras; ++a)
      for (int b = 0; b < n_cameras; ++b) linked[b] |= linked[a] && shared[a][b] > 0;
  for (int c = 0; c < n_cameras; ++c) {
    if (seen[c] == 0 || seen[0] == 0) continue;  // reported by another finding
    const std::string& name = problem.cameras[c].name;
    if (!linked[c]) {
      findings.Add(
          RigVerdict::kRefused, c, "no-common-view",
          fmt::format("{} never sees the board in the same shot as {}{}: its pose in the rig is "
                      "not determined",
                      name, problem.cameras[0].name,
                      n_cameras > 2 ? " or a camera linked to it" : ""),
          fmt::format("film shots in which {} and {} see the board at the same moment, ten or more",
                      problem.cameras[0].name, name));
    } else if (alone[c] > 0 && alone[c] < kFewShared) {
      findings.Add(
          RigVerdict::kUsable, c, "few-common-views",
          fmt::format("{} sees the board together with another camera in {} shot{} only: its place "
                      "hangs on {}",
                      name, alone[c], alone[c] == 1 ? "" : "s", alone[c] == 1 ? "it" : "them"),
          "film more shots in which two cameras or more see the board at the same moment, ten or "
          "more for each camera");
    }
  }
}

// The geometry of the shots explains what is missing; the solve adds the consequence.
void Undetermined(const CalibrationResult& result, Findings findings) {
  bool explained = false;
  for (const RigFinding& finding : *findings.list) {
    if (finding.code == "no-common-view" && finding.level == RigVerdict::kRefused) return;
    explained |= finding.level == RigVerdict::kRefused;
  }
  // The advice is given with the finding that explains the cause.
  std::string advice = explained && result.advice == kFilmMore ? "" : result.advice;
  advice = LowerCase(advice.substr(0, 1)) + (advice.empty() ? "" : advice.substr(1));
  findings.Add(RigVerdict::kRefused, -1, "undetermined",
               "the shots do not determine the cameras: " + result.reason, advice);
}

// Cameras that were given the same pictures.
void CheckSamePictures(const CalibrationProblem& problem, Findings findings) {
  const int n_cameras = static_cast<int>(problem.cameras.size());
  for (int b = 1; b < n_cameras; ++b) {
    for (int a = 0; a < b; ++a) {
      int both = 0, same = 0;
      for (const BoardShot& shot : problem.shots) {
        if (b >= static_cast<int>(shot.views.size())) continue;
        const auto &one = shot.views[a].points, &two = shot.views[b].points;
        if (one.empty() || two.empty()) continue;
        ++both;
        same +=
            one.size() == two.size() && std::equal(one.begin(), one.end(), two.begin(),
                                                   [](const BoardPoint& p, const BoardPoint& q) {
                                                     return p.id == q.id && p.q == q.q;
                                                   });
      }
      if (2 * same <= both) continue;
      findings.Add(RigVerdict::kRefused, b, "same-pictures",
                   fmt::format("{} and {} have the same pictures ({} of {} shots): there is no "
                               "second view to measure depth with",
                               problem.cameras[a].name, problem.cameras[b].name, same, both),
                   fmt::format("check the folders and file names of {} and {}",
                               problem.cameras[a].name, problem.cameras[b].name));
      break;
    }
  }
}

}  // namespace

void AddInputFindings(const CalibrationProblem& problem, const CalibrationResult& result,
                      Findings findings) {
  const int n_shots = static_cast<int>(problem.shots.size());
  for (int c = 0; c < static_cast<int>(problem.cameras.size()); ++c) {
    const std::string& name = problem.cameras[c].name;
    int pictures = 0, mirrored = 0, empty = 0;
    std::string example;
    for (const BoardShot& shot : problem.shots) {
      if (c >= static_cast<int>(shot.views.size())) continue;
      const BoardView& view = shot.views[c];
      // no picture at all
      if (view.image.empty() && view.points.empty() && view.problem.empty() && !view.mirrored)
        continue;
      ++pictures;
      mirrored += view.mirrored;
      if (view.points.empty() && !view.mirrored) {
        ++empty;
        if (example.empty()) example = view.problem;
      }
    }
    if (mirrored > 0) {
      const bool most = 2 * mirrored > pictures;
      findings.Add(
          most ? RigVerdict::kRefused : RigVerdict::kUsable, c, "mirrored",
          fmt::format("{}: {} of {} pictures show the board mirrored; their points cannot be used",
                      name, mirrored, pictures),
          kUnmirror);
    }
    if (pictures > 0 && empty > 0.7 * pictures) {
      findings.Add(
          RigVerdict::kRefused, c, "board-not-found",
          fmt::format("{}: the board was not found in {} of {} pictures{}", name, empty, pictures,
                      example.empty() ? "" : " (" + example + ")"),
          fmt::format("check the size of the board that was given, {} x {} points: on a chessboard "
                      "the inner corners count, one less than the squares each way; check focus, "
                      "light, and that the whole board is in the picture",
                      problem.board.columns, problem.board.rows));
    }
  }
  CheckLinks(problem, result, findings);
  CheckSamePictures(problem, findings);
  if (n_shots == 0) {
    findings.Add(RigVerdict::kRefused, -1, "no-data", "there are no pictures of the board",
                 "film the board with every camera");
  }
}

namespace {

void AddStatusFinding(const CalibrationResult& result, Findings findings) {
  switch (result.status) {
    case CalibrationStatus::kSolved:
      break;
    case CalibrationStatus::kNotConverged:
      findings.Add(RigVerdict::kRefused, -1, "not-converged",
                   "the solve did not converge: " + result.reason,
                   "look at the worst pictures; check board size and square side; start with a "
                   "simpler lens model");
      break;
    case CalibrationStatus::kUndetermined:
      Undetermined(result, findings);
      break;
    case CalibrationStatus::kInconsistent:
      // Mirrored pictures that detection has named already need no second finding.
      if (result.reason.find("mirrored") == std::string::npos) {
        findings.Add(RigVerdict::kRefused, -1, "inconsistent",
                     "the shots and the model do not fit together: " + result.reason,
                     "check that the pictures of the cameras belong together, that no two cameras "
                     "are swapped, that one board was used and counted right, and that the lens "
                     "model has no more parameters than the pictures determine");
      } else if (std::none_of(findings.list->begin(), findings.list->end(),
                              [](const RigFinding& f) {
                                return f.code == "mirrored" && f.level == RigVerdict::kRefused;
                              })) {
        findings.Add(RigVerdict::kRefused, -1, "mirrored", result.reason, kUnmirror);
      }
      break;
    case CalibrationStatus::kNoData:
      findings.Add(RigVerdict::kRefused, -1, "no-data",
                   "there is nothing to solve: " + result.reason);
      break;
  }
}

// Pictures left out or turned: one finding a camera and reason, then how many they are.
void AddViewFindings(const CalibrationProblem& problem, const CalibrationResult& result,
                     Findings findings) {
  int turned = 0, views = 0, rejected = 0, swapped = 0;
  std::map<std::pair<std::size_t, std::string>, std::vector<std::string>> left_out;
  for (std::size_t s = 0; s < std::min(result.shots.size(), problem.shots.size()); ++s) {
    for (std::size_t c = 0;
         c < std::min(result.shots[s].views.size(), problem.shots[s].views.size()); ++c) {
      if (problem.shots[s].views[c].points.empty()) continue;
      const ViewResult& view = result.shots[s].views[c];
      ++views;
      if (view.rejected.empty()) {
        turned += !view.note.empty();
        continue;
      }
      ++rejected;
      swapped += view.rejected.find("swapped") != std::string::npos;
      left_out[{c, view.rejected}].push_back("'" + problem.shots[s].name + "'");
    }
  }
  for (const auto& [what, names] : left_out) {
    findings.Add(RigVerdict::kGood, static_cast<int>(what.first), "view-rejected",
                 fmt::format("{}: picture{} {} left out: {}", problem.cameras[what.first].name,
                             names.size() > 1 ? "s" : "", fmt::join(names, ", "), what.second));
  }
  if (turned > 0) {
    findings.Add(RigVerdict::kGood, -1, "orientation",
                 fmt::format("in {} pictures the points of the board were numbered from another "
                             "corner; they were turned",
                             turned),
                 "a ChArUco board, or a chessboard with an odd and an even side, cannot be "
                 "confused with itself turned");
  }
  if (swapped > 0) {
    const double share = static_cast<double>(swapped) / views;
    findings.Add(
        share > 0.25 ? RigVerdict::kRefused : RigVerdict::kUsable, -1, "swapped-cameras",
        fmt::format(
            "swapped cameras: {} of {} pictures show what another camera should have seen{}",
            swapped, views, share > 0.25 ? "; it is not known which of them are right" : ""),
        "check the folders and file names of the cameras: each must hold the pictures of one "
        "camera only");
  }
  if (rejected > swapped) {
    findings.Grade(static_cast<double>(rejected - swapped) / views, 0.2, 0.5, -1, "views-rejected",
                   fmt::format("{} of {} pictures had to be left out", rejected - swapped, views),
                   "see the reason of each; often pictures of different moments are paired, or the "
                   "board was counted wrongly");
  }
}

}  // namespace

void AddSolveFindings(const CalibrationProblem& problem, const CalibrationResult& result,
                      const RigCertificateOptions& options, Findings findings) {
  AddStatusFinding(result, findings);
  AddViewFindings(problem, result, findings);
  for (const std::string& note : result.notes) findings.Add(RigVerdict::kGood, -1, "note", note);
  if (!result.usable()) return;
  const double share = result.n_points > 0 ? static_cast<double>(result.n_outliers) /
                                                 (result.n_points + result.n_outliers)
                                           : 0;
  findings.Grade(share, options.good_outliers, options.max_outliers, -1, "outliers",
                 fmt::format("{:.1f} % of the points do not fit and were left out", 100 * share),
                 "hold the board still, avoid blur and reflections; mount it on a stiff plate; see "
                 "which pictures lose most points");
}

}  // namespace impactlab::calibration
