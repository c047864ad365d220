#include "pipelines/synth/detail/video_draw.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "reconstruction/pose/pose_recording.h"

namespace impactlab::pipelines {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr int kCorners = 48;   // of the outline of a marker
constexpr double kStep = 0.5;  // most a marker moves from instant to instant of an exposure [px]
constexpr int kMostInstants = 400;
constexpr int kImpactInstants = 24;        // least where the velocity jumps during the exposure
constexpr double kFlashGain = 1.5;         // light of the lamp over the light without it
constexpr double kVisibleRounding = 1e-5;  // of a share
constexpr double kFloorSide = 0.6;         // [m]

// What is left of the light of a layer below: share of `cover`.
void Paint(const Grid& cover, float value, Grid* light) {
  for (std::size_t i = 0; i < light->values.size(); ++i)
    light->values[i] += cover.values[i] * (value - light->values[i]);
}

}  // namespace

FrameDrawer::FrameDrawer(const VideoScene& scene, int camera, const Film& film)
    : scene_(&scene),
      settings_(&scene.cameras[static_cast<std::size_t>(camera)]),
      film_(&film),
      camera_(camera),
      viewer_(scene.rig.cameras[static_cast<std::size_t>(camera)], settings_->t_line, film),
      outline_(OutlineOf(scene.motion.body)) {
  const Camera& lens = viewer_.camera();
  picture_ = {0, 0, lens.width, lens.height};
  // Cells of at most 0.6 standard deviations of the blur, so that hardly anything of the outline is
  // folded back by sampling.
  sub_ = settings_->blur > 0 ? std::clamp(static_cast<int>(std::ceil(1.6 / settings_->blur)), 2, 4)
                             : 1;
  kernel_ = GaussianKernel(settings_->blur);
  fine_kernel_ = GaussianKernel(settings_->blur * sub_);
  reach_ = static_cast<int>(std::max(
      kernel_.size() - 1, (fine_kernel_.size() - 1 + sub_ - 1) / static_cast<std::size_t>(sub_)));
  Vector3d eyes = Vector3d::Zero();
  for (const RigCamera& item : scene.rig.cameras)
    eyes += item.X_WC.translation() / static_cast<double>(scene.rig.cameras.size());
  light_W_ =
      (0.7 * (eyes - scene.centre_W).normalized() - scene.motion.flight.gravity_W.normalized())
          .normalized();
  DrawStill();
}

void FrameDrawer::DrawStill() {
  const int w = picture_.x1, h = picture_.y1;
  still_raw_.Reset(picture_.Grown(reach_), 1, static_cast<float>(scene_->background));
  Grid cover;
  const auto draw = [&](const Polygon& polygon, double brightness) {
    cover_sum_.Reset(still_raw_.box, 1);
    cover_sum_.Add(polygon, 1);
    cover_sum_.Finish(&cover);
    Paint(cover, static_cast<float>(brightness), &still_raw_);
  };
  const Plane floor = CorrectedFloor(scene_->motion.floor, scene_->motion.error);
  const Vector3d n = floor.normal, u = n.unitOrthogonal(), v = n.cross(u);
  const Vector3d foot = scene_->centre_W + n * (floor.offset - n.dot(scene_->centre_W));
  Polygon outline;
  constexpr int kPieces = 24;
  const double half = kFloorSide / 2;
  bool whole = true;
  const double corners[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
  for (int side = 0; side < 4; ++side)
    for (int k = 0; k < kPieces; ++k) {
      const double s = static_cast<double>(k) / kPieces;
      const double a = (1 - s) * corners[side][0] + s * corners[(side + 1) % 4][0],
                   b = (1 - s) * corners[side][1] + s * corners[(side + 1) % 4][1];
      const auto q =
          Project(viewer_.camera(), viewer_.WorldInCamera() * (foot + half * (a * u + b * v)));
      if (q)
        outline.push_back(*q);
      else
        whole = false;
    }
  if (whole) draw(outline, scene_->floor_brightness);
  std::mt19937_64 random(Mix(Mix(scene_->seed, 0xc1u), static_cast<std::uint64_t>(camera_)));
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < scene_->clutter; ++i) {
    const Vector2d centre(unit(random) * w, unit(random) * h);
    const double a = 3 + 9 * unit(random), b = a * (0.4 + 0.6 * unit(random)),
                 turn = M_PI * unit(random);
    const double brightness = 120 + 120 * unit(random);
    const int sides = unit(random) < 0.5 ? 4 : 40;
    Polygon patch;
    for (int k = 0; k < sides; ++k) {
      const double angle = 2 * M_PI * k / sides;
      const Vector2d p(a * std::cos(angle), b * std::sin(angle));
      patch.emplace_back(centre.x() + std::cos(turn) * p.x() - std::sin(turn) * p.y(),
                         centre.y() + std::sin(turn) * p.x() + std::cos(turn) * p.y());
    }
    draw(patch, brightness);
  }
  Grid blurred = still_raw_;
  Blur(kernel_, &blurred, &scratch_);
  across_.resize(w);
  down_.resize(h);
  for (int x = 0; x < w; ++x)
    across_[x] = static_cast<float>(0.5 * scene_->light_gradient * ((2.0 * x + 1) / w - 1));
  for (int y = 0; y < h; ++y)
    down_[y] = static_cast<float>(1 + 0.5 * scene_->light_gradient * ((2.0 * y + 1) / h - 1));
  const std::size_t n_pixels = static_cast<std::size_t>(w) * h;
  still_.resize(n_pixels);
  still_light_.resize(n_pixels);
  still_noise_.resize(n_pixels);
  const float variance = static_cast<float>(settings_->noise * settings_->noise),
              gain = static_cast<float>(settings_->noise_gain);
  for (int y = 0; y < h; ++y) {
    const float* in = blurred.Row(y + reach_) + reach_;
    float* out = &still_[static_cast<std::size_t>(y) * w];
    for (int x = 0; x < w; ++x) out[x] = in[x] * (down_[y] + across_[x]);
    ToFixed(out, w, variance, gain, &still_light_[static_cast<std::size_t>(y) * w],
            &still_noise_[static_cast<std::size_t>(y) * w]);
  }
}

int FrameDrawer::Instants(double t_row0) const {
  const double half = settings_->exposure / 2;
  double longest = 0;
  const auto path = [&](const Vector3d& p) {
    const auto a = viewer_.See(p, t_row0 - half), b = viewer_.See(p, t_row0),
               c = viewer_.See(p, t_row0 + half);
    if (a && b && c) longest = std::max(longest, (b->q - a->q).norm() + (c->q - b->q).norm());
  };
  for (const SceneMarker& marker : scene_->markers) path(marker.p_BM);
  path(Vector3d::Zero());
  int n = static_cast<int>(std::ceil(longest / kStep));
  const double rows = viewer_.t_line() * picture_.y1;
  if (film_->Strikes(t_row0 - half + std::min(0.0, rows), t_row0 + half + std::max(0.0, rows)))
    n = std::max(kImpactInstants, 3 * n);
  return std::clamp(n, longest > 0.02 ? 2 : 1, kMostInstants);
}

void FrameDrawer::AddToSums(const std::vector<Patch>& body, double weight) {
  for (const Patch& patch : body) {
    cover_sum_.Add(patch.polygon, weight);
    if (!outline_.faces.empty()) light_sum_.Add(patch.polygon, weight * patch.shade);
  }
}

// Light of the static scene, the body and the screens before the lens, into `base_`.
void FrameDrawer::DrawBody(const std::vector<std::vector<Patch>>& bodies, const RoundShade& shade,
                           const std::vector<Polygon>& screens, const Box& raw) {
  const bool faces = !outline_.faces.empty();
  cover_sum_.Reset(raw, 1);
  if (faces) light_sum_.Reset(raw, 1);
  for (const std::vector<Patch>& body : bodies)
    AddToSums(body, 1.0 / static_cast<double>(bodies.size()));
  cover_sum_.Finish(&cover_);
  if (faces) light_sum_.Finish(&lit_);
  base_.Reset(raw, 1);
  const float body = static_cast<float>(scene_->body_brightness);
  for (int y = 0; y < base_.height; ++y) {
    const float* back =
        still_raw_.Row(y + raw.y0 - still_raw_.box.y0) + (raw.x0 - still_raw_.box.x0);
    const float* cover = cover_.Row(y);
    const float* lit = faces ? lit_.Row(y) : nullptr;
    float* out = base_.Row(y);
    for (int x = 0; x < base_.width; ++x) {
      out[x] = back[x];
      if (cover[x] > 1e-5f) {
        const float light = faces ? lit[x]
                                  : cover[x] * shade.At(static_cast<float>(raw.x0 + x),
                                                        static_cast<float>(raw.y0 + y));
        out[x] += body * light - cover[x] * back[x];
      }
    }
  }
  if (screens.empty()) return;
  cover_sum_.Reset(raw, 1);
  for (const Polygon& screen : screens) cover_sum_.Add(screen, 1);
  cover_sum_.Finish(&cover_);
  for (float& c : cover_.values) c = std::clamp(c, 0.0f, 1.0f);
  Paint(cover_, static_cast<float>(scene_->screen_brightness), &base_);
}

// Sets the finer grids of `box` up: the static scene, the tone of a round body, what screens and
// the rim of the picture leave to be seen.
void FrameDrawer::PrepareMarkerLayers(const Box& box, const RoundShade& shade,
                                      const std::vector<Polygon>& screens) {
  const bool faces = !outline_.faces.empty();
  const float body = static_cast<float>(scene_->body_brightness);
  back_.Reset(box, sub_);
  tone_.Reset(box, sub_);
  layer_.Reset(box, sub_);
  left_.Reset(box, sub_, 1);
  for (int y = 0; y < back_.height; ++y)
    for (int x = 0; x < back_.width; ++x) {
      const int px = box.x0 + x / sub_, py = box.y0 + y / sub_;
      back_.Row(y)[x] = still_raw_.Row(py - still_raw_.box.y0)[px - still_raw_.box.x0];
      if (!faces)
        tone_.Row(y)[x] = body * shade.At(static_cast<float>(box.x0 - 0.5 + (x + 0.5) / sub_),
                                          static_cast<float>(box.y0 - 0.5 + (y + 0.5) / sub_));
      if (px < 0 || py < 0 || px >= picture_.x1 || py >= picture_.y1) left_.Row(y)[x] = 0;
    }
  screen_.Reset(box, sub_);
  if (!screens.empty()) {
    cover_sum_.Reset(box, sub_);
    for (const Polygon& screen : screens) cover_sum_.Add(screen, 1);
    cover_sum_.Finish(&screen_);
    for (std::size_t i = 0; i < screen_.values.size(); ++i) {
      screen_.values[i] = std::clamp(screen_.values[i], 0.0f, 1.0f);
      left_.values[i] *= 1 - screen_.values[i];
    }
  }
}

// Adds what markers change of the light, drawn on a finer grid instant by instant, to the blurred
// `base_`.
void FrameDrawer::DrawMarkers(std::vector<Seen*> group,
                              const std::vector<std::vector<Patch>>& bodies,
                              const RoundShade& shade, const std::vector<Polygon>& screens,
                              const Box& inner) {
  Box box;
  for (const Seen* seen : group) box = Union(box, seen->bounds);
  // As far as the blur carries, and the rim that blurring leaves as it was.
  box = Intersection(box.Grown(2 * reach_), still_raw_.box);
  if (box.empty()) return;
  const bool faces = !outline_.faces.empty();
  const float body = static_cast<float>(scene_->body_brightness);
  const std::size_t n = bodies.size();
  std::sort(group.begin(), group.end(),
            [](const Seen* a, const Seen* b) { return a->distance > b->distance; });
  PrepareMarkerLayers(box, shade, screens);
  covers_.resize(std::max(covers_.size(), group.size()));
  for (std::size_t k = 0; k < n; ++k) {
    cover_sum_.Reset(box, sub_);
    if (faces) light_sum_.Reset(box, sub_);
    AddToSums(bodies[k], 1);
    cover_sum_.Finish(&cover_);
    if (faces) light_sum_.Finish(&lit_);
    under_ = back_;
    for (std::size_t i = 0; i < under_.values.size(); ++i) {
      const float cover = cover_.values[i];
      under_.values[i] +=
          (faces ? body * lit_.values[i] : tone_.values[i] * cover) - cover * back_.values[i];
    }
    fine_ = under_;
    for (std::size_t m = 0; m < group.size(); ++m) {
      cover_sum_.Reset(box, sub_);
      cover_sum_.Add(group[m]->at[k], 1);
      cover_sum_.Finish(&covers_[m]);
      Paint(covers_[m],
            static_cast<float>(
                scene_->markers[static_cast<std::size_t>(group[m]->marker)].brightness),
            &fine_);
    }
    const float share = 1.0f / static_cast<float>(n);
    for (std::size_t i = 0; i < fine_.values.size(); ++i)
      layer_.values[i] += share * (fine_.values[i] - under_.values[i]);
    // Nearest first: what each leaves for those behind.
    fine_ = left_;
    for (std::size_t m = group.size(); m-- > 0;) {
      double sum = 0;
      for (std::size_t i = 0; i < fine_.values.size(); ++i) {
        sum += fine_.values[i] * covers_[m].values[i];
        fine_.values[i] *= 1 - covers_[m].values[i];
      }
      group[m]->visible += sum / (sub_ * sub_);
    }
  }
  for (std::size_t i = 0; i < layer_.values.size(); ++i) layer_.values[i] *= 1 - screen_.values[i];
  Blur(fine_kernel_, &layer_, &scratch_);
  const float share = 1.0f / static_cast<float>(sub_ * sub_);
  const Box target = Intersection(Intersection(box, inner), base_.box);
  for (int py = target.y0; py < target.y1; ++py) {
    float* out = base_.Row(py - base_.box.y0) - base_.box.x0;
    for (int dy = 0; dy < sub_; ++dy) {
      const float* in =
          layer_.Row((py - box.y0) * sub_ + dy) - static_cast<std::ptrdiff_t>(box.x0) * sub_;
      for (int px = target.x0; px < target.x1; ++px)
        for (int dx = 0; dx < sub_; ++dx) out[px] += share * in[px * sub_ + dx];
    }
  }
}

void FrameDrawer::Draw(double t_row0, const std::vector<Polygon>& screens, std::uint64_t key,
                       GrayImage* image, std::vector<TruthPoint>* truth) {
  const int n = Instants(t_row0);
  std::vector<std::vector<Patch>> bodies(static_cast<std::size_t>(n));
  std::vector<Seen> all(scene_->markers.size());
  Box bounds;
  for (int k = 0; k < n; ++k) {
    const double t = t_row0 + settings_->exposure * ((k + 0.5) / n - 0.5);
    bodies[k] = OutlinesOf(viewer_, outline_, t, scene_->shading, light_W_);
    for (const Patch& patch : bodies[k]) bounds = Union(bounds, Bounds(patch.polygon));
    for (std::size_t m = 0; m < all.size(); ++m) {
      MarkerOutline outline = OutlineOf(viewer_, scene_->markers[m], t, kCorners);
      all[m].distance = outline.distance;
      all[m].bounds = Union(all[m].bounds, Bounds(outline.polygon));
      all[m].at.push_back(std::move(outline.polygon));
    }
  }
  for (const Polygon& screen : screens) bounds = Union(bounds, Bounds(screen));
  truth->clear();
  for (std::size_t m = 0; m < all.size(); ++m) {
    all[m].marker = static_cast<int>(m);
    bounds = Union(bounds, all[m].bounds);
    TruthPoint point;
    point.camera = camera_;
    point.marker = static_cast<int>(m);
    const auto sight = viewer_.See(scene_->markers[m].p_BM, t_row0);
    point.t = sight ? sight->t : t_row0;
    point.q = sight ? sight->q : Vector2d::Constant(std::numeric_limits<double>::quiet_NaN());
    Vector2d sum = Vector2d::Zero();
    for (const Polygon& polygon : all[m].at) {
      Vector2d centroid = Vector2d::Zero();
      const double area = Moments(polygon, &centroid);
      sum += area * centroid;
      all[m].area += area;
    }
    point.q_centroid = all[m].area > 0 ? Vector2d(sum / all[m].area) : point.q;
    truth->push_back(point);
  }
  const Box inner = Intersection(bounds.Grown(reach_), picture_);
  if (!inner.empty()) {
    const RoundShade shade(viewer_, outline_, t_row0, scene_->shading, light_W_);
    DrawBody(bodies, shade, screens, inner.Grown(reach_));
    Blur(kernel_, &base_, &scratch_);
    // Markers whose images may overlap are drawn together.
    std::vector<std::vector<Seen*>> groups;
    std::vector<Box> boxes;
    for (Seen& seen : all) {
      if (seen.bounds.empty()) continue;
      std::vector<Seen*> group{&seen};
      Box box = seen.bounds;
      for (std::size_t g = 0; g < groups.size();) {
        if (Intersection(boxes[g].Grown(1), box).empty()) {
          ++g;
          continue;
        }
        group.insert(group.end(), groups[g].begin(), groups[g].end());
        box = Union(box, boxes[g]);
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(g));
        boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(g));
        g = 0;
      }
      groups.push_back(std::move(group));
      boxes.push_back(box);
    }
    for (const std::vector<Seen*>& group : groups)
      DrawMarkers(group, bodies, shade, screens, inner);
  }
  for (std::size_t m = 0; m < all.size(); ++m) {
    // Turned away for a part of the exposure counts as hidden for it.
    const double present = static_cast<double>(std::count_if(
        all[m].at.begin(), all[m].at.end(), [](const Polygon& p) { return !p.empty(); }));
    const double visible = all[m].area > 0 ? all[m].visible / all[m].area * present / n : 0;
    // Areas are summed in single precision: shares within the rounding of 1 are 1, those within the
    // rounding of 0 are 0.
    (*truth)[m].visible = visible > 1 - kVisibleRounding ? 1
                          : visible < kVisibleRounding   ? 0
                                                         : visible;
  }
  ExposeFrame(t_row0, inner, key, image);
}

// Light to pixels.
void FrameDrawer::ExposeFrame(double t_row0, const Box& inner, std::uint64_t key,
                              GrayImage* image) {
  const int w = picture_.x1, h = picture_.y1;
  image->width = w;
  image->height = h;
  image->pixels.resize(static_cast<std::size_t>(w) * h);
  row_.resize(w);
  row_light_.resize(w);
  row_noise_.resize(w);
  const float variance = static_cast<float>(settings_->noise * settings_->noise),
              gain = static_cast<float>(settings_->noise_gain);
  for (int y = 0; y < h; ++y) {
    const std::size_t first = static_cast<std::size_t>(y) * w;
    const double t = t_row0 + y * viewer_.t_line(), half = settings_->exposure / 2;
    const double share =
        std::max(0.0, std::min(t + half, film_->flash_off) - std::max(t - half, film_->flash_on)) /
        settings_->exposure;
    const float lamp = static_cast<float>(1 + kFlashGain * share);
    const std::int16_t *light = &still_light_[first], *noise = &still_noise_[first];
    const bool drawn = !inner.empty() && y >= inner.y0 && y < inner.y1;
    if (share > 0 || drawn) {
      int from = 0, to = w;
      if (share > 0) {
        for (int x = 0; x < w; ++x) row_[x] = lamp * still_[first + x];
      } else {
        from = inner.x0;
        to = inner.x1;
      }
      if (drawn) {
        const float* base = base_.Row(y - base_.box.y0) - base_.box.x0;
        for (int x = inner.x0; x < inner.x1; ++x)
          row_[x] = lamp * base[x] * (down_[y] + across_[x]);
      }
      ToFixed(&row_[from], to - from, variance, gain, &row_light_[from], &row_noise_[from]);
      std::copy(light, light + from, row_light_.begin());
      std::copy(light + to, light + w, row_light_.begin() + to);
      std::copy(noise, noise + from, row_noise_.begin());
      std::copy(noise + to, noise + w, row_noise_.begin() + to);
      light = row_light_.data();
      noise = row_noise_.data();
    }
    Expose(light, noise, w, Mix(key, static_cast<std::uint64_t>(y)), &image->pixels[first]);
  }
}

}  // namespace impactlab::pipelines
