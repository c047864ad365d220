#pragma once
// What the pictures and videos of a calibration show, before anything is solved. Private to the
// pipelines room.

#include <Eigen/Core>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipelines/calibrate/calibrate.h"
#include "pipelines/config/input_files.h"

namespace impactlab::pipelines {

// Pictures of the cameras that belong together. DataError when nothing matches.
std::vector<MatchedShot> MatchFiles(const CalibrationConfig& plan,
                                    const std::vector<std::vector<std::filesystem::path>>& files,
                                    std::vector<std::string>* notes);

// What was found in one examined frame of a video.
struct FrameCandidate {
  BoardShot shot;
  int clip = 0;
  double t = 0;         // of the first camera [s]
  long long frame = 0;  // of the first camera
};
// Frames to keep, in order of time: sharp, with little motion, and with poses of the board that
// differ most from each other. A view that is blurred beside the others of its camera loses its
// points.
std::vector<std::size_t> ChooseFrames(std::vector<FrameCandidate>& candidates, const Board& board,
                                      int most);

// Corners of the board in the image from the points of a view, in units of the image diagonal:
// upper left, upper right, lower right, lower left. Empty with fewer than 4 points or on a line.
std::optional<Eigen::Matrix<double, 8, 1>> BoardQuad(const Board& board, const BoardView& view);

// Shots of all cameras; fills run.files, run.problem and run.notes.
void ReadStills(const RunContext& context, CalibrationRun* run);
void ReadVideos(const RunContext& context, CalibrationRun* run);

// Pictures behind views, for showing them: "file" or "file#frame". Those that cannot be read stay
// empty.
std::vector<GrayImage> ReadViewImages(const std::vector<std::string>& names);

// Sets the size of every camera to the most frequent one of its pictures; views of another size
// lose their points and state the reason.
void SettleSizes(CalibrationProblem* problem);

}  // namespace impactlab::pipelines
