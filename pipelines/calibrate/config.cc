#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "calibration/camera/rig.h"
#include "calibration/formats/formats.h"
#include "data/files/text.h"
#include "data/yaml/yaml.h"
#include "pipelines/calibrate/calibrate.h"
#include "pipelines/config/yaml.h"

namespace impactlab {
namespace {

using pipelines::YamlCount;
using pipelines::YamlFlag;
using pipelines::YamlLine;
using pipelines::YamlWord;

constexpr const char* kSchema = "impactlab.calibration/1";
constexpr BoardKind kKinds[] = {BoardKind::kChessboard, BoardKind::kCharuco, BoardKind::kCircles,
                                BoardKind::kAsymmetricCircles};
constexpr LensModel kModels[] = {LensModel::kBrown, LensModel::kRational, LensModel::kFisheye};

struct MethodName {
  DetectOptions::Method method;
  const char* name;
};
constexpr MethodName kMethods[] = {{DetectOptions::Method::kAuto, "auto"},
                                   {DetectOptions::Method::kClassic, "classic"},
                                   {DetectOptions::Method::kSector, "sector"}};

bool HasSquares(BoardKind kind) {
  return kind == BoardKind::kChessboard || kind == BoardKind::kCharuco;
}

Board ParseBoard(const YamlNode& root) {
  const YamlNode node = root.Map("board");
  Board board;
  std::vector<std::string> kinds;
  for (const BoardKind kind : kKinds) kinds.emplace_back(ToString(kind));
  const std::string kind = node.Choice("kind", kinds);
  board.kind = kKinds[std::find(kinds.begin(), kinds.end(), kind) - kinds.begin()];
  const std::string counts = HasSquares(board.kind) ? "corners" : "discs";
  const std::vector<double> n = node.Vector(counts, 2, Closed(1, 1000));
  for (const double v : n) {
    if (v != std::floor(v))
      throw node.Fault(counts, FormatNumber(v),
                       "whole numbers: points in a row, points in a column");
  }
  board.columns = static_cast<int>(n[0]);
  board.rows = static_cast<int>(n[1]);
  const Range length = Closed(1e-4, 100);
  if (HasSquares(board.kind)) {
    board.pitch = node.Number("square_m", length);
  } else {
    board.pitch =
        node.Number(board.kind == BoardKind::kCircles ? "spacing_m" : "half_spacing_m", length);
    board.disc_diameter = node.Number("disc_diameter_m", length);
  }
  if (board.kind == BoardKind::kCharuco) {
    board.marker_side = node.Number("marker_m", length);
    board.dictionary = node.Text("dictionary", board.dictionary);
    board.legacy = node.Flag("legacy", board.legacy);
  }
  const std::string fault = Fault(board);
  if (!fault.empty())
    throw root.Fault("board", "a board that cannot be made: " + fault, "a board as it was printed");
  return board;
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

void ParseParameters(const YamlNode& node, CameraSource& c) {
  // A camera whose model is still to be chosen may name the parameters of any.
  std::vector<std::string> known;
  for (const LensModel model : kModels) {
    if (!c.choose_model && model != c.model) continue;
    for (const std::string& name : IntrinsicNames(model))
      if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
  }
  const auto check = [&](const std::string& key, const std::string& name) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    const std::string nearest = NearestName(name, known);
    throw node.Fault(key, Excerpt(name) + (nearest.empty() ? "" : ", nearest is " + nearest),
                     JoinNames(known));
  };
  c.fixed = node.Texts("fixed", {});
  for (const std::string& name : c.fixed) check("fixed", name);
  const YamlNode priors = node.MapOrEmpty("priors");
  for (const std::string& name : priors.Keys()) {
    check("priors", name);
    const std::vector<double> v = priors.Vector(name, 2);
    if (!(v[1] > 0))
      throw priors.Fault(name, FormatNumber(v[1]),
                         "[mean, standard deviation] with a standard deviation above 0");
    c.priors.push_back({name, v[0], v[1]});
  }
}

CameraSource ParseCamera(const YamlNode& node, const std::vector<CameraSource>& earlier) {
  CameraSource c;
  c.name = node.Text("name");
  const bool plain = std::all_of(c.name.begin(), c.name.end(), [](unsigned char ch) {
    return std::isalnum(ch) || ch == '_' || ch == '-';
  });
  if (!plain) throw node.Fault("name", Excerpt(c.name), "letters, digits, - and _");
  for (const CameraSource& other : earlier)
    if (other.name == c.name)
      throw node.Fault("name", c.name + " again", "every camera with a name of its own");
  const bool images = node.Has("images"), videos = node.Has("video");
  if (images == videos) {
    throw node.Fault(images ? "video" : "images",
                     images ? "images as well" : "neither images nor video",
                     "images: a pattern, a folder or a list; or video: a file or a list");
  }
  (images ? c.images : c.videos) = node.Texts(images ? "images" : "video");
  if (!earlier.empty() && earlier.front().images.empty() == images)
    throw node.Fault(images ? "images" : "video",
                     fmt::format("the other kind than camera {}", earlier.front().name),
                     "images for all cameras or video for all");
  if (node.Has("start")) {
    c.start_file = node.Folder() / node.Text("start");
    c.start = StartCamera(node, *c.start_file, c.name);
    c.model = c.start->model;
  }
  std::vector<std::string> models = {"auto"};
  for (const LensModel model : kModels) models.emplace_back(ToString(model));
  const std::string model = node.Choice("model", ToString(c.model), models);
  c.choose_model = model == "auto";
  if (!c.choose_model) c.model = *LensModelFromString(model);
  if (c.start && (c.choose_model || c.start->model != c.model))
    throw node.Fault("model", model,
                     fmt::format("{}, the model of the start", ToString(c.start->model)));
  ParseParameters(node, c);
  if (node.Has("shares_intrinsics_with")) {
    const std::string with = node.Text("shares_intrinsics_with");
    for (std::size_t k = 0; k < earlier.size(); ++k)
      if (earlier[k].name == with) c.shares_intrinsics_with = static_cast<int>(k);
    if (c.shares_intrinsics_with < 0)
      throw node.Fault("shares_intrinsics_with", Excerpt(with),
                       "the name of a camera above this one");
  }
  return c;
}

int Count(const YamlNode& node, const std::string& key, int otherwise, double least, double most) {
  return static_cast<int>(node.Integer(key, otherwise, Closed(least, most)));
}

void ParseSolve(const YamlNode& node, CalibrationOptions& o) {
  o.warp = node.Flag("warp", o.warp);
  o.robust = node.Flag("robust", o.robust);
  o.outlier_sigma = node.Number("outlier_sigma", o.outlier_sigma, Closed(2, 100));
  o.fix_order = node.Flag("fix_order", o.fix_order);
  o.max_iterations = Count(node, "max_iterations", o.max_iterations, 1, 100000);
  o.random_starts = Count(node, "random_starts", o.random_starts, 0, 1000);
  o.seed = static_cast<std::uint64_t>(
      node.Integer("seed", static_cast<std::int64_t>(o.seed), NonNegative()));
}

void ParseCertificate(const YamlNode& node, RigCertificateOptions& o) {
  o.working_distance = node.Number("working_distance_m", o.working_distance, NonNegative());
  o.good_pixel_sd = node.Number("good_pixel_sd_px", o.good_pixel_sd, Positive());
  o.max_pixel_sd = node.Number("max_pixel_sd_px", o.max_pixel_sd, Positive());
  o.good_depth_sd = node.Number("good_depth_sd", o.good_depth_sd, Positive());
  o.max_depth_sd = node.Number("max_depth_sd", o.max_depth_sd, Positive());
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
  root.Choice("schema", kSchema, {kSchema});
  plan.name = root.Text("name", path.stem().string());
  plan.board = ParseBoard(root);
  for (const YamlNode& node : root.List("cameras"))
    plan.cameras.push_back(ParseCamera(node, plan.cameras));
  const std::vector<std::string> matches = plan.video() ? std::vector<std::string>{"time", "index"}
                                                        : std::vector<std::string>{"name", "index"};
  const std::string match = root.Choice("match", matches[0], matches);
  plan.match = match == "index" ? ShotMatch::kIndex
               : plan.video()   ? ShotMatch::kTime
                                : ShotMatch::kName;
  const YamlNode frames = root.MapOrEmpty("frames");
  plan.frames.most = Count(frames, "most", plan.frames.most, 3, 10000);
  plan.frames.examine = Count(frames, "examine", std::max(plan.frames.examine, plan.frames.most),
                              plan.frames.most, 1e6);
  const YamlNode detect = root.MapOrEmpty("detect");
  std::vector<std::string> methods;
  for (const MethodName& m : kMethods) methods.emplace_back(m.name);
  const std::string method = detect.Choice("method", methods[0], methods);
  plan.detect.method =
      kMethods[std::find(methods.begin(), methods.end(), method) - methods.begin()].method;
  plan.detect.refine = detect.Flag("refine", plan.detect.refine);
  ParseSolve(root.MapOrEmpty("solve"), plan.solve);
  ParseCertificate(root.MapOrEmpty("certificate"), plan.certificate);
  std::vector<std::string> names;
  for (const CameraSource& camera : plan.cameras) names.push_back(camera.name);
  plan.world = WorldFromYaml(root, names);
  root.Has("provenance");  // of a run.yaml: says where a result came from and changes nothing
  root.Finish();
  return plan;
}

Board BoardFromYaml(const YamlNode& root) { return ParseBoard(root); }

std::string BoardYaml(const Board& board) {
  std::string out = "board:\n" + YamlWord(1, "kind", ToString(board.kind));
  out += YamlWord(1, HasSquares(board.kind) ? "corners" : "discs",
                  fmt::format("[{}, {}]", board.columns, board.rows));
  switch (board.kind) {
    case BoardKind::kChessboard:
      return out + YamlLine(1, "square_m", board.pitch);
    case BoardKind::kCharuco:
      return out + YamlLine(1, "square_m", board.pitch) +
             YamlLine(1, "marker_m", board.marker_side) +
             YamlWord(1, "dictionary", YamlQuote(board.dictionary)) +
             YamlFlag(1, "legacy", board.legacy);
    case BoardKind::kCircles:
      return out + YamlLine(1, "spacing_m", board.pitch) +
             YamlLine(1, "disc_diameter_m", board.disc_diameter);
    case BoardKind::kAsymmetricCircles:
      break;
  }
  return out + YamlLine(1, "half_spacing_m", board.pitch) +
         YamlLine(1, "disc_diameter_m", board.disc_diameter);
}

std::string ToYaml(const CalibrationConfig& plan) {
  const std::filesystem::path base =
      plan.path.empty() ? "" : std::filesystem::absolute(plan.path).parent_path();
  const auto list = [&](const std::vector<std::string>& patterns) {
    std::string out;
    for (const std::string& pattern : patterns) {
      std::filesystem::path file = pattern;
      if (file.is_relative()) file = base / file;
      out += (out.empty() ? "" : ", ") + YamlQuote(file.string());
    }
    return "[" + out + "]";
  };
  std::string out = YamlWord(0, "schema", kSchema) + YamlWord(0, "name", YamlQuote(plan.name)) +
                    BoardYaml(plan.board) + "cameras:\n";
  for (const CameraSource& c : plan.cameras) {
    out += "  - " + YamlWord(0, "name", YamlQuote(c.name));
    out += c.images.empty() ? YamlWord(2, "video", list(c.videos))
                            : YamlWord(2, "images", list(c.images));
    out += YamlWord(2, "model", c.choose_model ? "auto" : ToString(c.model));
    if (!c.fixed.empty()) out += YamlWord(2, "fixed", "[" + JoinNames(c.fixed) + "]");
    if (!c.priors.empty()) out += "    priors:\n";
    for (const CameraSetup::Prior& p : c.priors) out += YamlLine(3, p.parameter, {p.mean, p.sd});
    if (c.start_file)
      out += YamlWord(2, "start", YamlQuote(std::filesystem::absolute(*c.start_file).string()));
    if (c.shares_intrinsics_with >= 0)
      out += YamlWord(
          2, "shares_intrinsics_with",
          YamlQuote(plan.cameras[static_cast<std::size_t>(c.shares_intrinsics_with)].name));
  }
  out += YamlWord(0, "match", ToString(plan.match));
  out += "frames:\n" + YamlCount(1, "most", plan.frames.most) +
         YamlCount(1, "examine", plan.frames.examine);
  out += "detect:\n";
  for (const MethodName& m : kMethods)
    if (m.method == plan.detect.method) out += YamlWord(1, "method", m.name);
  out += YamlFlag(1, "refine", plan.detect.refine);
  const CalibrationOptions& o = plan.solve;
  out += "solve:\n" + YamlFlag(1, "warp", o.warp) + YamlFlag(1, "robust", o.robust) +
         YamlLine(1, "outlier_sigma", o.outlier_sigma) + YamlFlag(1, "fix_order", o.fix_order) +
         YamlCount(1, "max_iterations", o.max_iterations) +
         YamlCount(1, "random_starts", o.random_starts) +
         YamlCount(1, "seed", static_cast<long long>(o.seed));
  const RigCertificateOptions& c = plan.certificate;
  out += "certificate:\n" + YamlLine(1, "working_distance_m", c.working_distance) +
         YamlLine(1, "good_pixel_sd_px", c.good_pixel_sd) +
         YamlLine(1, "max_pixel_sd_px", c.max_pixel_sd) +
         YamlLine(1, "good_depth_sd", c.good_depth_sd) +
         YamlLine(1, "max_depth_sd", c.max_depth_sd);
  return out + ToYaml(plan.world);
}

}  // namespace impactlab
