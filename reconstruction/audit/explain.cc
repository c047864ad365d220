// Which frame errors explain all evidence, and which of them are significant.
//
// Every subset of errors is tried; the one with the least misfit, charged for each error what a
// deviation at the stated significance is worth, is the explanation. An error in it is named when
// (a) no other single error in its place does nearly as well and (b) two independent sources agree
// on it: two that measure it, or one that measures it and another that rules out every rival
// explanation of what the first one saw.

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "data/statistics/statistics.h"
#include "reconstruction/audit/detail/evidence.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kSecondSource = 2.5;  // standard deviations at which a second source counts
// an explanation this much worse in chi-square is no rival: three standard deviations
constexpr double kRivalMargin = 9;
// sources that differ by less than this share of the error agree on the cause, if not on its last
// digit
constexpr double kSameSize = 0.25;
constexpr double kBlind = 20;  // natural units: an sd above this gives no information
constexpr double kTiny = 1e-9;

using Blocks = std::vector<bool>;

MatrixXd Pick(const MatrixXd& M, const std::vector<int>& rows, const std::vector<int>& columns) {
  MatrixXd out(rows.size(), columns.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) out(i, j) = M(rows[i], columns[j]);
  }
  return out;
}

VectorXd Pick(const VectorXd& v, const std::vector<int>& rows) {
  VectorXd out(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) out(i) = v(rows[i]);
  return out;
}

VectorXd Spread(const VectorXd& v, const std::vector<int>& rows, int size) {
  VectorXd out = VectorXd::Zero(size);
  for (std::size_t i = 0; i < rows.size(); ++i) out(rows[i]) = v(i);
  return out;
}

struct Own {
  VectorXd value;  // of the block, in natural units
  MatrixXd cov;
  VectorXd all;  // all parameters at which the source is happiest
  bool determined = false;
};

class Judge {
 public:
  Judge(const std::vector<Source>& sources, const ErrorLayout& layout, const AuditOptions& options)
      : layout_(layout) {
    const double sigma = std::clamp(options.significance, 0.5, 7.0);
    tail_ = 2 * NormalCdf(-sigma);
    for (const Source& source : sources) {
      if (!source.usable) continue;
      const MatrixXd U = layout.unit.asDiagonal();
      info_.push_back(U * source.information * U);
      value_.push_back(source.value.cwiseQuotient(layout.unit));
      names_.push_back(source.name);
    }
  }

  int count() const { return info_.size(); }
  const std::string& name(int source) const { return names_[source]; }
  double Limit(int freedoms) const { return ChiSquareQuantile(1 - tail_, freedoms); }
  double Charge(int block) const { return Limit(layout_.blocks[block].size()); }

  std::vector<int> Free(const Blocks& on) const {
    std::vector<int> free = {layout_.inertia, layout_.contact_time, layout_.contact_depth};
    for (std::size_t b = 0; b < on.size(); ++b) {
      if (on[b]) free.insert(free.end(), layout_.blocks[b].begin(), layout_.blocks[b].end());
    }
    return free;
  }

  // Minimises the misfit of all sources over the free parameters; the others are zero.
  VectorXd Solve(const Blocks& on, MatrixXd* cov = nullptr) const {
    const std::vector<int> free = Free(on);
    MatrixXd N = MatrixXd::Zero(layout_.size, layout_.size);
    VectorXd b = VectorXd::Zero(layout_.size);
    for (int j = 0; j < count(); ++j) {
      N += info_[j];
      b += info_[j] * value_[j];
    }
    MatrixXd A = Pick(N, free, free);
    A.diagonal().array() += kTiny;
    const Eigen::LDLT<MatrixXd> solver(A);
    if (cov != nullptr) {
      const MatrixXd C = solver.solve(MatrixXd::Identity(free.size(), free.size()));
      *cov = MatrixXd::Zero(layout_.size, layout_.size);
      for (std::size_t i = 0; i < free.size(); ++i) {
        for (std::size_t j = 0; j < free.size(); ++j) (*cov)(free[i], free[j]) = C(i, j);
      }
    }
    return Spread(solver.solve(Pick(b, free)), free, layout_.size);
  }

  double Misfit(int source, const VectorXd& p) const {
    const VectorXd d = p - value_[source];
    return std::max(0.0, d.dot(info_[source] * d));
  }

  double Score(const Blocks& on) const {
    const VectorXd p = Solve(on);
    double score = 0;
    for (int j = 0; j < count(); ++j) score += Misfit(j, p);
    for (std::size_t b = 0; b < on.size(); ++b) score += on[b] ? Charge(b) : 0;
    return score;
  }

  // What one source says of a block when it takes the other errors of the explanation, but not this
  // one, from the other sources.
  Own OwnEstimate(int source, int block, Blocks on) const {
    on[block] = true;
    const std::vector<int> free = Free(on);
    const std::vector<int>& mine = layout_.blocks[block];
    std::vector<int> rest;
    for (const int i : free) {
      if (std::find(mine.begin(), mine.end(), i) == mine.end()) rest.push_back(i);
    }
    MatrixXd N = MatrixXd::Zero(layout_.size, layout_.size);
    VectorXd b = VectorXd::Zero(layout_.size);
    for (int k = 0; k < count(); ++k) {
      if (k == source) continue;
      N += info_[k];
      b += info_[k] * value_[k];
    }
    MatrixXd N_mine = Pick(N, mine, mine);
    N_mine.diagonal().array() += kTiny;
    const MatrixXd cross = Pick(N, mine, rest), gain = N_mine.ldlt().solve(cross).transpose();
    const MatrixXd N_rest = Pick(N, rest, rest) - gain * cross;
    const VectorXd b_rest = Pick(b, rest) - gain * Pick(b, mine);
    MatrixXd total = info_[source];
    VectorXd right = info_[source] * value_[source];
    for (std::size_t i = 0; i < rest.size(); ++i) {
      right(rest[i]) += b_rest(i);
      for (std::size_t k = 0; k < rest.size(); ++k) total(rest[i], rest[k]) += N_rest(i, k);
    }
    MatrixXd A = Pick(total, free, free);
    A.diagonal().array() += 1 / (kUndetermined * kUndetermined);
    const Eigen::LDLT<MatrixXd> solver(A);
    const MatrixXd C = solver.solve(MatrixXd::Identity(free.size(), free.size()));
    Own own;
    own.all = Spread(solver.solve(Pick(right, free)), free, layout_.size);
    own.value = Pick(own.all, mine);
    own.cov.resize(mine.size(), mine.size());
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const auto at = std::find(free.begin(), free.end(), mine[i]) - free.begin();
      for (std::size_t k = 0; k < mine.size(); ++k)
        own.cov(i, k) = C(at, std::find(free.begin(), free.end(), mine[k]) - free.begin());
    }
    own.determined = own.cov.diagonal().minCoeff() < kBlind * kBlind;
    return own;
  }

  // Chi-square of a block's estimate against none.
  static double Significance(const Own& own) {
    return own.determined ? own.value.dot(own.cov.ldlt().solve(own.value)) : 0;
  }
  bool Agree(const Own& a, const Own& b) const {
    const VectorXd d = a.value - b.value;
    const MatrixXd C = a.cov + b.cov;
    if (d.dot(C.ldlt().solve(d)) <= Limit(d.size())) return true;
    if (d.norm() <= kSameSize * std::max(a.value.norm(), b.value.norm())) return true;
    // Of several components the one that both see best decides.
    int seen = 0;
    double best = -1;
    for (int i = 0; i < d.size(); ++i) {
      const double z = std::min(std::abs(a.value(i)) / std::sqrt(a.cov(i, i)),
                                std::abs(b.value(i)) / std::sqrt(b.cov(i, i)));
      if (z > best) {
        best = z;
        seen = i;
      }
    }
    const double both = std::max(std::abs(a.value(seen)), std::abs(b.value(seen)));
    return best * best > Limit(1) &&
           (d(seen) * d(seen) <= Limit(1) * C(seen, seen) || std::abs(d(seen)) <= kSameSize * both);
  }

  // A source that could see what another one claims, and sees something else.
  bool Contradicts(const Own& claim, const Own& view) const {
    if (!view.determined || Agree(claim, view)) return false;
    // Blind in the direction of the claim: no contradiction.
    return claim.value.dot(view.cov.ldlt().solve(claim.value)) > Limit(claim.value.size());
  }

  // Sources that confirm a block of the explanation; fewer than two: not confirmed.
  std::vector<int> Confirm(int block, const Blocks& on) const {
    const int freedoms = layout_.blocks[block].size();
    std::vector<Own> own;
    own.reserve(static_cast<std::size_t>(count()));
    for (int j = 0; j < count(); ++j) own.push_back(OwnEstimate(j, block, on));
    const double second = ChiSquareQuantile(1 - 2 * NormalCdf(-kSecondSource), freedoms);
    std::vector<int> best;
    for (int j = 0; j < count(); ++j) {
      if (Significance(own[j]) < Limit(freedoms)) continue;
      std::vector<int> group = {j};
      for (int k = 0; k < count(); ++k) {
        if (k != j && Significance(own[k]) >= second && Agree(own[j], own[k])) group.push_back(k);
      }
      int against = 0;
      for (int k = 0; k < count(); ++k) against += k != j && Contradicts(own[j], own[k]) ? 1 : 0;
      if (against >= static_cast<int>(group.size())) continue;
      if (group.size() > best.size()) best = group;
      if (against > 0 && group.size() == 1) best.clear();
    }
    if (best.size() != 1) {
      std::sort(best.begin(), best.end());
      return best;
    }
    // One confirming source: a second source may still rule out every rival.
    const int witness = best[0];
    const double explained = Misfit(witness, own[witness].all);
    int rivals = 0, excluder = -1;
    for (std::size_t rival = 0; rival < layout_.blocks.size(); ++rival) {
      if (on[rival] || static_cast<int>(rival) == block) continue;
      Blocks other = on;
      other[block] = false;
      const Own claim = OwnEstimate(witness, rival, other);
      if (!claim.determined || Misfit(witness, claim.all) > explained + kRivalMargin) continue;
      ++rivals;
      int against = -1;
      for (int k = 0; k < count(); ++k) {
        if (k == witness) continue;
        const Own view = OwnEstimate(k, rival, other);
        if (view.determined && !Agree(claim, view)) against = k;
      }
      if (against < 0) return best;
      excluder = against;
    }
    if (rivals > 0) best.push_back(excluder);
    std::sort(best.begin(), best.end());
    return best;
  }

  // Errors that could stand in a block's place.
  std::vector<int> Rivals(int block, const Blocks& on) const {
    const double score = Score(on);
    std::vector<int> rivals;
    for (std::size_t b = 0; b < on.size(); ++b) {
      if (on[b]) continue;
      Blocks other = on;
      other[block] = false;
      other[b] = true;
      if (Score(other) < score + kRivalMargin) rivals.push_back(b);
    }
    return rivals;
  }

 private:
  const ErrorLayout& layout_;
  double tail_;
  std::vector<MatrixXd> info_;
  std::vector<VectorXd> value_;
  std::vector<std::string> names_;
};

Estimate InUnits(const ErrorLayout& layout, int parameter, double value, double sd) {
  value = value * layout.unit(parameter) + (parameter == layout.corner ? layout.corner_given : 0);
  sd *= layout.unit(parameter);
  if (parameter == layout.scale || parameter == layout.clock) {
    value = std::exp(value);
    sd *= value;
  }
  return MakeEstimate(value, sd);
}

std::string Words(const ErrorLayout& layout, int parameter, const Estimate& estimate) {
  const bool ratio = parameter == layout.scale || parameter == layout.clock;
  const bool length = !ratio && layout.unit(parameter) == 1e-3;
  return PlusMinus(estimate, length ? 1e3 : 1) + (ratio ? "" : length ? " mm" : " rad");
}

std::string Join(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// Errors (blocks of parameters) that explain the sources best, by the score of the judge.
Blocks BestBlocks(const Judge& judge, int n_blocks) {
  Blocks best(n_blocks, false);
  double least = judge.Score(best);
  for (int code = 1; judge.count() > 0 && code < 1 << n_blocks; ++code) {
    Blocks on(n_blocks);
    for (int b = 0; b < n_blocks; ++b) on[b] = (code >> b) & 1;
    const double score = judge.Score(on);
    if (score < least) {
      least = score;
      best = on;
    }
  }
  return best;
}

// Sources that confirm every error of an explanation, and errors that would explain as much.
struct Confirmation {
  std::vector<std::vector<int>> confirmed, rivals;
  bool Named(int b) const { return confirmed[b].size() >= 2 && rivals[b].empty(); }
};

int ConfirmBlocks(const Judge& judge, const Blocks& on, Confirmation* out) {
  const std::size_t n = on.size();
  out->confirmed.assign(n, {});
  out->rivals.assign(n, {});
  int named = 0;
  for (std::size_t b = 0; b < n; ++b) {
    if (!on[b]) continue;
    out->confirmed[b] = judge.Confirm(static_cast<int>(b), on);
    out->rivals[b] = judge.Rivals(static_cast<int>(b), on);
    named += out->Named(static_cast<int>(b));
  }
  return named;
}

// An error that only reconciles two sources is dropped where these then agree, if roughly, on
// another.
Blocks DropReconcilers(const Judge& judge, const Blocks& best, Confirmation* confirmation) {
  Blocks blocks = best;
  int named = ConfirmBlocks(judge, best, confirmation);
  for (int b = 0; b < static_cast<int>(blocks.size()); ++b) {
    if (!blocks[b] || confirmation->Named(b)) continue;
    Blocks fewer = blocks;
    fewer[b] = false;
    const int then = ConfirmBlocks(judge, fewer, confirmation);
    if (then > named) {
      blocks = fewer;
      named = then;
      b = -1;
    } else {
      ConfirmBlocks(judge, blocks, confirmation);
    }
  }
  return blocks;
}

// What is said of one error (block) of the explanation.
class BlockFindings {
 public:
  BlockFindings(const Judge& judge, const ErrorLayout& layout, const AuditOptions& options,
                const std::vector<std::vector<Own>>& own, const VectorXd& p, const MatrixXd& cov)
      : judge_(judge), layout_(layout), options_(options), own_(own), p_(p), cov_(cov) {}

  void Add(int b, bool kept, const Confirmation& confirmation, Explanation* explanation) const {
    const std::vector<int>& block = layout_.blocks[b];
    std::vector<double> strength;
    strength.reserve(block.size());
    for (const int i : block)
      strength.push_back(cov_(i, i) > 0 ? std::abs(p_(i)) / std::sqrt(cov_(i, i)) : 0);
    const auto strongest = static_cast<std::size_t>(
        std::max_element(strength.begin(), strength.end()) - strength.begin());
    const double birge = BirgeRatio(b);
    if (!kept || !confirmation.Named(b)) {
      AddUndecided(b, static_cast<int>(strongest), kept, birge, confirmation.rivals[b],
                   explanation);
      return;
    }
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (i != strongest && strength[i] < options_.significance * birge) continue;
      AddNamed(b, static_cast<int>(i), birge, confirmation.confirmed[b], explanation);
    }
  }

 private:
  // Sources that differ by more than they should widen the combined estimate (Birge 1932).
  double BirgeRatio(int b) const {
    double chi2 = 0;
    int sources_used = 0;
    const VectorXd mean = Pick(p_, layout_.blocks[b]);
    for (int j = 0; j < judge_.count(); ++j) {
      if (!own_[j][b].determined) continue;
      const VectorXd d = own_[j][b].value - mean;
      chi2 += d.dot(own_[j][b].cov.ldlt().solve(d)) / layout_.blocks[b].size();
      ++sources_used;
    }
    return sources_used > 1 ? std::sqrt(std::max(1.0, chi2 / (sources_used - 1))) : 1;
  }

  // What every source says of parameter `index` of a block.
  std::string SourcesText(int b, int index) const {
    const int parameter = layout_.blocks[b][index];
    std::vector<std::string> words;
    for (int j = 0; j < judge_.count(); ++j) {
      const double sd = std::sqrt(std::max(0.0, own_[j][b].cov(index, index)));
      if (own_[j][b].determined && sd < kBlind) {
        words.push_back(
            judge_.name(j) + " " +
            Words(layout_, parameter, InUnits(layout_, parameter, own_[j][b].value(index), sd)));
      }
    }
    return Join(words, ", ");
  }

  void AddNamed(int b, int index, double birge, const std::vector<int>& confirmed,
                Explanation* explanation) const {
    const int parameter = layout_.blocks[b][index];
    std::vector<std::string> witnesses;
    witnesses.reserve(confirmed.size());
    for (const int j : confirmed) witnesses.push_back(judge_.name(j));
    Finding finding;
    finding.parameter = layout_.names[parameter];
    finding.named = parameter != layout_.corner ||
                    p_(parameter) * layout_.unit(parameter) + layout_.corner_given > 0;
    finding.estimate =
        InUnits(layout_, parameter, p_(parameter), birge * std::sqrt(cov_(parameter, parameter)));
    finding.text = fmt::format("{}: {} ({}); {} agree", finding.parameter,
                               Words(layout_, parameter, finding.estimate), SourcesText(b, index),
                               Join(witnesses, " and "));
    if (!finding.named)
      finding.text += "; corners stick out of the outline, which no radius describes";
    explanation->findings.push_back(finding);
    if (!finding.named) return;
    explanation->named(parameter) = p_(parameter) * layout_.unit(parameter);
    explanation->sd(parameter) =
        finding.estimate.sd /
        (parameter == layout_.scale || parameter == layout_.clock ? finding.estimate.value : 1);
  }

  void AddUndecided(int b, int index, bool kept, double birge, const std::vector<int>& rivals,
                    Explanation* explanation) const {
    const int parameter = layout_.blocks[b][index];
    Finding finding;
    finding.parameter = layout_.names[parameter];
    finding.estimate = kept ? InUnits(layout_, parameter, p_(parameter),
                                      birge * std::sqrt(cov_(parameter, parameter)))
                            : Undetermined("left out of the explanation");
    if (!rivals.empty()) {
      std::vector<std::string> names = {finding.parameter};
      for (const int r : rivals) names.push_back(layout_.names[layout_.blocks[r][0]]);
      std::sort(names.begin(), names.end());
      finding.parameter = Join(names, "|");
      finding.text =
          fmt::format("{}: the evidence cannot tell these apart ({} if it is {})",
                      finding.parameter, SourcesText(b, index), layout_.names[parameter]);
    } else if (kept) {
      finding.text = fmt::format("{}: {}, not confirmed by a second source", finding.parameter,
                                 SourcesText(b, index));
    } else {
      finding.text = fmt::format("{}: only the difference between sources hints at it ({})",
                                 finding.parameter, SourcesText(b, index));
    }
    const auto same = [&](const Finding& f) { return f.parameter == finding.parameter; };
    if (std::none_of(explanation->findings.begin(), explanation->findings.end(), same))
      explanation->findings.push_back(finding);
  }

  const Judge& judge_;
  const ErrorLayout& layout_;
  const AuditOptions& options_;
  const std::vector<std::vector<Own>>& own_;
  const VectorXd& p_;
  const MatrixXd& cov_;
};

}  // namespace

Explanation Explain(const std::vector<Source>& sources, const ErrorLayout& layout,
                    const AuditOptions& options) {
  const Judge judge(sources, layout, options);
  const int n_blocks = layout.blocks.size();
  Explanation explanation;
  explanation.sources = sources;
  explanation.named = explanation.sd = VectorXd::Zero(layout.size);
  const Blocks best = BestBlocks(judge, n_blocks);
  Confirmation confirmation;
  const Blocks final_blocks = DropReconcilers(judge, best, &confirmation);

  // Evidence: every source on every error that it constrains, the other errors of the explanation
  // taken from the other sources.
  std::vector<std::vector<Own>> own(judge.count(), std::vector<Own>(n_blocks));
  for (int j = 0; j < judge.count(); ++j) {
    for (int b = 0; b < n_blocks; ++b) {
      own[j][b] = judge.OwnEstimate(j, b, final_blocks);
      for (std::size_t i = 0; i < layout.blocks[b].size(); ++i) {
        const double sd = std::sqrt(std::max(0.0, own[j][b].cov(i, i)));
        if (!(sd < kBlind)) continue;
        const int parameter = layout.blocks[b][i];
        explanation.evidence.push_back({layout.names[parameter], judge.name(j),
                                        InUnits(layout, parameter, own[j][b].value(i), sd)});
      }
    }
  }

  MatrixXd cov;
  const VectorXd p = judge.Solve(final_blocks, &cov);
  explanation.best = VectorXd::Zero(layout.size);
  for (int b = 0; b < n_blocks; ++b) {
    for (const int i : layout.blocks[b])
      explanation.best(i) = final_blocks[b] ? p(i) * layout.unit(i) : 0;
  }
  explanation.best(layout.inertia) = p(layout.inertia) * layout.unit(layout.inertia);
  explanation.sd(layout.inertia) =
      std::sqrt(cov(layout.inertia, layout.inertia)) * layout.unit(layout.inertia);
  const BlockFindings findings(judge, layout, options, own, p, cov);
  for (int b = 0; b < n_blocks; ++b)
    if (best[b]) findings.Add(b, final_blocks[b], confirmation, &explanation);
  return explanation;
}

}  // namespace impactlab::reconstruction
