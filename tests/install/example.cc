// A rod whose tip strikes a plate: the impact room as a library.
#include <cstdio>

#include "impact/body/body.h"
#include "impact/law/certify.h"
#include "impact/law/solve.h"

int main() {
  using namespace impactlab;
  const Body rod = MakeRod(0.3, 0.005, 0.2);               // length, radius [m], mass [kg]
  const Plane plate{Eigen::Vector3d::UnitZ(), 0};          // W: z up
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();  // the rod leans by 40 degrees
  X_WB.linear() = Eigen::AngleAxisd(0.7, Eigen::Vector3d::UnitY()).toRotationMatrix();
  const Eigen::Vector3d p_WP = ContactWithPlane(rod, X_WB, plate).p_WP, gravity_W(0, 0, -9.81);
  const ContactState contact = MakeContactState(rod, X_WB, {0.3, 0.1, -1.5}, {0, 2, 1},
                                                ContactFrame(plate, p_WP, gravity_W, false));
  const ImpactModel model{{.e = 0.6, .mu_k = 0.2, .mu_s = 0.25}, RestitutionLaw::kEnergetic};
  const ImpactOutcome outcome = Solve(contact, model);
  const bool certified = Certify(contact, model, outcome).ok;
  std::printf("case %s  J_F %.6f %.6f %.6f N s  v_n %.4f -> %.4f m/s  %s\n",
              outcome.path_case.Name().c_str(), outcome.J_F.x(), outcome.J_F.y(), outcome.J_F.z(),
              contact.v_minus_F.z(), outcome.v_plus_F.z(), certified ? "certified" : "refuted");
  return certified ? 0 : 1;
}
