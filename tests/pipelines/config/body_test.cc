// Keys of a body: what is written reads back to the same body, and one list of keys does both.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "pipelines/config/yaml.h"
#include "tests/support/faults.h"

namespace impactlab::pipelines {
namespace {

using ::testing::HasSubstr;

Body Read(const std::string& keys, bool planar) {
  const YamlNode root = ParseYaml(keys, "body.yaml");
  Body body = ParseBody(root, planar);
  root.Finish();
  return body;
}

// The keys below `body:`, as a document of their own.
std::string Written(const Body& body) {
  const std::string yaml = BodyYaml(body);
  EXPECT_EQ(yaml.substr(0, 6), "body:\n");
  std::string out;
  for (std::size_t from = 6; from < yaml.size();) {
    const std::size_t end = yaml.find('\n', from) + 1;
    EXPECT_EQ(yaml.substr(from, 2), "  ");
    out += yaml.substr(from + 2, end - from - 2);
    from = end;
  }
  return out;
}

TEST(BodyKeys, AreWrittenInTheirOrder) {
  EXPECT_EQ(Written(Read("shape: box\nside_m: 0.5\nmass_kg: 2\ninertia_kg_m2: 0.25\n", true)),
            "name: \"box\"\nshape: box\nsides_m: [0.5, 0.5]\ncorner_radius_m: 0\nmass_kg: 2\n"
            "inertia_kg_m2: 0.25\n");
  EXPECT_EQ(Written(Read("name: dart\nshape: points\nvertices_m: [[0, 0, 1], [0, 0.5, -1]]\n"
                         "gyration_radius_m: [0.5, 0.5, 0.25]\n",
                         false)),
            "name: \"dart\"\nshape: points\nvertices_m:\n  - [0, 0, 1]\n  - [0, 0.5, -1]\n"
            "inertia_per_mass_m2: [0.25, 0.25, 0.0625]\n");
}

TEST(BodyKeys, OfEveryShapeReadBackAsWritten) {
  const std::pair<const char*, bool> bodies[] = {
      {"shape: box\nsides_m: [0.1, 0.2]\ncorner_radius_m: 0.01\n", true},
      {"shape: box\nsides_m: [0.1, 0.2, 0.3]\nmass_kg: 0.7\n", false},
      {"shape: rod\nlength_m: 0.3\nradius_m: 0.005\nmass_kg: 0.2\n", true},
      {"shape: rod\nlength_m: 0.3\nradius_m: 0.005\n", false},
      {"shape: ball\nradius_m: 0.02\nmass_kg: 0.1\ngyration_radius_m: 0.013\n", true},
      {"shape: ellipsoid\nsemi_axes_m: [0.03, 0.04, 0.05]\n"
       "inertia_per_mass_m2: [6e-4, 1e-5, 0, 6e-4, 0, 4e-4]\n",
       false},
      {"shape: polytope\nvertices_m: [[0, 0], [0.1, 0], [0, 0.2]]\nmass_kg: 1\n", true},
      {"shape: polytope\ncorner_radius_m: 1e-3\nvertices_m: [[0, 0, 0.05], [0.04, 0, -0.02], "
       "[-0.02, 0.035, -0.02], [-0.02, -0.035, -0.02]]\n",
       false}};
  for (const auto& [keys, planar] : bodies) {
    const Body body = Read(keys, planar);
    const std::string written = Written(body);
    const Body again = Read(written, planar);
    EXPECT_EQ(Written(again), written);
    EXPECT_EQ(again.inertia_B, body.inertia_B) << written;
    EXPECT_EQ(again.mass_known, body.mass_known);
    EXPECT_EQ(again.points_B.size(), body.points_B.size());
  }
}

TEST(BodyKeys, FaultsNameTheKey) {
  const auto fault = [](const std::string& keys, bool planar = false) {
    return test::FaultOf([&] { Read(keys, planar); });
  };
  EXPECT_EQ(fault("shape: box\nside_m: 1\nsides_m: [1, 1, 1]\n"),
            "body.yaml:3: sides_m: found side_m as well, allowed one of side_m and sides_m");
  EXPECT_EQ(fault("shape: box\n"),
            "body.yaml:1: sides_m: found nothing, allowed side_m or sides_m (one is required)");
  EXPECT_EQ(fault("shape: ball\nradius_m: 1\ninertia_kg_m2: 1\n"),
            "body.yaml:3: inertia_kg_m2: found an inertia without mass_kg, allowed mass_kg beside "
            "it, or gyration_radius_m where the mass is not known");
  EXPECT_EQ(fault("shape: ball\nradius_m: 1\ninertia_per_mass_m2: 1\ngyration_radius_m: 1\n"),
            "body.yaml:4: gyration_radius_m: found inertia_per_mass_m2 as well, allowed one of "
            "inertia_kg_m2, inertia_per_mass_m2 and gyration_radius_m");
  EXPECT_THAT(fault("shape: points\nvertices_m: [[0, 0, 0]]\n"),
              HasSubstr("shape: found points without an inertia, allowed inertia_kg_m2, "
                        "inertia_per_mass_m2 or gyration_radius_m beside it"));
  EXPECT_THAT(fault("shape: box\nside_m: 0.1\ncorner_radius_m: 0.2\n"),
              HasSubstr("body.yaml:3: corner_radius_m: found 0.2"));
}

}  // namespace
}  // namespace impactlab::pipelines
