#include "calibration/solve/detail/problem_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/base/error.h"

namespace impactlab::calibration {
namespace {

[[noreturn]] void Refuse(const CameraSetup& setup, const std::string& what) {
  throw ConfigError(fmt::format("camera '{}': {}", setup.name, what));
}

}  // namespace

void CheckSetup(const CalibrationProblem& problem) {
  if (const std::string fault = Fault(problem.board); !fault.empty())
    throw ConfigError("board: " + fault);
  if (problem.cameras.empty()) throw ConfigError("a calibration needs at least one camera");
  std::set<std::string> seen;
  for (std::size_t c = 0; c < problem.cameras.size(); ++c) {
    const CameraSetup& setup = problem.cameras[c];
    if (setup.name.empty()) throw ConfigError(fmt::format("camera {} has no name", c));
    if (!seen.insert(setup.name).second) Refuse(setup, "the name is used twice");
    if (setup.width < 16 || setup.height < 16 || setup.width > 65536 || setup.height > 65536)
      Refuse(setup,
             fmt::format("pictures of {} x {} px, allowed 16 to 65536", setup.width, setup.height));
    const auto names = IntrinsicNames(setup.model);
    const auto known = [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    for (const std::string& name : setup.fixed)
      if (!known(name))
        Refuse(setup, fmt::format("fixed: {} is no parameter of the {} model ({})", name,
                                  ToString(setup.model), fmt::join(names, ", ")));
    for (const auto& prior : setup.priors) {
      if (!known(prior.parameter))
        Refuse(setup, fmt::format("prior: {} is no parameter of the {} model ({})", prior.parameter,
                                  ToString(setup.model), fmt::join(names, ", ")));
      if (!(prior.sd > 0) || !std::isfinite(prior.sd) || !std::isfinite(prior.mean))
        Refuse(setup, fmt::format("prior of {}: mean {} and sd {}; the sd must be above 0",
                                  prior.parameter, prior.mean, prior.sd));
    }
    if (setup.start && setup.start->model != setup.model)
      Refuse(setup, fmt::format("starts from a {} model, the model asked is {}",
                                ToString(setup.start->model), ToString(setup.model)));
    if (setup.start && (setup.start->width != setup.width || setup.start->height != setup.height))
      Refuse(setup,
             fmt::format("starts from a camera of {} x {} px, the pictures are {} x {}",
                         setup.start->width, setup.start->height, setup.width, setup.height));
    if (setup.start && !Intrinsics(*setup.start).allFinite())
      Refuse(setup, "starts from intrinsics that are not finite");
    const int shared = setup.shares_intrinsics_with;
    if (shared >= static_cast<int>(c))
      Refuse(setup, "shares intrinsics with a camera that does not come before it");
    if (shared >= 0) {
      const CameraSetup& lead = problem.cameras[shared];
      if (lead.shares_intrinsics_with >= 0)
        Refuse(setup,
               fmt::format("shares intrinsics with '{}', which itself shares; name the first one",
                           lead.name));
      if (lead.model != setup.model || lead.width != setup.width || lead.height != setup.height)
        Refuse(setup, fmt::format("shares intrinsics with '{}', which has another size or model",
                                  lead.name));
    }
  }
  for (const BoardShot& shot : problem.shots) {
    if (shot.views.size() != problem.cameras.size())
      throw ConfigError(fmt::format("shot '{}': {} views for {} cameras", shot.name,
                                    shot.views.size(), problem.cameras.size()));
    for (std::size_t c = 0; c < shot.views.size(); ++c) {
      int last = -1;
      for (const BoardPoint& point : shot.views[c].points) {
        if (point.id <= last || point.id >= PointCount(problem.board))
          throw ConfigError(fmt::format(
              "shot '{}', camera '{}': point {} after {}; ids rise from 0 to {}", shot.name,
              problem.cameras[c].name, point.id, last, PointCount(problem.board) - 1));
        last = point.id;
        if (!point.q.allFinite() || !(point.sd > 0) || !std::isfinite(point.sd))
          throw ConfigError(
              fmt::format("shot '{}', camera '{}', point {}: position or sd is not a finite number",
                          shot.name, problem.cameras[c].name, point.id));
      }
    }
  }
}

}  // namespace impactlab::calibration
