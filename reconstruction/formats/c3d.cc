// C3D, read. What belongs to points is kept; analog samples are stepped over.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/base/error.h"
#include "data/files/text.h"
#include "reconstruction/formats/detail/c3d_bytes.h"
#include "reconstruction/formats/detail/marker_table.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Vector3d;

constexpr std::size_t kReadBlock = 512;
constexpr double kLargestWord = 65535;
// Bytes of the header, from 0: words count from 1.
constexpr std::size_t HeaderWord(std::size_t word) { return 2 * (word - 1); }

// What a file says of its own data.
struct Shape {
  // analog values a frame; byte of the data
  std::size_t markers = 0, frames = 0, analog = 0, data = 0;
  bool floating = false;
  double scale = 1, rate = 0, unit = 1e-3;
  long long first = 1;
  std::size_t Element() const { return floating ? 4 : 2; }
  std::size_t FrameBytes() const { return (4 * markers + analog) * Element(); }
};

std::optional<double> Positive(std::optional<double> value) {
  return value && std::isfinite(*value) && *value > 0 ? value : std::nullopt;
}

// A frame number of 32 bits in two words.
std::optional<double> Field(const C3dParameters& p, const char* name) {
  const auto low = p.Number("TRIAL", name, 0), high = p.Number("TRIAL", name, 1);
  if (!low || !std::isfinite(*low)) return std::nullopt;
  return p.IsFloat("TRIAL", name) ? *low : *low + 65536 * high.value_or(0);
}

class C3dReader {
 public:
  C3dReader(std::string_view text, const std::string& path, const MarkerReadOptions& options)
      : bytes_(text, path), options_(options), parameters_(&bytes_, bytes_.Byte(0)) {}

  MarkerFile Read() {
    file_.format = MarkerFormat::kC3d;
    ReadShape();
    ReadUp();
    file_.points = EmptyPoints(Labels(), shape_.frames);
    MarkerPoints& points = file_.points;
    points.first_frame = shape_.first;
    const double start = StartTime();
    for (std::size_t i = 0; i < shape_.frames; ++i)
      points.t[i] = own_start_ ? start + static_cast<double>(i) / shape_.rate
                               : static_cast<double>(shape_.first - 1 + static_cast<long long>(i)) /
                                     shape_.rate;
    for (std::size_t i = 1; i < shape_.frames; ++i) {
      if (!(points.t[i] > points.t[i - 1]) || !std::isfinite(points.t[i]))
        throw DataError(fmt::format(
            "{}: POINT:RATE: found {}, allowed one that tells the times of the frames apart",
            bytes_.path(), shape_.rate));
    }
    ReadPoints();
    ReadEvents(start);
    return std::move(file_);
  }

 private:
  double Need(std::optional<double> value, const char* what, const char* allowed) const {
    if (!value)
      throw DataError(fmt::format("{}: {}: found none, allowed {}", bytes_.path(), what, allowed));
    return *value;
  }

  void ReadShape() {
    const C3dParameters& p = parameters_;
    const double used = p.Number("POINT", "USED").value_or(bytes_.Word(HeaderWord(2)));
    if (!(used >= 1 && used <= kLargestWord))
      throw DataError(
          fmt::format("{}: POINT:USED: found {}, allowed at least one point, at most 65535",
                      bytes_.path(), FormatNumber(used)));
    shape_.markers = static_cast<std::size_t>(used);
    auto scale = p.Number("POINT", "SCALE");
    if (!scale || !std::isfinite(*scale) || *scale == 0) scale = bytes_.Float(HeaderWord(7));
    if (!std::isfinite(*scale) || *scale == 0)
      throw DataError(fmt::format(
          "{}: POINT:SCALE: found {}, allowed below 0 for floating point, above 0 for integers",
          bytes_.path(), FormatNumber(*scale)));
    shape_.floating = *scale < 0;
    shape_.scale = std::abs(*scale);
    auto rate = Positive(p.Number("POINT", "RATE"));
    if (!rate) rate = Positive(bytes_.Float(HeaderWord(11)));
    shape_.rate = Need(rate, "POINT:RATE", "frames a second above 0");
    if (const auto exact = ParseNumber(p.Text(kC3dGroup, kC3dRate));
        exact && std::abs(*exact / shape_.rate - 1) < 1e-6)
      shape_.rate = *exact;
    ReadUnit();
    ReadPlace();
    ReadAnalog();
    ReadFrames();
  }

  void ReadUnit() {
    const std::string unit = LowerCase(parameters_.Text("POINT", "UNITS"));
    if (unit.empty()) {
      file_.notes.emplace_back(
          "the file names no unit of length (POINT:UNITS): millimetres are taken");
    } else if (unit == "m" || unit == "meters" || unit == "metres") {
      shape_.unit = 1;
    } else if (unit == "cm") {
      shape_.unit = 1e-2;
    } else if (unit == "in" || unit == "inches") {
      shape_.unit = 0.0254;
    } else if (unit != "mm" && unit != "millimeters" && unit != "millimetres") {
      throw DataError(fmt::format("{}: POINT:UNITS: found {}, allowed mm, cm, m, in", bytes_.path(),
                                  Excerpt(unit)));
    }
  }

  // The pointer of the parameters counts unless it cannot be.
  void ReadPlace() {
    const auto in_file = [&](double block) {
      return block >= 2 && block < 1e7 &&
             kReadBlock * (static_cast<std::size_t>(block) - 1) < bytes_.size() &&
             kReadBlock * static_cast<std::size_t>(block) > parameters_.end();
    };
    const double stated = parameters_.Number("POINT", "DATA_START").value_or(0),
                 header = bytes_.Word(HeaderWord(9));
    const double block = std::isfinite(stated) && in_file(stated) ? stated : header;
    if (!in_file(block))
      bytes_.Fail(
          HeaderWord(9), fmt::format("data at block {} (POINT:DATA_START {})", header, stated),
          fmt::format("a block of the file behind the parameters, which end at byte {} of {}",
                      parameters_.end(), bytes_.size()));
    if (stated != 0 && stated != header)
      file_.notes.push_back(fmt::format(
          "POINT:DATA_START says block {}, the header {}: {} is taken", stated, header, block));
    shape_.data = kReadBlock * (static_cast<std::size_t>(block) - 1);
  }

  void ReadAnalog() {
    const std::size_t header = bytes_.Word(HeaderWord(3));
    shape_.analog = header;
    const auto used = parameters_.Number("ANALOG", "USED");
    const auto rate = Positive(parameters_.Number("ANALOG", "RATE"));
    if (!used || !(*used >= 0 && *used <= kLargestWord)) return;
    double samples = bytes_.Word(HeaderWord(10));
    if (rate)
      samples =
          std::round(*rate / Positive(parameters_.Number("POINT", "RATE")).value_or(shape_.rate));
    if (!(samples >= 1 && samples <= kLargestWord)) return;
    const std::size_t other = static_cast<std::size_t>(*used) * static_cast<std::size_t>(samples);
    if (other == header) return;
    // The size of the file decides; the last block is padded.
    const auto frames = StatedFrames();
    if (!frames) return;
    const auto rest = [&](std::size_t analog) {
      return static_cast<double>(bytes_.size() - shape_.data) -
             *frames * static_cast<double>((4 * shape_.markers + analog) * shape_.Element());
    };
    if (!(rest(header) >= 0 && rest(header) < 2 * kReadBlock) && rest(other) >= 0 &&
        rest(other) < 2 * kReadBlock)
      shape_.analog = other;
    file_.notes.push_back(
        fmt::format("the header says {} analog values a frame, the parameters {}: {} are taken, by "
                    "the size of the file",
                    header, other, shape_.analog));
  }

  // Number of frames as the parameters or, without them, the header has it.
  std::optional<double> StatedFrames() const {
    const C3dParameters& p = parameters_;
    const auto frames = p.Number("POINT", "FRAMES"),
               longer = Positive(p.Number("POINT", "LONG_FRAMES"));
    if (p.IsFloat("POINT", "FRAMES") && Positive(frames)) return frames;
    if (longer && *longer >= frames.value_or(0)) return longer;
    const auto start = Field(p, "ACTUAL_START_FIELD"), end = Field(p, "ACTUAL_END_FIELD");
    if (start && end && *end >= *start) {
      const double n = *end - *start + 1;
      // Trusted where the count has no place in a word, or says the same but for what does not fit
      // into one.
      if (!Positive(frames) || *frames == kLargestWord ||
          (n > kLargestWord && std::fmod(n, 65536) == *frames))
        return n;
    }
    if (Positive(frames)) return frames;
    const double first = bytes_.Word(HeaderWord(4)), last = bytes_.Word(HeaderWord(5));
    return last >= first && last > 0 ? std::optional<double>(last - first + 1) : std::nullopt;
  }

  void ReadFrames() {
    const auto stated = StatedFrames();
    const double n = Need(stated && std::isfinite(*stated) && *stated >= 1
                              ? std::optional<double>(std::floor(*stated))
                              : std::nullopt,
                          "POINT:FRAMES", "at least one frame");
    const double fit = std::floor(static_cast<double>(bytes_.size() - shape_.data) /
                                  static_cast<double>(shape_.FrameBytes()));
    if (n > fit)
      throw DataError(
          fmt::format("{}: data from byte {}: found {:.0f} frames of {} points and {} analog "
                      "values, allowed the {:.0f} that are stated; "
                      "the file was cut short or its counts are wrong",
                      bytes_.path(), shape_.data, fit, shape_.markers, shape_.analog, n));
    shape_.frames = static_cast<std::size_t>(n);
    if (n == kLargestWord && fit >= n + 1 && !parameters_.IsFloat("POINT", "FRAMES") &&
        !parameters_.Has("POINT", "LONG_FRAMES") && !Field(parameters_, "ACTUAL_END_FIELD"))
      file_.notes.push_back(
          fmt::format("the count of frames is at its limit of 65535 and the file has room for "
                      "{:.0f}: the rest is not read",
                      fit));
    const auto start = Field(parameters_, "ACTUAL_START_FIELD");
    shape_.first = start && *start >= 0 && *start < 4.3e9 ? static_cast<long long>(*start)
                                                          : bytes_.Word(HeaderWord(4));
    if (shape_.first < 1) {
      shape_.first = 1;
      file_.notes.emplace_back(
          "the first frame has the number 0; frames count from 1, and so it does here");
    }
    const double last = bytes_.Word(HeaderWord(5)), first = bytes_.Word(HeaderWord(4));
    if (n < kLargestWord && last - first + 1 != n)
      file_.notes.push_back(
          fmt::format("the header counts frames {:.0f} to {:.0f}, the parameters {:.0f} frames: "
                      "these are taken",
                      first, last, n));
    if (shape_.analog > 0)
      file_.notes.push_back(fmt::format("{} analog values a frame are passed over", shape_.analog));
  }

  void ReadUp() {
    if (options_.up) {
      file_.up = *options_.up;
      return;
    }
    const std::string vertical = parameters_.Text("POINT", "Y_SCREEN");
    if (vertical == "+X") file_.up = UpAxis::kX;
    if (vertical == "+Y") file_.up = UpAxis::kY;
    if (vertical.starts_with('-'))
      file_.notes.push_back(
          fmt::format("POINT:Y_SCREEN says that {} points up: z is taken", vertical));
  }

  std::vector<std::string> Labels() {
    std::vector<std::string> labels;
    for (int k = 1; k <= 300 && labels.size() < shape_.markers; ++k) {
      const std::string name = k == 1 ? "LABELS" : fmt::format("LABELS{}", k);
      if (!parameters_.Has("POINT", name)) break;
      const std::vector<std::string> more = parameters_.Texts("POINT", name);
      labels.insert(labels.end(), more.begin(), more.end());
    }
    labels.resize(shape_.markers);
    TidyNames(&labels, &file_.notes);
    return labels;
  }

  // Of the first frame: what we wrote beside its number, or what its number says.
  double StartTime() {
    if (const auto start = ParseNumber(parameters_.Text(kC3dGroup, kC3dStart))) {
      own_start_ = true;
      return *start;
    }
    return static_cast<double>(shape_.first - 1) / shape_.rate;
  }

  // Word 4: below 0 the point is not there; else cameras in the high byte, residual in units of the
  // scale in the low one.
  void ReadPoints() {
    MarkerPoints& points = file_.points;
    long long zeros = 0, unreadable = 0;
    bool any_residual = false;
    points.residual.assign(shape_.markers, std::vector<double>(shape_.frames, 0.0));
    for (std::size_t i = 0; i < shape_.frames; ++i) {
      std::size_t at = shape_.data + i * shape_.FrameBytes();
      for (std::size_t m = 0; m < shape_.markers; ++m, at += 4 * shape_.Element()) {
        Vector3d p;
        double word = 0;
        if (shape_.floating) {
          p = Vector3d(bytes_.Float(at), bytes_.Float(at + 4), bytes_.Float(at + 8));
          word = bytes_.Float(at + 12);
        } else {
          p = shape_.scale *
              Vector3d(bytes_.Signed(at), bytes_.Signed(at + 2), bytes_.Signed(at + 4));
          word = bytes_.Signed(at + 6);
        }
        if (word < 0) continue;
        if (!p.allFinite() || !std::isfinite(word)) {
          ++unreadable;
          continue;
        }
        if (options_.zero_is_missing && word == 0 && IsPlainZero(p)) {
          ++zeros;
          continue;
        }
        points.p_WM[m][i] = ToWorld(Scaled(p), file_.up);
        if (word < 65536)
          points.residual[m][i] = (static_cast<int>(word) & 0xFF) * shape_.scale * shape_.unit;
        any_residual |= points.residual[m][i] > 0;
      }
    }
    if (!any_residual) points.residual.clear();
    if (zeros > 0)
      file_.notes.push_back(fmt::format(
          "{} points at exactly (0, 0, 0) without residual are taken as not seen", zeros));
    if (unreadable > 0)
      file_.notes.push_back(
          fmt::format("{} points that are no numbers are taken as not seen", unreadable));
  }

  // Millimetres are divided: a thousandth has no exact double.
  Vector3d Scaled(const Vector3d& p) const {
    if (shape_.unit == 1e-3) return p / 1000;
    if (shape_.unit == 1e-2) return p / 100;
    return p * shape_.unit;
  }

  // EVENT:TIMES count from the start of the trial, where frame 1 is; those of the header from the
  // first frame of the file.
  void ReadEvents(double start) {
    std::vector<MarkerEvent>& events = file_.points.events;
    const C3dParameters& p = parameters_;
    const double origin = start - static_cast<double>(shape_.first - 1) / shape_.rate;
    const std::vector<std::string> labels = p.Texts("EVENT", "LABELS"),
                                   contexts = p.Texts("EVENT", "CONTEXTS");
    const double stated = p.Number("EVENT", "USED").value_or(0);
    const std::size_t used =
        stated >= 0 && stated <= kLargestWord ? static_cast<std::size_t>(stated) : 0;
    for (std::size_t k = 0; k < used; ++k) {
      const auto minutes = p.Number("EVENT", "TIMES", 2 * k),
                 seconds = p.Number("EVENT", "TIMES", 2 * k + 1);
      if (!minutes || !seconds || !std::isfinite(*minutes + *seconds)) {
        file_.notes.push_back(fmt::format("{} of {} events have no time", used - k, used));
        break;
      }
      MarkerEvent event;
      if (k < labels.size()) event.label = labels[k];
      if (k < contexts.size()) event.context = contexts[k];
      event.t = origin + 60 * *minutes + *seconds;
      events.push_back(std::move(event));
    }
    if (bytes_.Word(HeaderWord(150)) == 0x3039) {
      const int in_header = std::min<int>(bytes_.Word(HeaderWord(151)), 18);
      for (int k = 0; k < in_header; ++k) {
        const auto place = static_cast<std::size_t>(k);
        MarkerEvent event;
        event.label = std::string(TrimSpace(bytes_.Text(HeaderWord(199) + 4 * place, 4)));
        event.label = event.label.substr(0, event.label.find('\0'));
        const double seconds = bytes_.Float(HeaderWord(153) + 4 * place);
        if (!std::isfinite(seconds)) continue;
        event.t = start + seconds;
        const bool twice = std::any_of(events.begin(), events.end(), [&](const MarkerEvent& other) {
          return other.label.substr(0, 4) == event.label &&
                 std::abs(other.t - event.t) < 0.5 / shape_.rate;
        });
        if (!twice) events.push_back(std::move(event));
      }
    }
    for (MarkerEvent& event : events) {
      for (std::string* text : {&event.label, &event.context})
        while (const auto fault = FindTextFault(*text)) (*text)[fault->offset] = '?';
    }
  }

  C3dBytes bytes_;
  MarkerReadOptions options_;
  C3dParameters parameters_;
  MarkerFile file_;
  Shape shape_;
  bool own_start_ = false;
};

}  // namespace

MarkerFile ReadC3d(std::string_view bytes, const std::string& path,
                   const MarkerReadOptions& options) {
  return C3dReader(bytes, path, options).Read();
}

}  // namespace impactlab::reconstruction
