#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "calibration/camera/rig.h"
#include "calibration/formats/formats.h"
#include "data/files/text.h"
#include "data/yaml/yaml.h"
#include "pipelines/calibrate/calibrate.h"
#include "pipelines/config/visit.h"
#include "pipelines/config/yaml.h"

namespace impactlab {
namespace {

using pipelines::EnumWord;
using pipelines::Keys;
using pipelines::Need;
using pipelines::Style;

constexpr LensModel kModels[] = {LensModel::kBrown, LensModel::kRational, LensModel::kFisheye};
constexpr EnumWord<DetectOptions::Method> kMethods[] = {
    {DetectOptions::Method::kAuto, "auto"},
    {DetectOptions::Method::kClassic, "classic"},
    {DetectOptions::Method::kSector, "sector"}};

void VisitBoardKind(Keys& keys, BoardKind& kind) {
  std::vector<std::string> words;
  for (const BoardKind k : kBoardKinds) words.emplace_back(ToString(k));
  std::string word = ToString(kind);
  keys.OneOf("kind", word, words, "pattern", Need::kRequired);
  for (const BoardKind k : kBoardKinds)
    if (word == ToString(k)) kind = k;
}

void VisitBoard(Keys& keys, Board& board) {
  VisitBoardKind(keys, board.kind);
  const bool squares = HasSquares(board.kind);
  std::vector<double> n = {static_cast<double>(board.columns), static_cast<double>(board.rows)};
  const char* const counts = squares ? "corners" : "discs";
  keys.Vector(counts, n, 2, Closed(1, 1000),
              squares ? "chessboard, ChArUco: inner corners in a row and in a column, the points "
                        "where four squares meet: one less each way than squares"
                      : "circle grids: in a row and in a column",
              Need::kRequired);
  for (const double v : n)
    keys.Check(v == std::floor(v), counts, FormatNumber(v),
               "whole numbers: points in a row, points in a column");
  board.columns = static_cast<int>(n[0]);
  board.rows = static_cast<int>(n[1]);
  const Range length = Closed(1e-4, 100);
  if (squares) {
    keys.Number("square_m", board.pitch, length,
                "chessboard, ChArUco: side of a square as measured on the print", Need::kRequired);
  } else {
    if (board.kind == BoardKind::kCircles)
      keys.Number("spacing_m", board.pitch, length, "circles: from disc to disc", Need::kRequired);
    else
      keys.Number("half_spacing_m", board.pitch, length,
                  "asymmetric-circles: half of the spacing inside a row, the step from row to row",
                  Need::kRequired);
    keys.Number("disc_diameter_m", board.disc_diameter, length, "circle grids: of a disc",
                Need::kRequired);
  }
  if (board.kind != BoardKind::kCharuco) return;
  keys.Number("marker_m", board.marker_side, length, "ChArUco: side of a marker", Need::kRequired);
  keys.Text("dictionary", board.dictionary, "ChArUco: OpenCV's name without DICT_");
  keys.Flag("legacy", board.legacy, "ChArUco: pattern of OpenCV before 4.6");
}

void VisitBoardMap(Keys& keys, Board& board) {
  keys.Map(
      "board", "as printed by `impactlab board`, measured with a ruler",
      [&](Keys& k) { VisitBoard(k, board); }, Need::kRequired);
  if (keys.reading() == nullptr) return;
  const std::string fault = Fault(board);
  keys.Check(fault.empty(), "board", "a board that cannot be made: " + fault,
             "a board as it was printed");
}

// A camera of another rig to start from: the one of the same name, or the only one.
Camera StartCamera(const YamlNode& node, const std::filesystem::path& file,
                   const std::string& name) {
  const CameraRig rig = ReadRig(file);
  std::vector<std::string> names;
  for (const RigCamera& camera : rig.cameras) {
    if (camera.name == name || rig.cameras.size() == 1) return camera.camera;
    names.push_back(camera.name);
  }
  throw node.Fault("start", fmt::format("a rig without a camera '{}'", name), JoinNames(names));
}

// Names of intrinsic parameters; a camera whose model is still to be chosen may name those of any.
std::vector<std::string> KnownParameters(const CameraSource& c) {
  std::vector<std::string> known;
  for (const LensModel model : kModels) {
    if (!c.choose_model && model != c.model) continue;
    for (const std::string& name : IntrinsicNames(model))
      if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
  }
  return known;
}

void CheckParameter(const YamlNode& node, const std::string& key, const std::string& name,
                    const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  const std::string nearest = NearestName(name, known);
  throw node.Fault(key, Excerpt(name) + (nearest.empty() ? "" : ", nearest is " + nearest),
                   JoinNames(known));
}

void VisitParameters(Keys& keys, CameraSource& c) {
  const std::vector<std::string> known = KnownParameters(c);
  keys.Custom(
      "fixed",
      "intrinsic parameters (fx_px, ..., k1, ...) that are held; without start coefficients at 0, "
      "the principal point in the middle. Default: none",
      [&](const YamlNode& node, const char* key) {
        c.fixed = node.Texts(key, {});
        for (const std::string& name : c.fixed) CheckParameter(node, key, name, known);
      },
      [&] { return c.fixed.empty() ? "" : "[" + JoinNames(c.fixed) + "]"; });
  if (keys.reading() == nullptr && c.priors.empty()) return;
  keys.Map("priors", "of intrinsic parameters. Default: none", [&](Keys& k) {
    if (const YamlNode* node = k.reading())
      for (const std::string& name : node->Keys()) {
        CheckParameter(*keys.reading(), "priors", name, known);
        c.priors.push_back({name, 0, 0});
      }
    for (CameraSetup::Prior& prior : c.priors) {
      std::vector<double> v = {prior.mean, prior.sd};
      k.Vector(prior.parameter.c_str(), v, 2, {}, "mean and standard deviation", Need::kRequired);
      k.Check(v[1] > 0, prior.parameter.c_str(), FormatNumber(v[1]),
              "[mean, standard deviation] with a standard deviation above 0");
      prior.mean = v[0], prior.sd = v[1];
    }
  });
}

// Files, patterns or folders, from the root of the file system.
std::string FromRoot(const std::vector<std::string>& patterns, const std::filesystem::path& base) {
  std::vector<std::string> files;
  for (const std::string& pattern : patterns) {
    const std::filesystem::path file = pattern;
    files.push_back(file.is_relative() ? (base / file).string() : pattern);
  }
  return pipelines::QuotedList(files);
}

// Either pictures or videos, the same of all cameras.
void VisitFootage(Keys& keys, CameraSource& c, const std::vector<CameraSource>& earlier,
                  const std::filesystem::path& base) {
  const YamlNode* const node = keys.reading();
  bool images = !c.images.empty();
  if (node != nullptr) {
    images = node->Has("images");
    keys.Check(images != node->Has("video"), images ? "video" : "images",
               images ? "images as well" : "neither images nor video",
               "images: a pattern, a folder or a list; or video: a file or a list");
  }
  std::vector<std::string>& files = images ? c.images : c.videos;
  const char* const key = images ? "images" : "video";
  keys.Custom(
      key,
      images ? "pictures: a pattern, a folder or a list of them; those of different cameras may "
               "differ in size. Instead of video"
             : "videos: a pattern, a file or a list; clips of a rig belong together in their "
               "order. Instead of images",
      [&](const YamlNode& map, const char*) { files = map.Texts(key); },
      [&] { return FromRoot(files, base); });
  keys.Check(
      earlier.empty() || earlier.front().images.empty() != images, key,
      earlier.empty() ? "" : fmt::format("the other kind than camera {}", earlier.front().name),
      "images for all cameras or video for all");
}

void VisitModel(Keys& keys, CameraSource& c) {
  keys.Custom(
      "start",
      "rig.yaml, or a camera file of another program, whose camera of that name (or only camera) "
      "is the start of the solve and the value of fixed parameters. Default: closed form",
      [&](const YamlNode& node, const char* key) {
        if (!node.Has(key)) return;
        c.start_file = node.Folder() / node.Text(key);
        c.start = StartCamera(node, *c.start_file, c.name);
        c.model = c.start->model;
      },
      [&] {
        return c.start_file ? YamlQuote(std::filesystem::absolute(*c.start_file).string()) : "";
      });
  keys.Custom(
      "model",
      "Brown's and the rational model are of lenses that keep straight lines nearly straight; auto "
      "takes the simplest that predicts unseen shots as well as the best. Default: brown, or that "
      "of start",
      [&](const YamlNode& node, const char* key) {
        std::vector<std::string> models = {"auto"};
        for (const LensModel model : kModels) models.emplace_back(ToString(model));
        const std::string model = node.Choice(key, ToString(c.model), models);
        c.choose_model = model == "auto";
        if (!c.choose_model) c.model = *LensModelFromString(model);
        if (c.start && (c.choose_model || c.start->model != c.model))
          throw node.Fault(key, model,
                           fmt::format("{}, the model of the start", ToString(c.start->model)));
      },
      [&] { return std::string(c.choose_model ? "auto" : ToString(c.model)); });
}

// While a camera is read, `all` holds those above it.
void VisitCamera(Keys& keys, CameraSource& c, const std::vector<CameraSource>& all,
                 const std::filesystem::path& base) {
  keys.Text("name", c.name, "letters, digits, -, _", Need::kRequired);
  const bool plain = std::all_of(c.name.begin(), c.name.end(), [](unsigned char ch) {
    return std::isalnum(ch) || ch == '_' || ch == '-';
  });
  keys.Check(plain, "name", Excerpt(c.name), "letters, digits, - and _");
  for (const CameraSource& other : all)
    keys.Check(other.name != c.name, "name", c.name + " again",
               "every camera with a name of its own");
  VisitFootage(keys, c, all, base);
  VisitModel(keys, c);
  VisitParameters(keys, c);
  int& with = c.shares_intrinsics_with;
  keys.Custom(
      "shares_intrinsics_with",
      "name of a camera above this one with the same lens, size and model",
      [&](const YamlNode& node, const char* key) {
        if (!node.Has(key)) return;
        const std::string name = node.Text(key);
        for (std::size_t k = 0; k < all.size(); ++k)
          if (all[k].name == name) with = static_cast<int>(k);
        if (with < 0) throw node.Fault(key, Excerpt(name), "the name of a camera above this one");
      },
      [&] { return with < 0 ? "" : YamlQuote(all[static_cast<std::size_t>(with)].name); });
  keys.WriteOrder({"model", "fixed", "priors", "start"});
}

// Shots that belong together: pictures by name or index, videos by time or index.
void VisitMatch(Keys& keys, CalibrationConfig& plan) {
  keys.Custom(
      "match",
      "pictures: name (the part of the file name that changes within a camera) or index (order; "
      "equally many of each); videos: time (stamps since the first frame of the clip) or index "
      "(frame number). Videos must have been recorded in step. Default: name, of videos time",
      [&](const YamlNode& node, const char* key) {
        const ShotMatch usual = plan.video() ? ShotMatch::kTime : ShotMatch::kName;
        const std::string word = ToString(usual);
        plan.match = node.Choice(key, word, {word, "index"}) == word ? usual : ShotMatch::kIndex;
      },
      [&] { return std::string(ToString(plan.match)); });
}

void VisitFrames(Keys& keys, FrameOptions& o) {
  keys.Count("most", o.most, Closed(3, 10000),
             "frames kept: the sharpest, calmest and most different");
  if (keys.reading() != nullptr) o.examine = std::max(o.examine, o.most);
  keys.Count("examine", o.examine, Closed(o.most, 1e6),
             "frames searched for the board, evenly spread over all clips");
}

void VisitDetect(Keys& keys, DetectOptions& o) {
  keys.Word("method", o.method, kMethods, "of chessboards");
  keys.Flag("refine", o.refine, "to parts of a pixel");
}

void VisitSolve(Keys& keys, CalibrationOptions& o) {
  keys.Flag("warp", o.warp, "estimate the bend of the board");
  keys.Flag("robust", o.robust, "find and leave out points that do not fit");
  keys.Number("outlier_sigma", o.outlier_sigma, Closed(2, 100),
              "beyond so many standard deviations");
  keys.Flag("fix_order", o.fix_order,
            "turn views whose points are listed from another corner than the rest");
  keys.Count("max_iterations", o.max_iterations, Closed(1, 100000), "of the solve");
  keys.Count("random_starts", o.random_starts, Closed(0, 1000),
             "more solves from disturbed starts; another optimum is noted");
  keys.Count("seed", o.seed, NonNegative(), "of these starts");
}

void VisitCertificate(Keys& keys, RigCertificateOptions& o) {
  keys.Number("working_distance_m", o.working_distance, NonNegative(),
              "where the experiment will be, from the camera; 0: where the boards were");
  keys.Number("good_pixel_sd_px", o.good_pixel_sd, Positive(),
              "lens uncertainty there, over nine tenths of the measured picture: good below it");
  keys.Number("max_pixel_sd_px", o.max_pixel_sd, Positive(), "refused above it");
  keys.Number(
      "good_depth_sd", o.good_depth_sd, Positive(),
      "standard deviation of the depth of a point, relative to the distance: good below it");
  keys.Number("max_depth_sd", o.max_depth_sd, Positive(), "refused above it");
}

// The whole file, in the order in which it is read.
void VisitCalibration(Keys& keys, CalibrationConfig& plan) {
  const std::filesystem::path base =
      plan.path.empty() ? "" : std::filesystem::absolute(plan.path).parent_path();
  keys.Schema("impactlab.calibration/1", Need::kOptional);
  keys.Text("name", plan.name, "stands on the certificate. Default: name of the file");
  VisitBoardMap(keys, plan.board);
  keys.List(
      "cameras", plan.cameras, "one of each camera", Style::kLines,
      [&](Keys& k, CameraSource& camera) { VisitCamera(k, camera, plan.cameras, base); },
      Need::kRequired);
  VisitMatch(keys, plan);
  keys.Map("frames", "of videos", [&](Keys& k) { VisitFrames(k, plan.frames); });
  keys.Map("detect", "where the corners are", [&](Keys& k) { VisitDetect(k, plan.detect); });
  keys.Map("solve", "for all cameras together", [&](Keys& k) { VisitSolve(k, plan.solve); });
  keys.Map("certificate", "what makes a rig good, usable or refused",
           [&](Keys& k) { VisitCertificate(k, plan.certificate); });
  std::vector<std::string> names;
  for (const CameraSource& camera : plan.cameras) names.push_back(camera.name);
  Visit(keys, plan.world, names);
}

}  // namespace

const char* ToString(ShotMatch match) {
  switch (match) {
    case ShotMatch::kName:
      return "name";
    case ShotMatch::kIndex:
      return "index";
    case ShotMatch::kTime:
      break;
  }
  return "time";
}

CalibrationConfig LoadCalibration(const std::filesystem::path& path) {
  const YamlNode root = LoadYaml(path);
  CalibrationConfig plan;
  plan.path = path;
  plan.name = path.stem().string();
  Keys keys(root);
  VisitCalibration(keys, plan);
  pipelines::VisitProvenance(keys);
  root.Finish();
  return plan;
}

std::string ToYaml(const CalibrationConfig& plan) {
  CalibrationConfig copy = plan;
  Keys keys(0);
  VisitCalibration(keys, copy);
  return keys.text();
}

Board BoardFromYaml(const YamlNode& root) {
  Board board;
  Keys keys(root);
  VisitBoardMap(keys, board);
  return board;
}

std::string BoardYaml(const Board& board) {
  Board copy = board;
  Keys keys(0);
  VisitBoardMap(keys, copy);
  return keys.text();
}

}  // namespace impactlab
