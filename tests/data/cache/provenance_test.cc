#include "data/cache/provenance.h"

#include <limits>
#include <regex>

#include "tests/data/message.h"

namespace impactlab {
namespace {

using test::MessageOf;
using ::testing::HasSubstr;

// FIPS 180-4 examples.
TEST(Provenance, Sha256) {
  EXPECT_EQ(Sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Provenance, FilesAreHashedInPieces) {
  test::TemporaryFolder folder;
  test::Put(folder / "a b.csv", std::string(3000000, 'x'));
  std::uint64_t bytes = 0;
  EXPECT_EQ(Sha256File(folder / "a b.csv", &bytes), Sha256(std::string(3000000, 'x')));
  EXPECT_EQ(bytes, 3000000u);
  EXPECT_THAT(MessageOf<DataError>([&] { Sha256File(folder / "absent"); }),
              HasSubstr("No such file"));
  EXPECT_THAT(MessageOf<DataError>([&] { CollectProvenance(1, "", {folder.path()}); }),
              HasSubstr("directory"));
}

TEST(Provenance, DescribesThisRun) {
  test::TemporaryFolder folder;
  test::Put(folder / "a.csv", "abc");
  const Provenance now = CollectProvenance(7, "impactlab run", {folder / "a.csv"});
  EXPECT_TRUE(std::regex_match(now.version, std::regex("[0-9]+\\.[0-9]+\\.[0-9]+"))) << now.version;
  EXPECT_EQ(now.version, ProgramVersion());
  EXPECT_TRUE(std::regex_match(now.git_revision, std::regex("([0-9a-f]{40})?")))
      << now.git_revision;
  EXPECT_TRUE(std::regex_match(
      now.utc, std::regex("20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z")))
      << now.utc;
  EXPECT_FALSE(now.compiler.empty());
  EXPECT_FALSE(now.cpu.empty());
  ASSERT_EQ(now.inputs.size(), 1u);
  EXPECT_EQ(now.inputs[0].sha256, Sha256("abc"));
  EXPECT_EQ(now.inputs[0].bytes, 3u);
}

TEST(Provenance, RoundTripsThroughYaml) {
  Provenance provenance;
  provenance.version = "1.2.3";
  provenance.compiler = "g++ \"12\": #1";
  provenance.cpu = "CPU\n@ 3 GHz";
  provenance.command = "impactlab run --out 'a b' \\ caf\xC3\xA9";
  provenance.utc = "2024-05-01T12:00:00Z";
  provenance.seed = std::numeric_limits<std::uint64_t>::max();
  provenance.inputs = {{"data/a b.csv", Sha256("a"), 1},
                       {"- odd: [name].csv", Sha256("b"), std::uint64_t{1} << 40}};
  const YamlNode root = ParseYaml(ToYaml(provenance), "run.yaml");
  const Provenance back = ProvenanceFromYaml(root);
  root.Finish();
  EXPECT_EQ(back.version, provenance.version);
  EXPECT_EQ(back.git_revision, "");
  EXPECT_EQ(back.compiler, provenance.compiler);
  EXPECT_EQ(back.cpu, provenance.cpu);
  EXPECT_EQ(back.command, provenance.command);
  EXPECT_EQ(back.utc, provenance.utc);
  EXPECT_EQ(back.seed, provenance.seed);
  ASSERT_EQ(back.inputs.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(back.inputs[i].path, provenance.inputs[i].path);
    EXPECT_EQ(back.inputs[i].sha256, provenance.inputs[i].sha256);
    EXPECT_EQ(back.inputs[i].bytes, provenance.inputs[i].bytes);
  }
  EXPECT_EQ(ToYaml(back), ToYaml(provenance));
}

TEST(Provenance, DamagedYamlIsNamed) {
  const auto fault = [](const std::string& text) {
    return MessageOf<ConfigError>([&] { ProvenanceFromYaml(ParseYaml(text, "run.yaml")); });
  };
  EXPECT_THAT(fault("x: 1\n"), HasSubstr("provenance"));
  EXPECT_THAT(fault("provenance: {version: 1, seed: -1}\n"),
              HasSubstr("provenance.seed: found '-1'"));
  EXPECT_THAT(fault("provenance: {version: 1, seed: 18446744073709551616}\n"),
              HasSubstr("provenance.seed"));
  EXPECT_THAT(
      fault("provenance: {version: 1, seed: 1, inputs: [{path: a, sha256: zz, bytes: 1}]}\n"),
      HasSubstr("inputs[0].sha256"));
  EXPECT_THAT(fault("provenance: {version: 1, seed: 1, inputs: [{path: a, sha256: " + Sha256("") +
                    ", bytes: -1}]}\n"),
              HasSubstr("bytes"));
}

TEST(Provenance, KeepsInputsItCannotReadWithoutAHash) {
  Provenance provenance;
  // A device is never read to its end.
  AddReadable({"/dev/zero", "/no such file", "/proc/self/comm"}, &provenance);
  ASSERT_EQ(provenance.inputs.size(), 3u);
  EXPECT_EQ(provenance.inputs[0].sha256, "");
  EXPECT_EQ(provenance.inputs[1].sha256, "");
  EXPECT_EQ(provenance.inputs[1].bytes, 0u);
  EXPECT_EQ(provenance.inputs[2].sha256.size(), 64u);
}

}  // namespace
}  // namespace impactlab
