#pragma once
// A stretch of time in which the same pieces of tracks are there: how well a naming of them agrees
// with rays and layout. Private to identity.
//
// Scores are logarithms of likelihood ratios against images that have nothing to do with one
// another. Errors of neighbouring frames have common causes, so n frames count as n / (1 + (n - 1)
// kCorrelation).

#include <Eigen/Core>
#include <string>
#include <unordered_map>
#include <vector>

#include "reconstruction/identity/detail/rays.h"
#include "reconstruction/identity/identity.h"

namespace impactlab::reconstruction {

constexpr char kNone = -1;  // no marker
constexpr char kOpen = -2;  // not decided yet

// A name as the index of a marker; the two above stay negative.
inline int MarkerOf(char name) { return static_cast<signed char>(name); }

// Arrangement of the markers, as far as it is known.
struct Layout {
  std::vector<Eigen::Vector3d> p;  // p_BM [m]
  std::vector<char> known;
  double sd = 5e-4;     // of a position [m]
  double extent = 0.1;  // largest distance [m]
  bool collinear = false;
};
// Fills extent and collinear.
void MeasureLayout(Layout* layout);

struct Scene {
  const CameraRig* rig = nullptr;
  std::vector<int> rig_camera;  // of every camera of the tracks
  std::vector<Piece> pieces;
  int labels = 0;
  Layout layout;
  IdentityOptions options;
  RigSpread spread;
  double tolerance = 1e-5;    // times nearer than this are the same [s]
  std::vector<double> scale;  // of every camera of the tracks at the distance of the body [px/m]
};

// Turns points of the layout into W by least squares (Kabsch 1976), proper rotations only. `rank`:
// 3 where the pose is determined, 1 where the points lie on a line, 0 for fewer than two.
struct Placement {
  int rank = 0;
  Eigen::Matrix3d R = Eigen::Matrix3d::Identity();
  // centre: of the points, in the layout
  Eigen::Vector3d t = Eigen::Vector3d::Zero(), centre = Eigen::Vector3d::Zero();
  // of the points about their centre, in the layout [m^2]
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();
  // of a point, one component [m^2]
  double variance = 0;
  int n = 0;
  // Variance of another point of the layout over that of a point.
  double Leverage(const Eigen::Vector3d& p) const;
};
Placement PlaceLayout(const std::vector<Eigen::Vector3d>& layout,
                      const std::vector<SpacePoint>& points);

struct TimeWindow {
  std::vector<int> live;      // pieces
  std::vector<double> times;  // looked at [s]
  int samples = 0;            // frames in it
};
// The windows of all pieces in order of time; sets first_window and last_window of the pieces.
std::vector<TimeWindow> MakeWindows(Scene* scene);

// A naming: one char for every live piece of the window, the label, kNone or kOpen.
class WindowScore {
 public:
  WindowScore(const Scene& scene, const TimeWindow& window);
  double Score(const std::string& naming);
  // Namings worth trying, best first; pieces that nothing supports are kOpen.
  std::vector<std::string> Propose();
  // For every looked-at time the points of the labels that two or more cameras see.
  std::vector<std::vector<SpacePoint>> Points(const std::string& naming);
  // Appends the misses of the rays of every label, in standard deviations.
  void Misses(const std::string& naming, std::vector<double>* z) const;
  // Pieces of different cameras whose rays meet, by how well: (score, piece, piece), best first.
  // Places in TimeWindow::live.
  struct Meeting {
    double score = 0;
    int a = 0, b = 0;
  };
  std::vector<Meeting> Meetings() const;
  // The same for a set of at least two places, ordered.
  const std::vector<SpacePoint>& PointsOf(const std::string& places);
  double weight() const { return weight_; }

 private:
  struct Tuple {
    double score = 0;
    std::vector<SpacePoint> points;
  };
  struct Named {
    int label = 0, tuple = 0;
  };
  int TupleOf(const std::string& places);
  double PairScore(int tuple_a, int label_a, int tuple_b, int label_b);
  double Chirality(const std::vector<Named>& named) const;
  double SingleScore(const std::vector<Named>& named,
                     const std::vector<std::pair<int, int>>& singles);
  double SphereScore(const std::vector<SpacePoint>& points,
                     const std::vector<std::pair<const Ray*, int>>& rays) const;
  double RayScore(const Ray& ray, const Eigen::Vector3d& p, double variance) const;
  std::vector<std::string> ImageSets();
  void AddSingles(const std::vector<Named>& named, std::string* naming);

  const Scene& scene_;
  const TimeWindow& window_;
  double weight_ = 0;
  std::vector<std::vector<std::optional<Ray>>> rays_;  // [sample][place]
  Eigen::MatrixXd meets_;                              // score of two pieces of different cameras
  std::unordered_map<std::string, int> tuple_ids_;
  std::vector<Tuple> tuples_;
  // scores of two tuples for every two labels
  std::unordered_map<long long, std::vector<float>> pairs_;
  std::unordered_map<std::string, double> scores_;
};

}  // namespace impactlab::reconstruction
