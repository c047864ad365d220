#include "reconstruction/identity/detail/window.h"

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "data/math/linear_algebra.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Vector3d;

constexpr double kWindowCorrelation = 0.4;  // of the errors of neighbouring frames
constexpr double kWindowImageRange = 200;   // over which images without a relation are spread [px]
constexpr std::size_t kTimes = 6;           // looked at in a window

// Far images, which most are, need neither logarithm nor exponential.
double LogRatio(double gain, double squared, double outlier, double log_outlier) {
  const double power = gain - 0.5 * squared;
  return power < log_outlier - 20 ? log_outlier
                                  : std::log((1 - outlier) * std::exp(power) + outlier);
}
double LineGain(double range, double sd) {
  return std::log(range / (sd * std::sqrt(2 * std::numbers::pi)));
}

}  // namespace

void MeasureLayout(Layout* layout) {
  std::vector<Vector3d> known;
  for (std::size_t i = 0; i < layout->p.size(); ++i) {
    if (layout->known[i]) known.push_back(layout->p[i]);
  }
  layout->extent = 0;
  layout->collinear = false;
  if (known.empty()) return;
  Vector3d centre = Vector3d::Zero();
  for (const Vector3d& p : known) centre += p / static_cast<double>(known.size());
  Eigen::Matrix3d moment = Eigen::Matrix3d::Zero();
  for (const Vector3d& p : known) {
    moment += (p - centre) * (p - centre).transpose();
    for (const Vector3d& r : known) layout->extent = std::max(layout->extent, (p - r).norm());
  }
  const Vector3d eigen = Eigen3Of(moment).values;
  layout->collinear = eigen[1] < 4e-4 * eigen[2] || eigen[1] < 4 * layout->sd * layout->sd;
}

double Placement::Leverage(const Vector3d& p) const {
  // The least a line can say about the turn about itself is that of a point beside it by its own
  // error.
  const Eigen::Matrix3d turn =
      (inertia + std::max(variance, 1e-12) * Eigen::Matrix3d::Identity()).inverse();
  const Vector3d r = p - centre;
  Eigen::Matrix3d cross;
  cross << 0, -r.z(), r.y(), r.z(), 0, -r.x(), -r.y(), r.x(), 0;
  return 1.0 / n + 0.5 * (cross * turn * cross.transpose()).trace();
}

Placement PlaceLayout(const std::vector<Vector3d>& layout, const std::vector<SpacePoint>& points) {
  Placement out;
  Vector3d centre_W = Vector3d::Zero();
  for (std::size_t i = 0; i < layout.size(); ++i) {
    if (!points[i].valid) continue;
    ++out.n;
    out.centre += layout[i];
    centre_W += points[i].p;
    out.variance += points[i].cov.trace() / 3;
  }
  if (out.n < 2) return out;
  out.centre /= out.n;
  centre_W /= out.n;
  out.variance /= out.n;
  Eigen::Matrix3d H = Eigen::Matrix3d::Zero(), moment = Eigen::Matrix3d::Zero();
  for (std::size_t i = 0; i < layout.size(); ++i) {
    if (!points[i].valid) continue;
    const Vector3d b = layout[i] - out.centre;
    H += b * (points[i].p - centre_W).transpose();
    moment += b * b.transpose();
  }
  out.inertia = moment.trace() * Eigen::Matrix3d::Identity() - moment;
  const Vector3d eigen = Eigen3Of(moment).values;
  out.rank = eigen[1] < 2e-3 * eigen[2] || eigen[1] < 9 * out.variance ? 1 : 3;
  const Svd3 svd = Svd3Of(H);
  Eigen::Matrix3d flip = Eigen::Matrix3d::Identity();
  flip(2, 2) = (svd.V * svd.U.transpose()).determinant() < 0 ? -1 : 1;
  out.R = svd.V * flip * svd.U.transpose();
  out.t = centre_W - out.R * out.centre;
  return out;
}

std::vector<TimeWindow> MakeWindows(Scene* scene) {
  std::vector<double> times;
  for (const Piece& piece : scene->pieces)
    times.insert(times.end(), piece.t.begin(), piece.t.end());
  std::sort(times.begin(), times.end());
  std::vector<double> distinct;
  for (double t : times) {
    if (distinct.empty() || t - distinct.back() > scene->tolerance) distinct.push_back(t);
  }
  std::vector<int> order(scene->pieces.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return scene->pieces[a].t.front() < scene->pieces[b].t.front(); });
  std::vector<TimeWindow> windows;
  std::vector<int> live;
  std::vector<std::vector<double>> in_window;
  std::size_t next = 0;
  for (double t : distinct) {
    std::erase_if(live, [&](int i) { return scene->pieces[i].t.back() < t - scene->tolerance; });
    while (next < order.size() && scene->pieces[order[next]].t.front() <= t + scene->tolerance)
      live.push_back(order[next++]);
    std::sort(live.begin(), live.end());
    if (windows.empty() || windows.back().live != live) {
      windows.push_back({live, {}, 0});
      in_window.emplace_back();
    }
    in_window.back().push_back(t);
  }
  for (std::size_t w = 0; w < windows.size(); ++w) {
    const std::size_t n = in_window[w].size(), m = std::min(n, kTimes);
    for (std::size_t k = 0; k < m; ++k)
      windows[w].times.push_back(in_window[w][m > 1 ? k * (n - 1) / (m - 1) : n / 2]);
    windows[w].samples = static_cast<int>(n);
    for (int i : windows[w].live) {
      Piece& piece = scene->pieces[i];
      if (piece.first_window < 0) piece.first_window = static_cast<int>(w);
      piece.last_window = static_cast<int>(w);
    }
  }
  return windows;
}

WindowScore::WindowScore(const Scene& scene, const TimeWindow& window)
    : scene_(scene), window_(window) {
  const std::size_t n = window.live.size();
  weight_ = window.samples / (1 + (window.samples - 1) * kWindowCorrelation) /
            static_cast<double>(window.times.size());
  for (double t : window.times) {
    auto& row = rays_.emplace_back(n);
    for (std::size_t i = 0; i < n; ++i) {
      const Piece& piece = scene.pieces[window.live[i]];
      const auto image = ImageAtTime(piece, t, scene.tolerance);
      if (image)
        row[i] = RayOf(*scene.rig, scene.rig_camera[piece.camera], *image, scene.options.pixel_sd);
    }
  }
  meets_ = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(n));
  const double outlier = scene.options.outlier_probability, log_outlier = std::log(outlier);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      if (scene.pieces[window.live[i]].camera == scene.pieces[window.live[j]].camera) continue;
      double sum = 0;
      for (const auto& row : rays_) {
        if (!row[i] || !row[j]) continue;
        const auto miss = Between(*row[i], *row[j], scene.spread.angle);
        sum += miss ? LogRatio(LineGain(kWindowImageRange * miss->pixel, miss->sd),
                               std::pow(miss->distance / miss->sd, 2), outlier, log_outlier)
                    : log_outlier;
      }
      meets_(i, j) = meets_(j, i) = weight_ * sum;
    }
  }
}

std::vector<WindowScore::Meeting> WindowScore::Meetings() const {
  std::vector<Meeting> out;
  for (int i = 0; i < meets_.rows(); ++i) {
    for (int j = i + 1; j < meets_.rows(); ++j) {
      if (meets_(i, j) > 0) out.push_back({meets_(i, j), i, j});
    }
  }
  std::sort(out.begin(), out.end(),
            [](const Meeting& a, const Meeting& b) { return a.score > b.score; });
  return out;
}

int WindowScore::TupleOf(const std::string& places) {
  const auto [at, fresh] = tuple_ids_.emplace(places, static_cast<int>(tuples_.size()));
  if (!fresh) return at->second;
  Tuple tuple;
  const double n = static_cast<double>(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t j = i + 1; j < places.size(); ++j) tuple.score += meets_(places[i], places[j]);
  }
  // n rays know 2 n - 3 things, not one for every two of them
  tuple.score *= (2 * n - 3) / (0.5 * n * (n - 1));
  for (const auto& row : rays_) {
    std::vector<const Ray*> rays;
    for (char place : places) {
      if (row[static_cast<std::size_t>(place)])
        rays.push_back(&*row[static_cast<std::size_t>(place)]);
    }
    tuple.points.push_back(rays.size() >= 2 ? IntersectRays(rays) : SpacePoint{});
  }
  tuples_.push_back(tuple);
  return at->second;
}

const std::vector<SpacePoint>& WindowScore::PointsOf(const std::string& places) {
  return tuples_[TupleOf(places)].points;
}

double WindowScore::PairScore(int tuple_a, int label_a, int tuple_b, int label_b) {
  const Layout& layout = scene_.layout;
  if (!layout.known[label_a] || !layout.known[label_b]) return 0;
  if (tuple_a > tuple_b) std::swap(tuple_a, tuple_b), std::swap(label_a, label_b);
  auto& scores = pairs_[(static_cast<long long>(tuple_a) << 32) | tuple_b];
  const std::size_t L = static_cast<std::size_t>(scene_.labels);
  if (scores.empty()) {
    scores.assign(L * L, 0);
    const double range = std::max(2 * layout.extent, 0.05);
    const double outlier = scene_.options.outlier_probability, log_outlier = std::log(outlier);
    std::vector<double> distance(L * L);
    for (std::size_t i = 0; i < L; ++i) {
      for (std::size_t j = i + 1; j < L; ++j)
        distance[i * L + j] = (layout.p[i] - layout.p[j]).norm();
    }
    for (std::size_t k = 0; k < window_.times.size(); ++k) {
      const SpacePoint &a = tuples_[tuple_a].points[k], &b = tuples_[tuple_b].points[k];
      if (!a.valid || !b.valid) continue;
      const Vector3d between = b.p - a.p;
      const double d = between.norm();
      const Vector3d u = d > 0 ? Vector3d(between / d) : Vector3d::UnitX();
      const double variance = u.dot((a.cov + b.cov) * u) + 2 * layout.sd * layout.sd +
                              std::pow(scene_.spread.distance * d, 2);
      const double gain = LineGain(range, std::sqrt(variance));
      for (std::size_t i = 0; i < L; ++i) {
        for (std::size_t j = i + 1; j < L; ++j) {
          if (!layout.known[i] || !layout.known[j]) continue;
          const double off = d - distance[i * L + j];
          scores[i * L + j] += static_cast<float>(
              weight_ * LogRatio(gain, off * off / variance, outlier, log_outlier));
        }
      }
    }
    for (std::size_t i = 0; i < L; ++i) {
      for (std::size_t j = i + 1; j < L; ++j) scores[j * L + i] = scores[i * L + j];
    }
  }
  return scores[static_cast<std::size_t>(label_a) * L + static_cast<std::size_t>(label_b)];
}

// Distances cannot tell a body from its mirror image; the sign of a volume can. Log-likelihood of
// the sign, given the size.
double WindowScore::Chirality(const std::vector<Named>& named) const {
  const Layout& layout = scene_.layout;
  const std::size_t n = named.size();
  if (n < 4 || layout.collinear) return 0;
  std::array<std::size_t, 4> best{};
  double largest = 0;
  const auto volume = [](const Vector3d& a, const Vector3d& b, const Vector3d& c,
                         const Vector3d& d) { return (b - a).dot((c - a).cross(d - a)); };
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = a + 1; b < n; ++b) {
      for (std::size_t c = b + 1; c < n; ++c) {
        for (std::size_t d = c + 1; d < n; ++d) {
          const int l[4] = {named[a].label, named[b].label, named[c].label, named[d].label};
          if (!layout.known[l[0]] || !layout.known[l[1]] || !layout.known[l[2]] ||
              !layout.known[l[3]])
            continue;
          const double v = volume(layout.p[l[0]], layout.p[l[1]], layout.p[l[2]], layout.p[l[3]]);
          if (std::abs(v) > std::abs(largest)) largest = v, best = {a, b, c, d};
        }
      }
    }
  }
  if (largest == 0) return 0;
  double sum = 0;
  for (std::size_t k = 0; k < window_.times.size(); ++k) {
    const SpacePoint* p[4];
    bool valid = true;
    for (int i = 0; i < 4; ++i) {
      p[i] = &tuples_[named[best[i]].tuple].points[k];
      valid = valid && p[i]->valid;
    }
    if (!valid) continue;
    const Vector3d b = p[1]->p - p[0]->p, c = p[2]->p - p[0]->p, d = p[3]->p - p[0]->p;
    const Vector3d g[4] = {-(c.cross(d) + d.cross(b) + b.cross(c)), c.cross(d), d.cross(b),
                           b.cross(c)};
    double variance = 0;
    for (int i = 0; i < 4; ++i) {
      variance +=
          g[i].dot(p[i]->cov * g[i]) + g[i].squaredNorm() * scene_.layout.sd * scene_.layout.sd;
    }
    const double twice = std::clamp(2 * largest * b.dot(c.cross(d)) / variance, -700.0, 700.0);
    sum += std::max(-std::log1p(std::exp(-twice)), std::log(scene_.options.outlier_probability));
  }
  return weight_ * sum;
}

double WindowScore::Score(const std::string& naming) {
  const auto [at, fresh] = scores_.emplace(naming, 0);
  if (!fresh) return at->second;
  std::vector<std::string> places(static_cast<std::size_t>(scene_.labels));
  for (std::size_t i = 0; i < naming.size(); ++i) {
    if (naming[i] >= 0) places[static_cast<std::size_t>(naming[i])].push_back(static_cast<char>(i));
  }
  std::vector<Named> named;
  std::vector<std::pair<int, int>> singles;  // place, label
  double score = 0, pairs = 0;
  for (int label = 0; label < scene_.labels; ++label) {
    const std::string& own = places[static_cast<std::size_t>(label)];
    if (own.size() == 1) singles.emplace_back(own[0], label);
    if (own.size() < 2) continue;
    const int tuple = TupleOf(own);
    score += tuples_[tuple].score;
    for (const Named& other : named) pairs += PairScore(other.tuple, other.label, tuple, label);
    named.push_back({label, tuple});
  }
  // k points of a body know 3 k - 6 things (3 k - 5 on a line), not one for every two of them.
  const double k = static_cast<double>(named.size());
  if (k > 2)
    pairs *= std::min(1.0, (scene_.layout.collinear ? 3 * k - 5 : 3 * k - 6) / (0.5 * k * (k - 1)));
  score += pairs + Chirality(named) + SingleScore(named, singles);
  scores_[naming] = score;
  return score;
}

std::vector<std::vector<SpacePoint>> WindowScore::Points(const std::string& naming) {
  std::vector<std::vector<SpacePoint>> out(
      window_.times.size(), std::vector<SpacePoint>(static_cast<std::size_t>(scene_.labels)));
  for (int label = 0; label < scene_.labels; ++label) {
    std::string places;
    for (std::size_t i = 0; i < naming.size(); ++i) {
      if (naming[i] == label) places.push_back(static_cast<char>(i));
    }
    if (places.size() < 2) continue;
    const auto& points = PointsOf(places);
    for (std::size_t k = 0; k < out.size(); ++k)
      out[k][static_cast<std::size_t>(label)] = points[k];
  }
  return out;
}

void WindowScore::Misses(const std::string& naming, std::vector<double>* z) const {
  for (const auto& row : rays_) {
    for (std::size_t i = 0; i < naming.size(); ++i) {
      for (std::size_t j = i + 1; j < naming.size(); ++j) {
        if (naming[i] < 0 || naming[i] != naming[j] || !row[i] || !row[j]) continue;
        const auto miss = Between(*row[i], *row[j], scene_.spread.angle);
        if (miss) z->push_back(miss->distance / miss->sd);
      }
    }
  }
}

}  // namespace impactlab::reconstruction
