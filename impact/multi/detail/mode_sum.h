#pragma once
// Private to the room: motion of contacts on springs within one phase, as sums of modes, and the
// first zero of such a sum.

#include <Eigen/Core>
#include <array>

namespace impactlab::impact {

// delta'' = -Q Q' K (delta - slack) for contacts with distances delta = delta_0 + Q (y - y_0):
// closed form in the eigenvectors of Q' K Q. Units: stiffness as a ratio, time to fit.
class ModeSums {
 public:
  // Q: contacts x coordinates; stiffness 0 where no spring acts; stretch = delta - slack and delta
  // at the beginning; rate = y' there.
  ModeSums(const Eigen::MatrixXd& Q, const Eigen::VectorXd& stiffness,
           const Eigen::VectorXd& stretch, const Eigen::VectorXd& delta,
           const Eigen::VectorXd& rate);

  Eigen::VectorXd Delta(double t) const;    // by contact
  Eigen::VectorXd Rate(double t) const;     // y'
  Eigen::VectorXd Impulse(double t) const;  // by contact, integral of the spring's force

  // First time in [0, horizon] at which the distance of contact j rises (falls) through `level`, or
  // at which its velocity rises through zero; infinity if none. `rounding` is the size of what
  // counts as zero. A distance that is beyond the level at time 0 and moves on counts as an event
  // at 0.
  double FirstRise(int j, double level, double horizon, double rounding) const;
  double FirstFall(int j, double level, double horizon, double rounding) const;
  double FirstTurn(int j, double horizon, double rounding) const;

  // A time of the order of the fastest oscillation, or, with no spring at all, of the next meeting.
  double FirstHorizon() const;
  // A time by which springs that press have let go if they ever do: a hundred periods of the
  // slowest mode. (At most 2^18 half periods of the fastest.)
  double LastHorizon() const;

 private:
  // a function of time and its derivatives, as far as they are known
  using Value = std::array<double, 5>;
  enum class Kind { kRise, kFall, kTurn };
  Value At(Kind kind, int j, double level, double t) const;
  double First(Kind kind, int j, double level, double horizon, double rounding) const;

  Eigen::MatrixXd g_, V_;  // contacts x modes: Q V; eigenvectors
  Eigen::VectorXd omega_, eta_, phi_;
  Eigen::VectorXd delta_, stretch_, stiffness_;
  Eigen::VectorXd fourth_, fifth_;  // bounds by contact on the derivatives of delta of that order
};

}  // namespace impactlab::impact
