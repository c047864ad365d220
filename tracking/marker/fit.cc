#include "tracking/marker/fit.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "tracking/marker/detail/initialization.h"
#include "tracking/marker/detail/uneven.h"

namespace impactlab {

namespace {

using namespace tracking;
using std::numbers::pi;

constexpr int kSectors = 16;     // of the outline, for what is hidden
constexpr int kHalvesTried = 5;  // of the sectors' halves, the most promising ones
// of blur and half a pixel: longest step that the slope at its start tells
constexpr double kStraight = 1.5;
// of the misfit: where the first step leaves more in every half nothing is hidden
constexpr double kHalfWorth = 0.6;
constexpr int kFewestSectors = 5;       // that must be seen
constexpr int kSectorsForEllipse = 11;  // that must be seen for its axes to be told
// residual outside of the marker that belongs to something else [standard deviations]
constexpr double kClutter = 4;
constexpr int kClutterPasses = 6, kClutterPassesSmall = 3;
constexpr double kClutterPart = 0.5;  // of the pixels outside that may be clutter
// misfit over the height of the marker that is left to the covariance
constexpr double kNoMisfit = 0.025;
constexpr double kRoughMisfit = 0.12;  // beyond which the model says nothing
// standard deviation of the form over the radius above which a circle is fitted
constexpr double kFormKnown = 0.15;
// chi-square of two unknowns above which a marker is taken as unevenly lit (p = 3e-4)
constexpr double kShadeScore = 16;
// excess of chi-square outside of the marker that makes its background uneven [standard deviations]
constexpr double kUneven = 3;
// chi-square a degree of freedom up to which an uneven background explains a picture
constexpr double kUnevenExcess = 2;
// of the outline, from which on pixels are those of the background [blur]
constexpr double kAway = 2.5;
constexpr double kAwayMore = 0.7;     // and this for what the detector does not know of it [px]
constexpr int kFewestBeside = 20;     // such pixels
constexpr double kClearlyUneven = 5;  // as kUneven, before any fit
// misfit of a plane beside the marker over that of an uneven background
constexpr double kMoreUneven = 4;
// amplitude over its standard deviation, everything else known
constexpr double kSignificant = 4;

struct FitTrial {
  MarkerProblem problem;
  MarkerSolution solution;
  // before a background of any form
  bool uneven = false;
  // 1 where the model fits
  double Excess() const { return solution.chi_square / std::max(1, solution.dof(problem)); }
  double Limit() const { return 1 + 4 * std::sqrt(2. / std::max(1, solution.dof(problem))); }
  bool Fits() const { return solution.dof(problem) > 0 && Excess() < Limit(); }
};

// A fit to one spot, with what may be wrong with it.
class SpotFit {
 public:
  SpotFit(const GrayImage& image, const Spot& spot, const MarkerFitOptions& options)
      : image_(image), spot_(spot), options_(options), flags_(spot.flags) {
    // The threshold cuts the faint ends off a marker that moves far: they are added, else they pass
    // for a slope of the background.
    MarkerOutline outline;
    outline.shape = options.shape;
    outline.form = StartForm(spot, options);
    outline.motion = options.motion;
    const Eigen::Vector2d half =
        options.motion.norm() > 0.5 ? outline.HalfBox() : Eigen::Vector2d::Zero();
    patch_ = TakePatch(image, Grown(std::min<double>(spot.left, spot.q[0] - half[0]),
                                    std::min<double>(spot.top, spot.q[1] - half[1]),
                                    std::max<double>(spot.right, spot.q[0] + half[0]),
                                    std::max<double>(spot.bottom, spot.q[1] + half[1]), options));
  }

  std::optional<MarkerFit> Run() {
    if (patch_.values.size() < 12 || !spot_.q.allFinite()) return std::nullopt;
    start_ = StartOf(patch_, spot_, options_);
    if (!start_.allFinite()) return std::nullopt;
    if (const auto attempt = UnevenFirst()) return Report(*attempt);
    FitTrial best = Fit(options_.circle, start_);
    if (!Plausible(best) && options_.shape == MarkerShape::kDisc && !best.problem.circle)
      best = Fit(true, start_);
    if (!Plausible(best)) return std::nullopt;
    if (!best.Fits()) Explain(&best);
    if (!best.solution.converged) return std::nullopt;
    LookForShade(&best);
    return Report(best);
  }

 private:
  // Of an ellipse whose form the pixels do not tell the circle.
  FitTrial Fit(bool circle, const MarkerVector& start, bool shaded = false) {
    FitTrial attempt;
    attempt.problem = ProblemOf(options_, circle);
    attempt.problem.shaded = shaded;
    const MarkerVector from = attempt.problem.circle ? AsCircle(start) : start;
    SetPrior(attempt.problem.circle ? AsCircle(start_) : start_, &attempt.problem);
    attempt.solution = solver_.Solve(patch_, attempt.problem, from);
    if (attempt.problem.circle) {
      attempt.solution.p[kForm1] = attempt.solution.p[kForm0];
      attempt.solution.p[kForm2] = 0;
    }
    if (options_.shape != MarkerShape::kDisc || attempt.problem.circle || shaded) return attempt;
    return attempt.solution.converged && FormKnown(attempt) ? attempt : Fit(true, from);
  }

  static bool FormKnown(const FitTrial& attempt) {
    const MarkerMatrix cov = attempt.solution.Covariance(attempt.problem);
    const double radius = (attempt.solution.p[kForm0] + attempt.solution.p[kForm1]) / 2;
    // Of the difference of the axes, both ways: their mean trades with the amplitude and is no
    // matter of form.
    const double difference =
        (cov(kForm0, kForm0) + cov(kForm1, kForm1) - 2 * cov(kForm0, kForm1)) / 4;
    return std::sqrt(std::max(difference, cov(kForm2, kForm2))) < kFormKnown * radius;
  }

  // A marker, of a size and at a place that have to do with the spot.
  bool Plausible(const FitTrial& attempt) const {
    const MarkerVector& p = attempt.solution.p;
    const FormAxes axes = AxesOf(attempt.problem.Outline(p)),
                   before = AxesOf(attempt.problem.Outline(start_));
    const double reach = before.major + 2 + options_.motion.norm() / 2;
    return p.allFinite() && attempt.solution.dof(attempt.problem) >= 3 &&
           (p.head<2>() - spot_.q).norm() < reach && axes.major < 3 * before.major + 3 &&
           std::abs(p[kAmplitude]) *
                   std::sqrt(attempt.solution.information(kAmplitude, kAmplitude)) >
               kSignificant;
  }

  double Cover(const FitTrial& attempt, std::size_t i) const {  // of its last evaluation
    const auto k = static_cast<int>(i);
    return attempt.uneven ? uneven_.cover(k) : solver_.cover(k);
  }
  double Variance(const FitTrial& attempt, std::size_t i) const {
    const auto k = static_cast<int>(i);
    return attempt.uneven ? uneven_.variance(k) : solver_.variance(k);
  }
  // of the noise of the pixels in the fit, after the last evaluation
  double MeanVariance(const FitTrial& attempt) const {
    double variance = 0;
    int n = 0;
    for (std::size_t i = 0; i < patch_.values.size(); ++i)
      if (patch_.used[i]) variance += Variance(attempt, i), ++n;
    return variance / std::max(1, n);
  }
  // Root of the mean square by which the model is wrong, over the height of the marker. After the
  // last evaluation.
  double Misfit(const FitTrial& attempt) const {
    double cover = 0;
    for (std::size_t i = 0; i < patch_.values.size(); ++i)
      cover = std::max(cover, Cover(attempt, i));
    const double height = cover * std::abs(attempt.solution.p[kAmplitude]);
    return std::sqrt(std::max(0., attempt.Excess() - 1) * MeanVariance(attempt)) /
           std::max(height, 1e-9);
  }
  bool UnevenExplains(const FitTrial& attempt) const {
    if (attempt.Fits() || attempt.Excess() <= kUnevenExcess) return true;
    // What is left may be the noise of a codec; where that is all there is beside the marker too,
    // its background is even.
    return beside_ > kMoreUneven * attempt.Excess() && Misfit(attempt) < kNoMisfit;
  }

  // Takes the other model where it explains at least half of what the first one does not.
  bool Better(const FitTrial& attempt, FitTrial* best) const {
    if (!attempt.solution.converged || !Plausible(attempt) ||
        attempt.Excess() - 1 > 0.5 * (best->Excess() - 1))
      return false;
    *best = attempt;
    return true;
  }

  // Looks for the reason of a bad fit, the harmless ones first.
  void Explain(FitTrial* best) {
    Rerun(best);
    if (BackgroundUneven() && FitUneven(best)) return;
    // What is small may be anything, the noise of a codec for one: there only the worst is looked
    // at.
    const int most = Misfit(*best) > kNoMisfit ? kClutterPasses : kClutterPassesSmall;
    for (int pass = 0; pass < most && LeaveClutterOut(); ++pass) {
      const FitTrial again = Fit(best->problem.circle, best->solution.p);
      if (!again.solution.converged || !Plausible(again)) break;
      *best = again;
      if (best->Fits()) return;
    }
    if (best->problem.circle && Better(Fit(false, best->solution.p), best) && best->Fits()) return;
    Rerun(best);
    if (Misfit(*best) < kNoMisfit) return;
    if (options_.shape == MarkerShape::kDisc &&
        Better(Fit(best->problem.circle, best->solution.p, true), best) && best->Fits())
      return;
    Rerun(best);
    if (Misfit(*best) < kNoMisfit) return;
    LookForHidden(best);
    Rerun(best);
    if (!best->Fits() && Misfit(*best) > kRoughMisfit) flags_ |= kRough;
  }

  // True where the pixels beside the marker are not those of a level with a slope. After the last
  // evaluation.
  bool BackgroundUneven() const {
    double sum = 0;
    int n = 0;
    for (std::size_t i = 0; i < patch_.values.size(); ++i)
      if (patch_.used[i] && solver_.cover(static_cast<int>(i)) < 0.02)
        sum += std::pow(solver_.residual(static_cast<int>(i)), 2), ++n;
    return n > 10 && sum / n > 1 + kUneven * std::sqrt(2. / n);
  }

  // The level and slope of the pixels well away from where the marker is thought to be; nothing
  // where they agree with one, or are too few.
  std::optional<Eigen::Vector3d> PlaneOfUneven() {
    MarkerOutline outline;
    outline.form = start_.segment<3>(kForm0);
    const double minor = AxesOf(outline).minor,
                 away = 1 + (kAway * options_.blur + kAwayMore) / minor;
    Eigen::Matrix2d round;  // takes the outline to the unit circle
    round << outline.form[1], -outline.form[2], -outline.form[2], outline.form[0];
    round /= outline.form[0] * outline.form[1] - outline.form[2] * outline.form[2];
    const Eigen::Vector2d motion = options_.motion;
    const double length = motion.squaredNorm();
    Eigen::Matrix3d normal = Eigen::Matrix3d::Zero();
    Eigen::Vector3d right = Eigen::Vector3d::Zero();
    double square = 0;
    int n = 0;
    for (std::size_t i = 0; i < patch_.values.size(); ++i) {
      const Eigen::Vector2d place = patch_.Place(static_cast<int>(i));
      Eigen::Vector2d d = place - start_.head<2>();
      if (length > 0) d -= std::clamp(d.dot(motion) / length, -0.5, 0.5) * motion;
      if ((round * d).squaredNorm() < away * away) continue;
      const double value = patch_.values[i], weight = 1 / options_.noise.Variance(value);
      const Eigen::Vector3d by(1, place[0] - patch_.origin[0], place[1] - patch_.origin[1]);
      normal += weight * by * by.transpose();
      right += weight * value * by;
      square += weight * value * value;
      ++n;
    }
    if (n < kFewestBeside) return std::nullopt;
    const Eigen::Vector3d plane = normal.ldlt().solve(right);
    if (!plane.allFinite()) return std::nullopt;
    beside_ = (square - plane.dot(right)) / (n - 3);
    if (beside_ < 1 + kClearlyUneven * std::sqrt(2. / n)) return std::nullopt;
    return plane;
  }

  // Where the pixels beside the marker say from the start that its background is uneven, the plain
  // fit has nothing to tell.
  std::optional<FitTrial> UnevenFirst() {
    if (options_.shape != MarkerShape::kDisc) return std::nullopt;
    const auto plane = PlaneOfUneven();
    if (!plane) return std::nullopt;
    tried_uneven_ = true;
    MarkerVector from = start_;
    from.segment<3>(kLevel) = *plane;
    from[kAmplitude] +=
        start_[kLevel] - (*plane)[0] - plane->tail<2>().dot(start_.head<2>() - patch_.origin);
    FitTrial attempt;
    attempt.uneven = true;
    const auto solve = [&](bool circle, bool by_blur, const MarkerVector& at) {
      attempt.problem = ProblemOf(options_, circle);
      attempt.problem.by_blur = by_blur;
      attempt.solution =
          uneven_.Solve(patch_, attempt.problem, attempt.problem.circle ? AsCircle(at) : at);
      return attempt.solution.converged && Plausible(attempt);
    };
    if (!solve(options_.circle, false, from)) return std::nullopt;
    if (!attempt.problem.circle && !FormKnown(attempt) && !solve(true, false, attempt.solution.p))
      return std::nullopt;
    if (options_.fit_blur && !solve(attempt.problem.circle, true, attempt.solution.p))
      return std::nullopt;
    refused_uneven_ = !UnevenExplains(attempt);
    if (refused_uneven_) return std::nullopt;
    return attempt;
  }

  // True where a background of any form explains the picture. A bad fit may have gone anywhere:
  // then from where it started.
  bool FitUneven(FitTrial* best) {
    if (options_.shape != MarkerShape::kDisc || best->problem.shaded || refused_uneven_)
      return false;
    for (const bool afresh : {false, true}) {
      if (afresh && tried_uneven_) break;
      FitTrial attempt = *best;
      attempt.uneven = true;
      if (afresh) attempt.problem.by_blur = false;
      const MarkerVector from = !afresh                ? best->solution.p
                                : best->problem.circle ? AsCircle(start_)
                                                       : start_;
      attempt.solution = uneven_.Solve(patch_, attempt.problem, from);
      if (!attempt.solution.converged || !Plausible(attempt)) continue;
      if (!UnevenExplains(attempt)) continue;
      *best = attempt;
      return true;
    }
    return false;
  }

  // A marker brighter on one side is drawn there. The test is that of the slope of the likelihood
  // (Rao, 1948): it needs no second fit.
  void LookForShade(FitTrial* best) {
    if (options_.shape != MarkerShape::kDisc || best->problem.shaded || best->uneven) return;
    MarkerProblem shaded = best->problem;
    shaded.shaded = true;
    const MarkerSolution look = solver_.EvaluateAt(patch_, shaded, best->solution.at);
    const double score = look.gradient.dot(look.Covariance(shaded) * look.gradient);
    if (score / std::max(1., best->Excess()) > kShadeScore) {
      FitTrial attempt = Fit(best->problem.circle, best->solution.p, true);
      if (attempt.solution.converged && Plausible(attempt) &&
          attempt.solution.chi_square < best->solution.chi_square) {
        *best = attempt;
        return;
      }
      Rerun(best);
    }
  }

  void Rerun(FitTrial* attempt) {
    const MarkerSolution before = attempt->solution;
    attempt->solution = solver_.EvaluateAt(patch_, attempt->problem, before.at);
    attempt->solution.p = before.p;
    attempt->solution.converged = before.converged;
  }

  // True where pixels outside of the marker were found that belong to something else, and were left
  // out with their neighbours. The worst ones first: they spoil the fit, and with it the residuals
  // of all others.
  bool LeaveClutterOut() {
    const auto outside = [&](int i) { return solver_.cover(i) < 0.02; };
    const int n = static_cast<int>(patch_.values.size());
    double worst = 0;
    int n_outside = 0;
    for (int i = 0; i < n; ++i) {
      if (!outside(i)) continue;
      ++n_outside;
      if (patch_.used[i]) worst = std::max(worst, std::abs(solver_.residual(i)));
    }
    if (worst < kClutter) return false;
    const double limit = std::max(kClutter, 0.5 * worst);
    std::vector<std::uint8_t> used = patch_.used;
    for (int y = 0; y < patch_.height; ++y)
      for (int x = 0; x < patch_.width; ++x) {
        const int i = y * patch_.width + x;
        if (!outside(i) || !patch_.used[i] || std::abs(solver_.residual(i)) < limit) continue;
        for (int v = std::max(0, y - 1); v <= std::min(patch_.height - 1, y + 1); ++v)
          for (int u = std::max(0, x - 1); u <= std::min(patch_.width - 1, x + 1); ++u)
            if (outside(v * patch_.width + u)) used[v * patch_.width + u] = 0;
      }
    int left_out = 0;
    for (const std::uint8_t use : used) left_out += !use;
    if (left_out > kClutterPart * n_outside) return false;
    patch_.used = used;
    return true;
  }

  static int SectorOf(const Eigen::Vector2d& d) {
    return static_cast<int>(std::floor((std::atan2(d[1], d[0]) / (2 * pi) + 1) * kSectors)) %
           kSectors;
  }

  // Mean squared residual in the sectors about the centre, where the marker is or would be.
  std::array<double, kSectors> SectorMisfit(const MarkerVector& p,
                                            const std::vector<std::uint8_t>& usable) const {
    std::array<double, kSectors> sum{}, n{};
    for (std::size_t i = 0; i < patch_.values.size(); ++i) {
      if (!usable[i] || solver_.cover(static_cast<int>(i)) < 0.02) continue;
      const int sector = SectorOf(patch_.Place(static_cast<int>(i)) - p.head<2>());
      sum[sector] += std::pow(solver_.residual(static_cast<int>(i)), 2);
      n[sector] += 1;
    }
    for (int k = 0; k < kSectors; ++k) sum[k] = n[k] > 0 ? sum[k] / n[k] : 0;
    return sum;
  }

  // Leaves out the sectors about the centre for which hidden(sector), and pixels outside of the
  // marker that belong to something else.
  template <typename Hidden>
  void UseSectors(const std::vector<std::uint8_t>& usable, const Eigen::Vector2d& centre,
                  const Hidden& hidden) {
    for (std::size_t i = 0; i < usable.size(); ++i)
      patch_.used[i] = usable[i] && !hidden(SectorOf(patch_.Place(static_cast<int>(i)) - centre));
  }

  // The best of the fits to one half of the outline. Which halves are worth a fit tells the first
  // step from `start` in each: what would be left of its chi-square. Where that step is longer than
  // a rim is wide, as on large discs, it tells nothing: then halves all round.
  std::optional<FitTrial> BestHalf(const std::vector<std::uint8_t>& usable, const FitTrial& start,
                                   bool circle) {
    const auto use = [&](int first) {
      UseSectors(usable, start.solution.p.head<2>(),
                 [&](int sector) { return (sector - first + kSectors) % kSectors < kSectors / 2; });
    };
    MarkerProblem problem = start.problem;
    problem.circle = circle;
    const MarkerVector p = circle ? AsCircle(start.solution.p) : start.solution.p;
    struct Half {
      double left;   // chi-square a degree of freedom
      double moved;  // outline [px]
      int first;
    };
    std::array<Half, kSectors> halves;
    for (int t = 0; t < kSectors; ++t) {
      use(t);
      const MarkerSolution look = solver_.EvaluateAt(patch_, problem, p);
      const MarkerVector step = look.Covariance(problem) * look.gradient;
      halves[t] = {(look.chi_square - look.gradient.dot(step)) / std::max(1, look.dof(problem)),
                   step.head<2>().norm() + step.segment<3>(kForm0).lpNorm<Eigen::Infinity>(), t};
    }
    const auto promising = [](const Half& a, const Half& b) { return a.left < b.left; };
    int tried = kHalvesTried;
    if (std::min_element(halves.begin(), halves.end(), promising)->moved >
        kStraight * (problem.blur + 0.5)) {
      for (tried = 0; 2 * tried < kSectors; ++tried) halves[tried] = halves[2 * tried];
    } else {
      std::partial_sort(halves.begin(), halves.begin() + tried, halves.end(), promising);
      if (halves[0].left - 1 > kHalfWorth * (start.Excess() - 1)) return std::nullopt;
    }
    std::optional<FitTrial> found;
    for (int k = 0; k < tried; ++k) {
      use(halves[k].first);
      const FitTrial attempt = Fit(circle, start.solution.p);
      if (attempt.solution.converged && Plausible(attempt) &&
          (!found || attempt.Excess() < found->Excess()))
        found = attempt;
    }
    return found;
  }

  // Tries which part of the outline may be covered: a fit to each half of it, the best one taken as
  // the truth about the rest. Half an outline hardly tells an ellipse, so that circles are tried
  // first.
  void LookForHidden(FitTrial* best) {
    const std::vector<std::uint8_t> usable = patch_.used;
    const bool disc = options_.shape == MarkerShape::kDisc;
    std::optional<FitTrial> found = BestHalf(usable, *best, disc);
    if (disc && !best->problem.circle &&
        (!found || (!found->Fits() && found->Excess() - 1 > 0.2 * (best->Excess() - 1)))) {
      const auto ellipse = BestHalf(usable, *best, false);
      if (ellipse && (!found || ellipse->Excess() - 1 < 0.5 * (found->Excess() - 1)))
        found = ellipse;
    }
    std::vector<std::uint8_t> pixels;
    for (int pass = 0; found && pass < 4; ++pass) {
      FitTrial judge = *found;
      Rerun(&judge);
      const auto misfit = SectorMisfit(judge.solution.p, usable);
      std::array<double, kSectors> sorted = misfit;
      std::nth_element(sorted.begin(), sorted.begin() + kSectors / 3, sorted.end());
      const double usual = std::max(1., sorted[kSectors / 3]);
      std::array<bool, kSectors> hidden{};
      for (int k = 0; k < kSectors; ++k) {
        if (misfit[k] < 2 * usual) continue;
        hidden[k] = true;
        for (int beside : {(k + 1) % kSectors, (k + kSectors - 1) % kSectors})
          hidden[beside] |= misfit[beside] > 1.3 * usual;
      }
      const int n_hidden = static_cast<int>(std::count(hidden.begin(), hidden.end(), true));
      if (n_hidden == 0 || kSectors - n_hidden < kFewestSectors) break;
      UseSectors(usable, judge.solution.p.head<2>(), [&](int sector) { return hidden[sector]; });
      for (std::size_t i = 0; i < usable.size(); ++i)
        if (solver_.cover(static_cast<int>(i)) < 0.02 &&
            std::abs(solver_.residual(static_cast<int>(i))) > kClutter)
          patch_.used[i] = 0;
      const bool circle = found->problem.circle &&
                          (best->problem.circle || kSectors - n_hidden < kSectorsForEllipse);
      const FitTrial again = Fit(circle, judge.solution.p);
      if (!again.solution.converged || !Plausible(again)) break;
      if (patch_.used == pixels) break;
      found = again;
      pixels = patch_.used;
    }
    if (pixels.empty() || found->Excess() - 1 > 0.3 * (best->Excess() - 1)) {
      patch_.used = usable;
      return;
    }
    patch_.used = pixels;
    *best = *found;
    flags_ |= kHidden;
  }

  MarkerFit Report(const FitTrial& attempt) {
    const MarkerVector& p = attempt.solution.p;
    const MarkerOutline outline = attempt.problem.Outline(p);
    const FormAxes axes = AxesOf(outline);
    MarkerFit fit;
    fit.q = p.head<2>();
    fit.major = axes.major, fit.minor = axes.minor, fit.angle = axes.angle;
    fit.amplitude = p[kAmplitude];
    fit.background = p[kLevel] + p.segment<2>(kSlopeX).dot(fit.q - patch_.origin);
    fit.blur = outline.blur;
    fit.chi_square = attempt.solution.chi_square;
    fit.dof = attempt.solution.dof(attempt.problem);
    fit.unexplained = (attempt.Excess() - 1) * MeanVariance(attempt);
    fit.cov = attempt.solution.Covariance(attempt.problem).topLeftCorner<2, 2>();
    if (!attempt.Fits()) fit.cov *= attempt.Excess();
    if (options_.shape == MarkerShape::kStripe && !options_.stripe_ends) {
      const Eigen::Vector2d along(std::cos(axes.angle), std::sin(axes.angle));
      fit.cov += along * along.transpose() * (axes.major * axes.major / 3);
    }
    flags_ |= Flags(attempt);
    if (flags_ & kRough) {
      const Eigen::Vector2d apart = fit.q - spot_.q;
      fit.cov += spot_.cov + apart * apart.transpose();
      fit.q = spot_.q;
    }
    fit.flags = flags_;
    return fit;
  }

  std::uint32_t Flags(const FitTrial& attempt) const {
    std::uint32_t flags = 0;
    const MarkerVector& p = attempt.solution.p;
    double height = 0, noise = 0, n = 0;
    for (std::size_t i = 0; i < patch_.values.size(); ++i) {
      const double cover = Cover(attempt, i), value = patch_.values[i];
      height = std::max(height, cover);
      if (cover > 0.3 && (p[kAmplitude] > 0 ? value >= 254 : value <= 0)) flags |= kSaturated;
      if (cover < 0.02 && patch_.used[i]) noise += Variance(attempt, i), n += 1;
    }
    if (n > 0 && std::abs(p[kAmplitude]) * height < 5 * std::sqrt(noise / n)) flags |= kFaint;
    if (options_.motion.norm() > 1) flags |= kBlurred;
    const Eigen::Vector2d half = attempt.problem.Outline(p).HalfBox();
    if (p[0] - half[0] < -0.5 || p[1] - half[1] < -0.5 || p[0] + half[0] > image_.width - 0.5 ||
        p[1] + half[1] > image_.height - 0.5)
      flags |= kCut;
    return flags;
  }

  const GrayImage& image_;
  const Spot& spot_;
  const MarkerFitOptions& options_;
  MarkerPatch patch_;
  MarkerSolver& solver_ = Solver();
  UnevenSolver& uneven_ = Uneven();
  MarkerVector start_;
  std::uint32_t flags_;
  bool tried_uneven_ = false, refused_uneven_ = false;
  // chi-square a degree of freedom of a plane through the pixels away from the marker
  double beside_ = 0;

  static MarkerSolver& Solver() {  // of the thread: its storage is used again for every marker
    static thread_local MarkerSolver solver;
    return solver;
  }
  static UnevenSolver& Uneven() {
    static thread_local UnevenSolver solver;
    return solver;
  }
};

}  // namespace

std::optional<MarkerFit> FitMarker(const GrayImage& image, const Spot& spot,
                                   const MarkerFitOptions& options) {
  return SpotFit(image, spot, options).Run();
}

}  // namespace impactlab
