#include <fmt/format.h>
#include <mujoco/mujoco.h>

#include <memory>
#include <stdexcept>

#include "tests/benchmark/peers.h"

namespace impactlab::test {
namespace {

constexpr double kEnd = 1e-3;  // radius of the sphere that is the rod's end [m]
// of the contact, by mass [1/s^2]: half a period is 1 ms
constexpr double kStiffness = M_PI * M_PI * 1e6;
constexpr double kStep = 1e-5;  // [s]
constexpr int kMaxSteps = 2000;

class MujocoWorld {
 public:
  // `damping`: of the contact, relative to the critical one.
  MujocoWorld(const RodImpact& impact, double damping) : impact_(impact) {
    const std::string contact =
        fmt::format(R"(friction="{} 0 0" condim="3" solref="{} {}" solimp="0.9999 0.9999 0.001")",
                    impact.mu, -kStiffness, -2 * damping * std::sqrt(kStiffness));
    const std::string scene = fmt::format(
        R"(<mujoco><compiler inertiafromgeom="false"/>
<option timestep="{}" gravity="0 0 0" cone="elliptic" solver="Newton" iterations="100" tolerance="1e-10" impratio="100"/>
<worldbody><geom type="plane" size="10 10 1" {}/>
<body pos="{} 0 {}"><freejoint/><inertial pos="0 0 0" mass="{}" diaginertia="{} {} {}"/>
<geom type="sphere" size="{}" pos="{} 0 {}" {}/></body></worldbody></mujoco>)",
        kStep, contact, -impact.lever_x, -impact.lever_z, impact.mass, impact.inertia,
        impact.inertia, impact.inertia, kEnd, impact.lever_x, impact.lever_z + kEnd, contact);
    const auto files = std::make_unique<mjVFS>();
    mj_defaultVFS(files.get());
    const int size = static_cast<int>(scene.size());
    if (mj_makeEmptyFileVFS(files.get(), "rod.xml", size) != 0)
      throw std::runtime_error("MuJoCo takes no scene");
    scene.copy(static_cast<char*>(files->filedata[0]), scene.size());
    char error[1000] = "";
    model_.reset(mj_loadXML("rod.xml", files.get(), error, sizeof error));
    mj_deleteVFS(files.get());
    if (!model_) throw std::runtime_error(fmt::format("MuJoCo: {}", error));
    data_.reset(mj_makeData(model_.get()));
  }

  Eigen::Vector2d Impact() {
    mjData* d = data_.get();
    mj_resetData(model_.get(), d);
    d->qvel[0] = impact_.v_x;
    d->qvel[2] = impact_.v_z;
    // Touch is seen after the first step.
    int n = 0;
    do mj_step(model_.get(), d);
    while (++n < kMaxSteps && (d->ncon > 0 || n < 3));
    if (n == kMaxSteps) throw std::runtime_error("MuJoCo: the rod does not leave the plane");
    // of the end, where it is now
    const double x = d->geom_xpos[3] - d->qpos[0], z = d->geom_xpos[5] - kEnd - d->qpos[2];
    return {d->qvel[0] + d->qvel[4] * z, d->qvel[2] - d->qvel[4] * x};
  }

 private:
  struct FreeModel {
    void operator()(mjModel* model) const { mj_deleteModel(model); }
  };
  struct FreeData {
    void operator()(mjData* data) const { mj_deleteData(data); }
  };
  RodImpact impact_;
  std::unique_ptr<mjModel, FreeModel> model_;
  std::unique_ptr<mjData, FreeData> data_;
};

// With which a central impact without slip bounces with `e`.
double DampingFor(double e) {
  double low = 0, high = 1;
  for (int i = 0; i < 40; ++i) {
    const double damping = 0.5 * (low + high);
    const RodImpact central{.beta = M_PI / 2, .lever_z = -0.5, .v_x = 0};
    (MujocoWorld(central, damping).Impact().y() > e ? low : high) = damping;
  }
  return 0.5 * (low + high);
}

}  // namespace

Peer MujocoPeer(const RodImpact& impact) {
  const auto world = std::make_shared<MujocoWorld>(impact, DampingFor(impact.e));
  return {"MuJoCo", "soft", RestitutionLaw::kEnergetic, [world] { return world->Impact(); }};
}

}  // namespace impactlab::test
