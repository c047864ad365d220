#pragma once
// State of the examination of one recording. Private to the room.

#include <string>
#include <utility>
#include <vector>

#include "tracking/doctor/detail/checks.h"

namespace impactlab::tracking {

// Of the picture, where costs depend on the scale [m].
constexpr double kSceneHeight = 0.5;

Severity FromCost(double cost);
inline const char* Plural(long long n, const char* one, const char* many) {
  return n == 1 ? one : many;
}

struct Examination {
  Examination(const FrameSource& s, const DoctorOptions& o) : source(s), options(o) {}

  const FrameSource& source;
  const DoctorOptions& options;
  TimeBaseReport report;
  StreamFacts facts;
  std::vector<double> t;       // as handed out
  std::vector<double> sorted;  // in order
  std::vector<long long> index;
  std::vector<FrameMeasure> frames;
  FrameMeter meter;
  RepeatedFrames pictures;
  Beat beat;
  GrayImage first, last;
  std::string broken;
  bool more = false;

  void Add(std::string code, Severity severity, double cost, std::string text,
           std::string advice = {}) {
    report.findings.push_back(
        {std::move(code), severity, std::move(text), std::move(advice), cost});
  }
  void Read();
  void Stamps();
  void Exposure();
  void Pictures();
  void Rate();
  void Evenness(const std::vector<double>& even);
  void Repeats();
  void Shutter();
  void Brightness();
  void Steadiness();
  void Container();
};

}  // namespace impactlab::tracking
