#pragma once
// Campaigns of a true law, event by event, and how often what judges them raises a false alarm.

#include <algorithm>
#include <cmath>
#include <random>

#include "pipelines/study/diagnostics.h"
#include "tests/impact/identify_twin.h"

namespace impactlab::test {

struct DiagnosticAlarms {
  int campaigns = 0;
  // of one unseen event-quantity of each campaign without scatter
  int verdicts = 0, discrepant = 0;
  // campaigns of 40 with scatter in which anything was found
  int area = 0, edges = 0, drift = 0, specimens = 0;
  DiagnosticAlarms& operator+=(const DiagnosticAlarms& o) {
    campaigns += o.campaigns, verdicts += o.verdicts, discrepant += o.discrepant;
    area += o.area, edges += o.edges, drift += o.drift, specimens += o.specimens;
    return *this;
  }
};

// A random law, surface and noise; every second body is a rod, where slip stops and turns more
// often.
inline twin::Options RandomCampaign(std::mt19937_64& random, Body* body) {
  *body = random() % 2 == 0 ? twin::Square() : MakeBox({0.02, 0.02, 0.12}, 0.2, true);
  twin::Options o;
  o.mu = std::exp(twin::Uniform(random, std::log(0.05), std::log(0.6)));
  o.e = twin::Uniform(random, 0.25, 0.85);
  o.sd_v = std::exp(twin::Uniform(random, std::log(2e-4), std::log(3e-3)));
  o.sd_omega = o.sd_v / 0.04;
  return o;
}

// The verdict on one quantity of one event that the fit had not seen, where the law is the whole
// truth: discrepant with the chance of a normal beyond k.
inline void CountVerdict(std::uint64_t seed, double coverage, DiagnosticAlarms& out) {
  std::mt19937_64 random(seed);
  Body body;
  twin::Options options = RandomCampaign(random, &body);
  options.n = 20;
  const std::vector<ImpactEvent> events = twin::Experiment(body, options, random);
  IdentifyOptions identify;
  identify.fit_discrepancy = false;
  identify.likelihood = Likelihood::kGaussian;
  FitResult fit;
  fit.fits = {Identify(events, body, {{}, RestitutionLaw::kEnergetic}, identify)};
  // A friction that the campaign does not determine has no covariance that a prediction could
  // carry.
  if (!fit.fits[0].mu_k.identifiable || !fit.fits[0].e.identifiable) return;
  ValidationOptions validation;
  validation.coverage = coverage;
  // No error is small enough to be adequate: what is left is discrepant or unresolved.
  validation.tolerance_velocity = validation.tolerance_spin = validation.tolerance_ratio = 1e-12;
  std::vector<const ValidationRow*> rows;
  const ValidationTable table = Validate(events, body, fit, identify, validation);
  for (const ValidationRow& row : table.rows)
    if (!row.in_sample) rows.push_back(&row);
  if (rows.empty()) return;
  const ValidationRow& one = *rows[random() % rows.size()];
  ++out.verdicts;
  out.discrepant += one.verdict == "discrepant";
}

// A campaign of 40 impacts that scatter as the estimator thinks they do.
inline void CountAlarms(std::uint64_t seed, DiagnosticAlarms& out) {
  std::mt19937_64 random(seed);
  Body body;
  twin::Options options = RandomCampaign(random, &body);
  options.n = 40;
  options.sd_t = std::exp(twin::Uniform(random, std::log(0.005), std::log(0.05)));
  options.sd_n = options.sd_t * twin::Uniform(random, 0.5, 1.5);
  options.sd_c = options.sd_t * twin::Uniform(random, 0.2, 1);
  const std::vector<ImpactEvent> events = twin::Experiment(body, options, random);
  const IdentifyOptions identify;
  FitResult fit;
  fit.fits = {Identify(events, body, {{}, RestitutionLaw::kEnergetic}, identify)};
  const Diagnostics s =
      DiagnoseCampaign(events, body, fit, Validate(events, body, fit, identify, {}), seed);
  const auto names = [&](const char* cause) {
    return std::any_of(s.findings.begin(), s.findings.end(),
                       [&](const CampaignFinding& f) { return f.cause == cause; });
  };
  ++out.campaigns;
  out.area += names("distribution");
  out.edges +=
      std::any_of(s.edges.begin(), s.edges.end(), [](const EdgeRow& row) { return row.found; });
  out.drift += names("drift");
  out.specimens += s.specimens.mixed || !s.specimens.parted_by.empty();
}

}  // namespace impactlab::test
