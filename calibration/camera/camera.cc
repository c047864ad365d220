#include "calibration/camera/camera.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "calibration/camera/lens.h"
#include "data/base/error.h"
#include "data/files/text.h"

namespace impactlab {
namespace {

// the tangent of the angle is a coordinate and has to stay finite
constexpr double kPinholeLimit = 89.0 * std::numbers::pi / 180;
constexpr double kUnprojectTolerance = 1e-9;  // [px]

// A polynomial in t >= 0 by powers, its positive and negative coefficients apart: on [t0, t1] the
// first part lies between its values at the ends, and so does the second, which bounds the whole
// from below and above.
struct SignedPolynomial {
  std::array<double, 7> positive{}, negative{};
  int degree = 0;

  SignedPolynomial(const double* c, int n) : degree(n) {
    for (int i = 0; i <= n; ++i) (c[i] > 0 ? positive : negative)[i] = c[i];
  }
  double Evaluate(const std::array<double, 7>& c, double t) const {
    double sum = c[degree];
    for (int i = degree - 1; i >= 0; --i) sum = sum * t + c[i];
    return sum;
  }
  double Lower(double t0, double t1) const {
    return Evaluate(positive, t0) + Evaluate(negative, t1);
  }
  double Upper(double t0, double t1) const {
    return Evaluate(positive, t1) + Evaluate(negative, t0);
  }
};

// Written in the radial and the transverse direction, the Jacobian of the distortion at radius r is
//   | f' + 6 m c   2 m w    |    f = r s(r),  m = r |(p1, p2)|,
//   | 2 m w        s + 2 m c|    c, w = cosine and sine of the angle between the point and
//                                (p2, p1),
// a symmetric matrix. It is positive definite for every c exactly when it is so at the c in [-1, 1]
// that makes its determinant least.
bool PositiveInEveryDirection(double dradius, double scale, double m) {
  if (!(dradius > 6 * m) || !(scale > 2 * m)) return false;
  if (dradius + 3 * scale >= 16 * m) return true;
  return (dradius - scale) * (9 * scale - dradius) > 64 * m * m;
}

// Largest x in [0, limit] such that the Jacobian is positive definite on all of [0, x]; x is the
// radius (pinhole) or the angle (fisheye). Each interval is proved as a whole by bounds on it: a
// positive definite matrix stays so when its diagonal grows or when m falls. The distortion is then
// the gradient of a strictly convex function on a disc, hence one to one.
double InvertibleRadius(const Camera& camera, double limit) {
  const auto& k = camera.distortion;
  std::array<double, 7> derivative{1};  // numerator of f', its denominator is that of s squared
  std::array<double, 4> numerator{1}, denominator{1};
  double tangential = 0;
  if (camera.model == LensModel::kFisheye) {
    for (int i = 0; i < 4; ++i) derivative[i + 1] = (2 * i + 3) * k[i];
  } else {
    numerator = {1, k[0], k[1], k[4]};
    denominator = {1, k[5], k[6], k[7]};
    tangential = std::hypot(k[2], k[3]);
    derivative = {};
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j)
        derivative[i + j] += (1 + 2 * i - 2 * j) * numerator[i] * denominator[j];
    }
  }
  const bool fisheye = camera.model == LensModel::kFisheye;
  const SignedPolynomial f(derivative.data(), 6), n(numerator.data(), 3), d(denominator.data(), 3);
  double x = 0, step = 0.1;
  for (int i = 0; i < 5000 && x < limit; ++i) {
    const double next = std::min(x + step, limit), t0 = x * x, t1 = next * next;
    const double largest = d.Upper(t0, t1);
    const bool certified =
        fisheye ? f.Lower(t0, t1) > 0
                : d.Lower(t0, t1) > 0 &&
                      PositiveInEveryDirection(f.Lower(t0, t1) / (largest * largest),
                                               n.Lower(t0, t1) / largest, next * tangential);
    if (certified) {
      x = next;
      step *= 2;
    } else {
      step /= 2;
      if (step < 1e-13 * x || step < 1e-18) break;
    }
  }
  return x;
}

double Limit(const Camera& camera) {
  return camera.invertible_angle > 0 ? camera.invertible_angle : InvertibleAngle(camera);
}

std::array<double, kMaxIntrinsics> IntrinsicArray(const Camera& camera, bool normalised) {
  std::array<double, kMaxIntrinsics> values{1, 1, 0, 0};
  if (!normalised) values = {camera.fx, camera.fy, camera.cx, camera.cy};
  for (int i = 0; i < DistortionCount(camera.model); ++i) values[4 + i] = camera.distortion[i];
  return values;
}

// x of f(x) = value for a rising f on [0, end] by Newton steps, halving the bracket where they
// leave it. `f(x, &slope)`.
template <typename Function>
double SolveRising(const Function& f, double value, double start, double end, double tolerance) {
  double low = 0, high = end, x = std::clamp(start, 0.0, end);
  for (int i = 0; i < 200; ++i) {
    double slope = 0;
    const double excess = f(x, &slope) - value;
    if (excess == 0) break;
    (excess > 0 ? high : low) = x;
    double next = x - excess / slope;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    const double change = std::abs(next - x);
    x = next;
    if (change <= tolerance * x) break;
  }
  return x;
}

// Distortion on the plane z = 1, its inverse inside a disc.
struct PlaneMap {
  LensModel model;
  std::array<double, kMaxIntrinsics> intrinsics;  // fx = fy = 1, cx = cy = 0
  Eigen::Vector2d target;
  double radius;  // of the disc where the map is one to one
  double pixels;  // focal length: scale of a residual

  bool Evaluate(const Eigen::Vector2d& x, Eigen::Vector2d* residual,
                Eigen::Matrix2d* jacobian) const {
    Eigen::Vector2d image;
    Eigen::Matrix<double, 2, 3, Eigen::RowMajor> derivative;
    if (!calibration::ProjectLens(model, intrinsics.data(), {x.x(), x.y(), 1}, &image, &derivative,
                                  nullptr))
      return false;
    *residual = target - image;
    *jacobian = derivative.leftCols<2>();
    return residual->allFinite();
  }

  double Radial(double r, double* slope) const {
    const double t = r * r;
    const double* k = intrinsics.data() + 4;
    const double k4 = model == LensModel::kRational ? k[5] : 0,
                 k5 = model == LensModel::kRational ? k[6] : 0;
    const double k6 = model == LensModel::kRational ? k[7] : 0;
    const double n = 1 + t * (k[0] + t * (k[1] + t * k[4])), d = 1 + t * (k4 + t * (k5 + t * k6));
    const double dn = k[0] + t * (2 * k[1] + t * 3 * k[4]), dd = k4 + t * (2 * k5 + t * 3 * k6);
    *slope = (n + 2 * t * (dn - n / d * dd)) / d;
    return r * n / d;
  }

  // Newton's method with step halving while the Jacobian stays positive definite. True at a
  // solution, wherever it is.
  bool Newton(Eigen::Vector2d* x) const {
    Eigen::Vector2d residual, next_residual;
    Eigen::Matrix2d jacobian, next_jacobian;
    if (!Evaluate(*x, &residual, &jacobian)) return false;
    const double goal = 1e-16 * (1 + target.norm());
    for (int i = 0; i < 60; ++i) {
      const double norm = residual.norm();
      if (norm <= goal) return true;
      const double determinant = jacobian.determinant();
      if (!(determinant > 0)) break;
      const Eigen::Vector2d step =
          Eigen::Vector2d(jacobian(1, 1) * residual.x() - jacobian(0, 1) * residual.y(),
                          jacobian(0, 0) * residual.y() - jacobian(1, 0) * residual.x()) /
          determinant;
      double share = 1;
      bool better = false;
      for (; share > 1e-4 && !better; share /= 2) {
        const Eigen::Vector2d next = *x + share * step;
        better = Evaluate(next, &next_residual, &next_jacobian) &&
                 next_residual.norm() < norm * (1 - 0.1 * share) &&
                 next_jacobian.determinant() > 0 && next_jacobian.trace() > 0;
        if (better) *x = next, residual = next_residual, jacobian = next_jacobian;
      }
      if (!better) break;
    }
    return residual.norm() * pixels < 0.7 * kUnprojectTolerance;
  }

  // Monotone maps: the solution lies on the side of x to which the residual points. The ellipsoid
  // method (Shor 1977) therefore converges from any start; Newton's method continues as soon as it
  // converges.
  bool Enclose(Eigen::Vector2d* x) const {
    Eigen::Vector2d centre = Eigen::Vector2d::Zero(), residual;
    Eigen::Matrix2d shape = radius * radius * Eigen::Matrix2d::Identity(), jacobian;
    for (int i = 1; i <= 240; ++i) {
      const bool inside = centre.norm() <= radius;
      if (inside && i % 8 == 0) {
        *x = centre;
        if (Newton(x) && x->norm() <= radius) return true;
      }
      Eigen::Vector2d cut = centre;  // towards which the solution is not
      if (inside) {
        if (!Evaluate(centre, &residual, &jacobian)) return false;
        cut = -residual;
      }
      const double width = std::sqrt(cut.dot(shape * cut));
      if (!(width > 0)) return false;
      const Eigen::Vector2d step = shape * cut / width;
      centre -= step / 3;
      shape = 4.0 / 3 * (shape - 2.0 / 3 * step * step.transpose());
    }
    return false;
  }
};

std::optional<Eigen::Vector3d> UnprojectPinhole(const Camera& camera, const Eigen::Vector2d& target,
                                                double limit) {
  PlaneMap map{camera.model, IntrinsicArray(camera, true), target, std::tan(limit),
               std::max(camera.fx, camera.fy)};
  const double distance = target.norm(),
               tangential = std::hypot(camera.distortion[2], camera.distortion[3]);
  double slope = 0;
  const double farthest = map.Radial(map.radius, &slope);
  if (!(distance <= (farthest + 3 * tangential * map.radius * map.radius) * (1 + 1e-12)))
    return std::nullopt;
  Eigen::Vector2d x = target;
  if (distance > 0) {
    const auto radial = [&](double r, double* derivative) { return map.Radial(r, derivative); };
    const double start = distance < farthest
                             ? SolveRising(radial, distance, distance, map.radius, 1e-3)
                             : map.radius * (1 - 1e-3);
    x = target * (start / distance);
  }
  if (!(map.Newton(&x) && x.norm() <= map.radius * (1 + 1e-12)) && !map.Enclose(&x))
    return std::nullopt;
  return Eigen::Vector3d(x.x(), x.y(), 1).normalized();
}

std::optional<Eigen::Vector3d> UnprojectFisheye(const Camera& camera, const Eigen::Vector2d& target,
                                                double limit) {
  const auto& k = camera.distortion;
  const auto f = [&](double theta, double* slope) {
    const double t = theta * theta;
    *slope = 1 + t * (3 * k[0] + t * (5 * k[1] + t * (7 * k[2] + t * 9 * k[3])));
    return theta * (1 + t * (k[0] + t * (k[1] + t * (k[2] + t * k[3]))));
  };
  const double distance = target.norm();
  double slope = 0;
  if (!(distance <= f(limit, &slope) * (1 + 1e-15))) return std::nullopt;
  if (distance == 0) return Eigen::Vector3d::UnitZ();
  const double theta = SolveRising(f, distance, std::min(distance, limit), limit, 1e-16);
  const Eigen::Vector2d direction = target / distance;
  return Eigen::Vector3d(std::sin(theta) * direction.x(), std::sin(theta) * direction.y(),
                         std::cos(theta));
}

// Share of the image whose pixels have a ray, and extremes of the local magnification there
// relative to that at the axis.
struct Coverage {
  double share = 0, least = 1, greatest = 1;
};

Coverage CoverageOfImage(const Camera& camera) {
  constexpr int kGrid = 12;
  Coverage result;
  const double limit = camera.invertible_angle;
  for (int i = 0; i <= kGrid; ++i) {
    for (int j = 0; j <= kGrid; ++j) {
      const Eigen::Vector2d q((camera.width - 1) * i / double(kGrid),
                              (camera.height - 1) * j / double(kGrid));
      Eigen::Matrix<double, 3, 2> dray_dq;
      const auto ray = Unproject(camera, q, &dray_dq);
      if (!ray || std::acos(std::clamp(ray->z(), -1.0, 1.0)) > limit) continue;
      result.share += 1;
      // Against a pinhole, or an equidistant lens, of the same focal length: solid angle of a
      // pixel.
      const double area = dray_dq.col(0).cross(dray_dq.col(1)).norm() * camera.fx * camera.fy;
      const double theta = std::acos(std::clamp(ray->z(), -1.0, 1.0));
      const double ideal = camera.model == LensModel::kFisheye
                               ? (theta > 1e-8 ? std::sin(theta) / theta : 1)
                               : std::pow(ray->z(), 3);
      const double magnification = std::sqrt(ideal / area);
      result.least = std::min(result.least, magnification);
      result.greatest = std::max(result.greatest, magnification);
    }
  }
  result.share /= (kGrid + 1) * (kGrid + 1);
  return result;
}

}  // namespace

const char* ToString(LensModel model) {
  switch (model) {
    case LensModel::kBrown:
      return "brown";
    case LensModel::kRational:
      return "rational";
    case LensModel::kFisheye:
      return "fisheye";
  }
  return "unknown";
}

std::optional<LensModel> LensModelFromString(const std::string& name) {
  for (const LensModel model : {LensModel::kBrown, LensModel::kRational, LensModel::kFisheye}) {
    if (name == ToString(model)) return model;
  }
  return std::nullopt;
}

int DistortionCount(LensModel model) {
  return model == LensModel::kBrown ? 5 : model == LensModel::kRational ? 8 : 4;
}

std::vector<std::string> IntrinsicNames(LensModel model) {
  std::vector<std::string> names = {"fx_px", "fy_px", "cx_px", "cy_px"};
  const std::vector<std::string> pinhole = {"k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6"},
                                 fisheye = {"k1", "k2", "k3", "k4"};
  const auto& all = model == LensModel::kFisheye ? fisheye : pinhole;
  names.insert(names.end(), all.begin(), all.begin() + DistortionCount(model));
  return names;
}

Eigen::VectorXd Intrinsics(const Camera& camera) {
  const auto values = IntrinsicArray(camera, false);
  return Eigen::Map<const Eigen::VectorXd>(values.data(), IntrinsicCount(camera.model));
}

void SetIntrinsics(Camera& camera, const Eigen::VectorXd& intrinsics) {
  const int count = IntrinsicCount(camera.model);
  if (intrinsics.size() != count) {
    throw ConfigError(fmt::format("intrinsics: found {} numbers, allowed {} for the model {}",
                                  intrinsics.size(), count, ToString(camera.model)));
  }
  camera.fx = intrinsics[0], camera.fy = intrinsics[1], camera.cx = intrinsics[2],
  camera.cy = intrinsics[3];
  camera.distortion = {};
  for (int i = 4; i < count; ++i) camera.distortion[i - 4] = intrinsics[i];
  camera.invertible_angle = InvertibleAngle(camera);
}

double InvertibleAngle(const Camera& camera) {
  if (camera.model == LensModel::kFisheye) return InvertibleRadius(camera, std::numbers::pi);
  const double end = std::tan(kPinholeLimit), radius = InvertibleRadius(camera, end);
  // Slightly inside, so that the tangent of the angle cannot round to beyond a pole.
  return radius < end ? std::atan(radius) * (1 - 1e-13) : kPinholeLimit;
}

std::string Fault(const Camera& given) {
  Camera camera = given;
  constexpr int kMaxSize = 1 << 16;
  if (camera.width < 2 || camera.height < 2 || camera.width > kMaxSize ||
      camera.height > kMaxSize) {
    return fmt::format("the image is {} x {} px, allowed 2 to {} each way", camera.width,
                       camera.height, kMaxSize);
  }
  const auto names = IntrinsicNames(camera.model);
  const Eigen::VectorXd values = Intrinsics(camera);
  for (int i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) return fmt::format("{} is not a finite number", names[i]);
  }
  for (int i = DistortionCount(camera.model); i < 8; ++i) {
    if (camera.distortion[i] != 0) {
      return fmt::format("the model {} has {} coefficients, number {} is not 0",
                         ToString(camera.model), DistortionCount(camera.model), i + 1);
    }
  }
  const double size = std::max(camera.width, camera.height);
  for (int i = 0; i < 2; ++i) {
    if (!(values[i] > 0))
      return fmt::format("{} is {}, allowed a number above 0", names[i], FormatNumber(values[i]));
    if (values[i] < 0.01 * size || values[i] > 1e4 * size) {
      return fmt::format("{} is {:.4g}, allowed {:.4g} to {:.4g} for an image of this size",
                         names[i], values[i], 0.01 * size, 1e4 * size);
    }
  }
  const double aspect = camera.fx / camera.fy;
  if (aspect < 0.2 || aspect > 5) return fmt::format("fx / fy is {:.4g}, allowed 0.2 to 5", aspect);
  for (int i = 0; i < 2; ++i) {
    const double length = i == 0 ? camera.width : camera.height;
    if (values[2 + i] < -3 * length || values[2 + i] > 4 * length) {
      return fmt::format("{} is {:.6g}, allowed {:.6g} to {:.6g}", names[2 + i], values[2 + i],
                         -3 * length, 4 * length);
    }
  }
  const double angle = InvertibleAngle(camera);
  if (camera.invertible_angle > angle * (1 + 1e-6) + 1e-12) {
    return fmt::format(
        "the invertible angle is given as {:.6g} rad, the distortion folds at {:.6g} rad",
        camera.invertible_angle, angle);
  }
  camera.invertible_angle = angle;
  const Coverage coverage = CoverageOfImage(camera);
  // A fisheye picture may be a disc on a wide sensor; elsewhere dark or uncovered corners are the
  // exception.
  const double needed = camera.model == LensModel::kFisheye ? 0.4 : 0.75;
  if (coverage.share < needed) {
    return fmt::format(
        "the distortion folds inside the image: it is one to one up to {:.3g} degrees off the "
        "axis, which covers {:.0f} % of the image (at least {:.0f} %); the coefficients are not "
        "those of a lens",
        angle * 180 / std::numbers::pi, 100 * coverage.share, 100 * needed);
  }
  if (coverage.least < 0.01 || coverage.greatest > 100) {
    return fmt::format(
        "the distortion changes the magnification {:.3g} to {:.3g} times across the image, allowed "
        "0.01 to 100",
        coverage.least, coverage.greatest);
  }
  return {};
}

std::optional<Eigen::Vector2d> Project(const Camera& camera, const Eigen::Vector3d& p_CM,
                                       Eigen::Matrix<double, 2, 3>* dq_dp,
                                       Eigen::Matrix<double, 2, Eigen::Dynamic>* dq_dintrinsics) {
  const double angle = std::atan2(std::hypot(p_CM.x(), p_CM.y()), p_CM.z());
  if (!(angle <= Limit(camera))) return std::nullopt;
  const auto intrinsics = IntrinsicArray(camera, false);
  Eigen::Vector2d q;
  Eigen::Matrix<double, 2, 3, Eigen::RowMajor> by_point;
  calibration::IntrinsicDerivative by_intrinsics;
  if (!calibration::ProjectLens(camera.model, intrinsics.data(), p_CM, &q,
                                dq_dp ? &by_point : nullptr,
                                dq_dintrinsics ? &by_intrinsics : nullptr) ||
      !q.allFinite()) {
    return std::nullopt;
  }
  if (dq_dp) *dq_dp = by_point;
  if (dq_dintrinsics) *dq_dintrinsics = by_intrinsics.leftCols(IntrinsicCount(camera.model));
  return q;
}

std::optional<Eigen::Vector3d> Unproject(
    const Camera& camera, const Eigen::Vector2d& q, Eigen::Matrix<double, 3, 2>* dray_dq,
    Eigen::Matrix<double, 3, Eigen::Dynamic>* dray_dintrinsics) {
  const Eigen::Vector2d target((q.x() - camera.cx) / camera.fx, (q.y() - camera.cy) / camera.fy);
  const double limit = Limit(camera);
  if (!target.allFinite() || !(limit > 0)) return std::nullopt;
  auto ray = camera.model == LensModel::kFisheye ? UnprojectFisheye(camera, target, limit)
                                                 : UnprojectPinhole(camera, target, limit);
  if (!ray) return std::nullopt;

  const auto intrinsics = IntrinsicArray(camera, false);
  Eigen::Vector2d image;
  Eigen::Matrix<double, 2, 3, Eigen::RowMajor> by_point;
  calibration::IntrinsicDerivative by_intrinsics;
  const bool derivatives = dray_dq || dray_dintrinsics;
  if (!calibration::ProjectLens(camera.model, intrinsics.data(), *ray, &image,
                                derivatives ? &by_point : nullptr,
                                dray_dintrinsics ? &by_intrinsics : nullptr) ||
      !((image - q).norm() <= kUnprojectTolerance)) {
    return std::nullopt;
  }
  if (derivatives) {
    // Implicit function: dq = (dq_dp B) xi + dq_dintrinsics di = 0 with the ray moving by B xi in
    // its tangent plane.
    const Eigen::Vector3d seed =
        std::abs(ray->x()) < 0.6 ? Eigen::Vector3d::UnitX() : Eigen::Vector3d::UnitY();
    Eigen::Matrix<double, 3, 2> tangent;
    tangent.col(0) = ray->cross(seed).normalized();
    tangent.col(1) = ray->cross(tangent.col(0));
    const Eigen::Matrix2d image_by_tangent = by_point * tangent;
    const Eigen::Matrix<double, 3, 2> by_image = tangent * image_by_tangent.inverse();
    if (!by_image.allFinite()) return std::nullopt;
    if (dray_dq) *dray_dq = by_image;
    if (dray_dintrinsics)
      *dray_dintrinsics = -by_image * by_intrinsics.leftCols(IntrinsicCount(camera.model));
  }
  return ray;
}

}  // namespace impactlab
