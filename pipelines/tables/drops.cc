// drops.csv, layout.csv and the files of poses.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "data/files/output_folder.h"
#include "data/files/table.h"
#include "pipelines/tables/tables.h"

namespace impactlab {
namespace {

// What one camera gave to one fit.
struct Share {
  int points = 0, outliers = 0;
  double squares = 0;  // [px^2]
};

std::vector<Share> SharesOf(const ImpactBundle& drop, const MarkerTracks& tracks) {
  std::vector<Share> shares(tracks.cameras.size());
  for (const DropResidual& r : drop.residuals) {
    Share& share =
        shares[static_cast<std::size_t>(tracks.points[static_cast<std::size_t>(r.point)].camera)];
    if (r.used) {
      ++share.points;
      share.squares += r.r.squaredNorm();
    } else {
      ++share.outliers;
    }
  }
  return shares;
}

}  // namespace

void WriteLayout(const std::filesystem::path& path, std::span<const std::string> names,
                 const LearnedLayout& layout) {
  CsvWriter out(path, {"marker", "impacts", "x_m", "y_m", "z_m", "sd_x_m", "sd_y_m", "sd_z_m",
                       "given_x_m", "given_y_m", "given_z_m", "given_sd_m"});
  for (std::size_t m = 0; m < layout.markers.size(); ++m) {
    out.Text(m < names.size() ? names[m] : fmt::format("m{}", m + 1)).Integer(layout.impacts);
    for (const Eigen::Vector3d& p : {layout.markers[m].p_BM, layout.sd[m], layout.given[m]})
      out.Number(p.x()).Number(p.y()).Number(p.z());
    out.Number(layout.prior_sd).EndRow();
  }
  out.Commit();
}

void WriteDrops(const std::filesystem::path& path, std::span<const MarkerTracks* const> recordings,
                std::span<const std::vector<ImpactBundle>> drops) {
  CsvWriter out(path, {"recording", "impact", "camera", "usable", "reason", "points", "outliers",
                       "rms_px", "offset_s", "sd_offset_s", "chi_square", "dof", "noise_scale",
                       "spin_axis_observable", "axis_x", "axis_y", "axis_z"});
  for (std::size_t i = 0; i < drops.size(); ++i) {
    const MarkerTracks& tracks = *recordings[i];
    for (const ImpactBundle& drop : drops[i]) {
      const std::vector<Share> shares = SharesOf(drop, tracks);
      for (std::size_t c = 0; c < shares.size(); ++c) {
        const auto of_camera = [&](const std::vector<double>& values) {
          return c < values.size() ? values[c] : std::nan("");
        };
        const Share& share = shares[c];
        out.Text(tracks.recording)
            .Integer(drop.event.impact)
            .Text(tracks.cameras[c])
            .Integer(drop.usable)
            .Text(drop.reason);
        out.Integer(share.points).Integer(share.outliers);
        // Of one coordinate.
        out.Number(share.points > 0 ? std::sqrt(share.squares / (2 * share.points)) : std::nan(""));
        out.Number(of_camera(drop.offset)).Number(of_camera(drop.sd_offset));
        out.Number(drop.chi_square)
            .Integer(drop.dof)
            .Number(drop.noise_scale)
            .Integer(drop.observable);
        out.Number(drop.axis_B.x()).Number(drop.axis_B.y()).Number(drop.axis_B.z()).EndRow();
      }
    }
  }
  out.Commit();
}

void WritePoses(const std::filesystem::path& folder,
                std::span<const PoseRecording* const> recordings) {
  // What an earlier run left of other recordings would be taken for this one's.
  std::error_code absent;
  std::vector<std::filesystem::path> gone;
  for (const auto& entry : std::filesystem::directory_iterator(folder, absent)) {
    const bool ours =
        std::any_of(recordings.begin(), recordings.end(), [&](const PoseRecording* r) {
          return !r->t.empty() && entry.path().filename() == r->name + ".csv";
        });
    if (!ours && entry.path().extension() == ".csv") gone.push_back(entry.path());
  }
  for (const std::filesystem::path& file : gone) RemoveOutput(file);
  for (const PoseRecording* one : recordings) {
    const PoseRecording& recording = *one;
    if (recording.t.empty()) continue;
    CsvWriter out(folder / (recording.name + ".csv"),
                  {"t_s", "x_m", "y_m", "z_m", "qw", "qx", "qy", "qz"});
    Eigen::Quaterniond last = Eigen::Quaterniond::Identity();
    for (std::size_t k = 0; k < recording.t.size(); ++k) {
      const Eigen::Vector3d p = recording.X_WB[k].translation();
      Eigen::Quaterniond q(recording.X_WB[k].linear());
      // of the two quaternions of an attitude the one that follows on
      if (q.dot(last) < 0) q.coeffs() = -q.coeffs();
      last = q;
      out.Number(recording.t[k]);
      for (const double value : {p.x(), p.y(), p.z(), q.w(), q.x(), q.y(), q.z()})
        out.Number(value);
      out.EndRow();
    }
    out.Commit();
  }
}

}  // namespace impactlab
