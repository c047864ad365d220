#include "tracking/tags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <random>

#include "data/error.h"

namespace impactlab {
namespace {

using ::testing::HasSubstr;

// Rows of cells without the border, as the makers of the dictionaries publish them: 1 is white.
struct Pattern {
  std::string dictionary;
  int id;
  std::vector<std::string> rows;
};
const Pattern kAruco0{"4X4_50", 0, {"1011", "0101", "0011", "0010"}};
const Pattern kAruco1{"4X4_50", 1, {"0000", "1111", "1001", "1010"}};
const Pattern kApril36h11{"APRILTAG_36h11", 0, {"110101", "011101", "011000", "101000", "010110", "000100"}};
const Pattern kApril16h5{"APRILTAG_16h5", 0, {"0010", "0011", "0001", "1011"}};
const Pattern kApril25h9{"APRILTAG_25h9", 0, {"10101", "01011", "10010", "11111", "10001"}};

// Maps the square [0, n]^2 of the tag with its border, n cells wide, into the picture.
using Map = Eigen::Matrix3d;
Eigen::Vector2d Apply(const Map& map, double x, double y) {
  const Eigen::Vector3d p = map * Eigen::Vector3d(x, y, 1);
  return p.head<2>() / p.z();
}
std::array<Eigen::Vector2d, 4> TrueCorners(const Pattern& pattern, const Map& map) {
  const double n = static_cast<double>(pattern.rows.size()) + 2;
  return {Apply(map, 0, 0), Apply(map, n, 0), Apply(map, n, n), Apply(map, 0, n)};
}

// Blurred by a box of a pixel and a Gaussian, shaded, with noise; `canvas` keeps what was drawn before.
class Canvas {
 public:
  Canvas(int width, int height) : width_(width), height_(height), light_(static_cast<std::size_t>(width) * height, 200.0) {}
  void Draw(const Pattern& pattern, const Map& map) {
    const Map back = map.inverse();
    const int n = static_cast<int>(pattern.rows.size()) + 2;
    Eigen::Vector2d low(1e9, 1e9), high(-1e9, -1e9);
    for (const auto& c : TrueCorners(pattern, map)) low = low.cwiseMin(c), high = high.cwiseMax(c);
    for (int y = std::max(0, static_cast<int>(low.y()) - 1); y <= std::min(height_ - 1, static_cast<int>(high.y()) + 1); ++y)
      for (int x = std::max(0, static_cast<int>(low.x()) - 1); x <= std::min(width_ - 1, static_cast<int>(high.x()) + 1); ++x) {
        // Much finer where an edge runs through the pixel.
        const auto dark = [&](double px, double py) {
          const Eigen::Vector2d p = Apply(back, px, py);
          if (p.x() < 0 || p.y() < 0 || p.x() >= n || p.y() >= n) return false;
          const int column = static_cast<int>(p.x()) - 1, row = static_cast<int>(p.y()) - 1;
          return column < 0 || row < 0 || column >= n - 2 || row >= n - 2 ||
                 pattern.rows[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] != '1';
        };
        const int corners = dark(x - 0.5, y - 0.5) + dark(x + 0.5, y - 0.5) + dark(x - 0.5, y + 0.5) + dark(x + 0.5, y + 0.5);
        const int fine = corners % 4 == 0 ? 1 : 20;
        double black = 0;
        for (int i = 0; i < fine; ++i)
          for (int j = 0; j < fine; ++j) black += dark(x - 0.5 + (i + 0.5) / fine, y - 0.5 + (j + 0.5) / fine);
        light_[static_cast<std::size_t>(y) * width_ + x] = 200 - 160 * black / (fine * fine);
      }
  }
  GrayImage Expose(double blur, double noise, double shading, std::mt19937_64& rng) const {
    std::vector<double> across = light_, both = light_;
    const int reach = static_cast<int>(std::ceil(4 * blur));
    std::vector<double> weight;
    double sum = 0;
    for (int k = -reach; k <= reach; ++k) weight.push_back(std::exp(-0.5 * k * k / (blur * blur)));
    for (const double w : weight) sum += w;
    const auto pass = [&](const std::vector<double>& from, std::vector<double>& to, int dx, int dy) {
      for (int y = 0; y < height_; ++y)
        for (int x = 0; x < width_; ++x) {
          double value = 0;
          for (int k = -reach; k <= reach; ++k)
            value +=
                weight[static_cast<std::size_t>(k + reach)] *
                from[static_cast<std::size_t>(std::clamp(y + k * dy, 0, height_ - 1)) * width_ + std::clamp(x + k * dx, 0, width_ - 1)];
          to[static_cast<std::size_t>(y) * width_ + x] = value / sum;
        }
    };
    pass(light_, across, 1, 0);
    pass(across, both, 0, 1);
    GrayImage image{width_, height_, std::vector<std::uint8_t>(light_.size())};
    std::normal_distribution<double> normal;
    for (int y = 0; y < height_; ++y)
      for (int x = 0; x < width_; ++x)
        image.At(x, y) = static_cast<std::uint8_t>(
            std::clamp(std::lround(both[static_cast<std::size_t>(y) * width_ + x] * (1 + shading * (x - y) / width_) + noise * normal(rng)),
                       0L, 255L));
    return image;
  }

 private:
  int width_, height_;
  std::vector<double> light_;
};

// Centre, size of a cell, turn, and a slant that makes parallels meet.
Map Place(const Pattern& pattern, double cx, double cy, double cell, double turn, double slant) {
  const double n = static_cast<double>(pattern.rows.size()) + 2;
  Map centre, rotate, project, shift;
  centre << 1, 0, -n / 2, 0, 1, -n / 2, 0, 0, 1;
  rotate << cell * std::cos(turn), -cell * std::sin(turn), 0, cell * std::sin(turn), cell * std::cos(turn), 0, 0, 0, 1;
  project << 1, 0, 0, 0, 1 - 3 * std::abs(slant), 0, slant / (n * cell), 0.5 * slant / (n * cell), 1;
  shift << 1, 0, cx, 0, 1, cy, 0, 0, 1;
  return shift * project * rotate * centre;
}

TEST(TagsTest, NamesAndCornersInTheTagsOwnOrder) {
  std::mt19937_64 rng(1);
  for (const Pattern& pattern : {kAruco0, kAruco1, kApril36h11, kApril25h9, kApril16h5}) {
    for (int turn = 0; turn < 8; ++turn) {
      Canvas canvas(120, 110);
      const Map map = Place(pattern, 60.3, 54.8, 8, turn * M_PI / 4 + 0.1, 0.1);
      canvas.Draw(pattern, map);
      const auto tags = DetectTags(canvas.Expose(0.7, 1, 0, rng), {.dictionary = pattern.dictionary});
      ASSERT_EQ(tags.size(), 1U) << pattern.dictionary << " " << turn;
      EXPECT_EQ(tags[0].id, pattern.id);
      const auto truth = TrueCorners(pattern, map);
      for (std::size_t k = 0; k < 4; ++k) EXPECT_LT((tags[0].corners[k] - truth[k]).norm(), 0.15) << pattern.dictionary << turn << k;
      const double half = static_cast<double>(pattern.rows.size()) / 2 + 1;
      EXPECT_LT((tags[0].q - Apply(map, half, half)).norm(), 0.1) << "image of the centre, not the mean of the corners";
    }
  }
}

// Errors against the covariance that is given with them; no bias.
TEST(TagsTest, CornersAreUnbiasedAndTheirCovarianceIsTrue) {
  std::mt19937_64 rng(2);
  std::uniform_real_distribution<double> uniform(-1, 1);
  struct Case {
    Pattern pattern;
    double cell, blur, noise;
  };
  for (const Case& c : {Case{kAruco0, 5, 0.7, 3}, Case{kApril36h11, 6, 1.0, 6}, Case{kAruco1, 12, 0.8, 2}}) {
    double nees = 0, nees_centre = 0;
    int n = 0, missed = 0;
    Eigen::Vector2d bias = Eigen::Vector2d::Zero(), outward = Eigen::Vector2d::Zero();
    double variance = 0;
    const int trials = c.cell > 10 ? 40 : 80;
    for (int trial = 0; trial < trials; ++trial) {
      const int side = static_cast<int>(1.7 * c.cell * (static_cast<double>(c.pattern.rows.size()) + 2));
      Canvas canvas(side, side);
      const Map map =
          Place(c.pattern, side / 2.0 + uniform(rng), side / 2.0 + uniform(rng), c.cell, M_PI * uniform(rng), 0.15 * uniform(rng));
      canvas.Draw(c.pattern, map);
      const auto tags = DetectTags(canvas.Expose(c.blur, c.noise, 0.2 * uniform(rng), rng), {.dictionary = c.pattern.dictionary});
      if (tags.empty()) {
        ++missed;
        continue;
      }
      ASSERT_EQ(tags.size(), 1U) << trial;
      ASSERT_EQ(tags[0].id, c.pattern.id);
      const auto truth = TrueCorners(c.pattern, map);
      const double half = static_cast<double>(c.pattern.rows.size()) / 2 + 1;
      const Eigen::Vector2d centre = Apply(map, half, half);
      for (std::size_t k = 0; k < 4; ++k) {
        const Eigen::Vector2d error = tags[0].corners[k] - truth[k];
        nees += error.dot(tags[0].cov[k].inverse() * error);
        bias += error;
        const Eigen::Vector2d out = (truth[k] - centre).normalized();
        outward += Eigen::Vector2d(error.dot(out), error.x() * out.y() - error.y() * out.x());
        variance += tags[0].cov[k].trace() / 2;
        ++n;
      }
      const Eigen::Vector2d error = tags[0].q - centre;
      nees_centre += error.dot(tags[0].cov_q.inverse() * error);
    }
    EXPECT_LE(missed, trials / 20);
    const double sd = std::sqrt(variance / n);
    // Chi-square of two where the covariance is exact; renderings differ by what the model of the edge leaves out.
    EXPECT_GT(nees / n, 1.3) << "cell " << c.cell;
    EXPECT_LT(nees / n, 2.9) << "cell " << c.cell;
    EXPECT_GT(nees_centre / (n / 4), 1.2) << "cell " << c.cell;
    EXPECT_LT(nees_centre / (n / 4), 3.0) << "cell " << c.cell;
    EXPECT_LT((bias / n).norm(), 5 * sd / std::sqrt(n / 2.0));
    EXPECT_LT((outward / n).norm(), std::max(0.02, 5 * sd / std::sqrt(n / 2.0)));
  }
}

TEST(TagsTest, SeveralTagsClutterAndNothing) {
  std::mt19937_64 rng(3);
  Canvas canvas(320, 200);
  canvas.Draw(kAruco1, Place(kAruco1, 60, 60, 7, 0.3, 0));
  canvas.Draw(kAruco0, Place(kAruco0, 160, 120, 9, 1.3, 0.1));
  canvas.Draw(kAruco0, Place(kAruco0, 260, 90, 6, -2, 0));
  canvas.Draw(Pattern{"", 0, {"0000", "0000", "0000", "0000"}}, Place(kAruco0, 60, 160, 7, 0.2, 0));  // a black square
  const GrayImage image = canvas.Expose(0.7, 2, 0.1, rng);
  const auto tags = DetectTags(image);
  ASSERT_EQ(tags.size(), 3U);
  EXPECT_EQ(tags[0].id, 0);
  EXPECT_EQ(tags[1].id, 0) << "the same tag twice is for the caller to judge";
  EXPECT_EQ(tags[2].id, 1);
  EXPECT_TRUE(DetectTags(image, {.dictionary = "APRILTAG_36h11"}).empty());
  EXPECT_TRUE(DetectTags(GrayImage{64, 64, std::vector<std::uint8_t>(64 * 64, 90)}).empty());
  GrayImage noise{200, 200, std::vector<std::uint8_t>(200 * 200)};
  for (auto& v : noise.pixels) v = static_cast<std::uint8_t>(rng() & 0xFF);
  EXPECT_TRUE(DetectTags(noise).empty());
  EXPECT_TRUE(DetectTags(GrayImage{}).empty());
  EXPECT_TRUE(DetectTags(GrayImage{3, 2, std::vector<std::uint8_t>(6)}).empty());
}

TEST(TagsTest, ATagAtTheBorderOrWithoutMarginIsLessCertain) {
  std::mt19937_64 rng(4);
  // White margin narrower than the band the edge is fitted in, dark beyond it.
  Canvas canvas(160, 160);
  Pattern frame{"", 0, std::vector<std::string>(30, std::string(30, '0'))};
  for (int k = 3; k < 27; ++k)
    for (int j = 3; j < 27; ++j) frame.rows[static_cast<std::size_t>(k)][static_cast<std::size_t>(j)] = '1';
  canvas.Draw(frame, Place(frame, 80, 80, 4.125, 0.2, 0));
  canvas.Draw(kAruco0, Place(kAruco0, 80, 80, 15.5, 0.2, 0));
  const auto tags = DetectTags(canvas.Expose(0.7, 2, 0, rng));
  ASSERT_EQ(tags.size(), 1U);
  const auto truth = TrueCorners(kAruco0, Place(kAruco0, 80, 80, 15.5, 0.2, 0));
  for (std::size_t k = 0; k < 4; ++k) {
    const Eigen::Vector2d error = tags[0].corners[k] - truth[k];
    EXPECT_LT(error.dot(tags[0].cov[k].inverse() * error), 18) << k;
  }
}

TEST(TagsTest, UnknownDictionaryNamesTheNearest) {
  try {
    DetectTags(GrayImage{}, {.dictionary = "APRILTAG_36H11"});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("dictionary: found 'APRILTAG_36H11', nearest is APRILTAG_36h11"));
  }
}

}  // namespace
}  // namespace impactlab
