#include "pipelines/report/detail/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/cache/provenance.h"
#include "data/files/text.h"

namespace impactlab::pipelines {
namespace {

// poses of a recording: more than a plot of it has pixels for
constexpr std::size_t kMaxFrames = 420;
constexpr std::size_t kPartBytes = 400'000;  // read from a disk in a moment
constexpr std::size_t kFigureBytes = 100'000;

struct FigureTexts {
  const Figure* figure = nullptr;
  std::vector<std::string> plots;
  std::size_t bytes = 0;
};

// Collects texts in scripts that hand them to the page.
class Parts {
 public:
  Parts(std::string folder, std::string mark)
      : folder_(std::move(folder)), mark_(std::move(mark)) {}

  // Adds a list of texts, the first of which is number `first` of what `call` names, and
  // writes the script of each into `where`.
  void Add(const std::string& call, std::size_t first, const std::vector<std::string>& texts,
           std::vector<std::string>* where) {
    for (std::size_t i = 0; i < texts.size();) {
      const std::string name = fmt::format("{}/{}_{:03}.js", folder_, mark_, done.size());
      std::string list;
      const std::size_t from = i;
      for (; i < texts.size() && (list.empty() || list.size() + texts[i].size() < kPartBytes);
           ++i) {
        list += (list.empty() ? "" : ",") + texts[i];
        where->push_back(name);
      }
      done.emplace_back(name, fmt::format("{}{},[{}]);\n", call, first + from, list));
    }
  }

  std::vector<std::pair<std::string, std::string>> done;

 private:
  std::string folder_, mark_;
};

// Appends the frames of the videos to the data of each recording.
void AddPictures(const std::vector<std::string>& pictures, std::vector<RecordingData>* recordings) {
  for (std::size_t i = 0; i < std::min(pictures.size(), recordings->size()); ++i) {
    if (pictures[i].empty()) continue;
    (*recordings)[i].all.back() = ',';
    (*recordings)[i].all += "\"pictures\":" + pictures[i] + "}";
  }
}

std::string Quoted(const std::string& text) { return nlohmann::json(text).dump(-1, ' ', true); }

// `object` with the script that holds the rest of it.
std::string WithPart(std::string object, const std::string& part) {
  object.back() = ',';
  return object + "\"part\":" + Quoted(part) + "}";
}

// What a selector needs to know of a plot.
std::string Brief(const Plot& plot) {
  return nlohmann::json({{"choice", plot.choice}}).dump(-1, ' ', true);
}

}  // namespace

PageData SplitPage(const ReportContext& context, const std::vector<Section>& sections,
                   const std::string& folder, std::size_t page_bytes) {
  std::vector<FigureTexts> figures;
  std::size_t bytes = 0;
  for (const Section& section : sections)
    for (const Figure& figure : section.figures) {
      if (!context.interactive) continue;  // drawn already
      FigureTexts& texts = figures.emplace_back(FigureTexts{&figure, {}, 0});
      for (const Plot& plot : figure.plots)
        texts.bytes += texts.plots.emplace_back(ToJson(plot)).size();
      bytes += texts.bytes;
    }
  const std::size_t frames = FramesWithin(context, kMaxFrames);
  const std::vector<std::string> pictures = MakePictures(context);
  std::vector<RecordingData> recordings = MakeRecordingData(context, frames);
  AddPictures(pictures, &recordings);
  for (const RecordingData& one : recordings) bytes += one.all.size();

  const bool apart = bytes > page_bytes;
  if (apart && frames < kMaxFrames) {
    recordings = MakeRecordingData(context, kMaxFrames);
    AddPictures(pictures, &recordings);
  }
  std::vector<std::string> all;
  all.reserve(recordings.size());
  for (const RecordingData& one : recordings) all.push_back(one.all);
  PageData out;
  out.pictured = static_cast<std::size_t>(std::count_if(
      pictures.begin(), pictures.end(), [](const auto& one) { return !one.empty(); }));
  std::vector<std::string> figure_list;
  if (!apart) {
    for (const FigureTexts& texts : figures)
      figure_list.push_back(ToJson(*texts.figure, texts.plots));
    out.recordings = "[" + JoinNames(all, ",") + "]";
    out.figures = "[" + JoinNames(figure_list, ",") + "]";
    return out;
  }

  std::string content = JoinNames(all);
  for (const FigureTexts& texts : figures) content += JoinNames(texts.plots);
  Parts parts(folder, Sha256(content).substr(0, 12));
  std::vector<std::string> where, briefs;
  parts.Add("takeRecordings(", 0, all, &where);
  for (std::size_t i = 0; i < recordings.size(); ++i)
    briefs.push_back(WithPart(recordings[i].brief, where[i]));
  out.recordings = "[" + JoinNames(briefs, ",") + "]";
  for (const FigureTexts& texts : figures) {
    if (texts.bytes < kFigureBytes || texts.plots.size() < 2) {
      figure_list.push_back(ToJson(*texts.figure, texts.plots));
      continue;
    }
    where.clear();
    std::vector<std::string> shown = {texts.plots.front()};
    parts.Add(fmt::format("takePlots({},", Quoted(texts.figure->id)), 1,
              {texts.plots.begin() + 1, texts.plots.end()}, &where);
    for (std::size_t k = 1; k < texts.plots.size(); ++k)
      shown.push_back(WithPart(Brief(texts.figure->plots[k]), where[k - 1]));
    figure_list.push_back(ToJson(*texts.figure, shown));
  }
  out.figures = "[" + JoinNames(figure_list, ",") + "]";
  out.parts = std::move(parts.done);
  return out;
}

}  // namespace impactlab::pipelines
