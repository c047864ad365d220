#pragma once
// Is the layout that was given the one that the recordings show? Distances between markers do not
// depend on the pose of the body, so that every frame measures them. Markers in space and markers
// in a plane are judged alike.

#include <Eigen/Core>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace impactlab {

struct LayoutVerdict {
  bool doubtful = false;
  // which marker, or what else explains it, in one line; empty where nothing is doubtful
  std::string text;
  double furthest = 0;  // of the distances, from what the layout says [m]
  double sd = 0;        // of that mean [m]
};

class LayoutDistances {
 public:
  // Names and places of the markers on the body [m], all of one dimension.
  LayoutDistances(std::vector<std::string> names, std::vector<Eigen::VectorXd> places);

  // One frame of a recording: markers (by their number in the layout) and where they are seen, in
  // any frame [m].
  void Add(int recording, const std::vector<std::pair<int, Eigen::VectorXd>>& seen);

  // A distance is doubtful that is off by more than five standard deviations of its mean and by
  // more than half the scatter of a single frame: below that the noise of a pose counts more than
  // the layout. The mean's deviation counts frames as independent and adds what differs between
  // recordings. `scale_sd`: what a factor that all distances share is known to, relative; a factor
  // within four times that is no fault of the layout.
  LayoutVerdict CompareWithGiven(double scale_sd = 0) const;

 private:
  struct Sum {
    int n = 0;
    double d = 0, d2 = 0;  // of seen less given distances [m], [m^2]
  };
  struct Pair {
    double given = 0, off = 0, sd = 0, scatter = 0;
  };
  std::map<std::pair<int, int>, Pair> Pairs() const;

  std::vector<std::string> names_;
  std::vector<Eigen::VectorXd> places_;
  std::map<std::pair<int, int>, std::map<int, Sum>> sums_;  // by pair, by recording
};

}  // namespace impactlab
