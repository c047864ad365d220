#pragma once
// Private to the simulator: the first event within a step along which every contact has kept its
// mode.

#include <limits>
#include <vector>

#include "impact/motion/detail/contact_field.h"
#include "impact/motion/mechanism.h"

namespace impactlab::impact {

struct StepRoot {
  enum class Kind {
    kNone,
    kGap,      // an open contact closes
    kRelease,  // a normal force ends
    kStop,     // a slip stops
    kCone,     // static friction no longer holds
    kPress,    // a slipping contact is about to ask for a force without bound (Painleve)
    kModes     // redundant contacts: the modes that their forces allow have changed
  } kind = Kind::kNone;
  int contact = -1;
  double tau = std::numeric_limits<double>::infinity();  // since the start of the step [s]
  MechanismState state;
};

class StepRoots {
 public:
  // Slip slower than slip_speed counts as rest; open contacts slower than rest_speed at their
  // surface rest there.
  StepRoots(const Mechanism& mechanism, ContactField& field, double slip_speed, double rest_speed)
      : mechanism_(mechanism), field_(field), slip_speed_(slip_speed), rest_speed_(rest_speed) {}

  // From `start` to `end`, h later, with the field's values at both.
  StepRoot First(const MechanismState& start, const FieldValues& at_start,
                 const MechanismState& end, const FieldValues& at_end,
                 const std::vector<Touch>& touches, double h);

 private:
  double Stop(const FieldValues& f, int i) const;
  double Release(const FieldValues& f, int i) const;
  double Cone(const FieldValues& f, int i) const;
  template <typename Value>
  void Consider(StepRoot& first, StepRoot::Kind kind, int contact, const Value& value);
  void Closing(StepRoot& first, int i);
  bool Bracket(int i, double slack, double& tau, MechanismState& at);
  bool ModesHold(const MechanismState& at, const FieldValues& values);
  void Change(StepRoot& first);

  int Normal(int i) const { return mechanism_.width * i + mechanism_.width - 1; }

  const Mechanism& mechanism_;
  ContactField& field_;
  double slip_speed_, rest_speed_;
  // Of the step at hand.
  const MechanismState* start_ = nullptr;
  const FieldValues *now_ = nullptr, *then_ = nullptr;
  const std::vector<Touch>* touches_ = nullptr;
  double h_ = 0;
  ContactTerms contact_;
};

}  // namespace impactlab::impact
