#include "gpu/calibrate/measured_points.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace goodput::gpu::calibrate {
namespace {

std::string moved_text(const SentinelTime& now, double before_us) {
  char text[200];
  std::snprintf(text, sizeof text, "sentinel %s moved from %.4g to %.4g us (%+.1f %%)", now.name.c_str(),
                before_us, now.median_us, 100 * (now.median_us / before_us - 1));
  return text;
}

bool has_moved(double before_us, double now_us) {
  return std::max(before_us, now_us) > (1 + kSteadyWithin) * std::min(before_us, now_us);
}

// Such a block heats the GPU for ten seconds, so sentinels before and after it say nothing about its own
// clock, and measuring it again would take as long.
bool is_sustained_block(const VisitRecord& record) {
  const std::vector<Param>& params = record.key.table.params;
  return !record.visit.parts.empty() && std::any_of(params.begin(), params.end(), [](const Param& param) {
    return param.name == "sustained";
  });
}

double median_of(const std::vector<const Visit*>& visits, double (*value)(const Visit&)) {
  std::vector<double> values;
  for (const Visit* const visit : visits) values.push_back(value(*visit));
  return bench::summarize(values).median;
}

// Of those that have it.
std::optional<double> median_of(const std::vector<const Visit*>& visits,
                                std::optional<double> Visit::*value) {
  std::vector<double> values;
  for (const Visit* const visit : visits) {
    if (visit->*value) values.push_back(*(visit->*value));
  }
  if (values.empty()) return std::nullopt;
  return bench::summarize(values).median;
}

// The median of each; the same block has the same parts on every visit.
std::vector<PartTime> merged_parts(const std::vector<const Visit*>& visits) {
  std::vector<PartTime> parts = visits.front()->parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::vector<double> times;
    for (const Visit* const visit : visits) {
      if (i < visit->parts.size()) times.push_back(visit->parts[i].median_us);
    }
    parts[i].median_us = bench::summarize(times).median;
  }
  return parts;
}

Visit merged(const std::vector<const Visit*>& visits) {
  Visit all;
  all.parts = merged_parts(visits);
  all.expert_rows = visits.front()->expert_rows;
  all.us.median = median_of(visits, [](const Visit& visit) { return visit.us.median; });
  all.us.p05 = median_of(visits, [](const Visit& visit) { return visit.us.p05; });
  all.us.p95 = median_of(visits, [](const Visit& visit) { return visit.us.p95; });
  all.us.mean = median_of(visits, [](const Visit& visit) { return visit.us.mean; });
  all.us.cv = median_of(visits, [](const Visit& visit) { return visit.us.cv; });
  all.us.min = visits.front()->us.min;
  all.sm_mhz = median_of(visits, &Visit::sm_mhz);
  all.power_w = median_of(visits, &Visit::power_w);
  all.source = visits.front()->source;
  for (const Visit* const visit : visits) {
    all.us.min = std::min(all.us.min, visit->us.min);
    all.us.count += visit->us.count;
    if (visit->nwrong) all.nwrong = all.nwrong.value_or(0) + *visit->nwrong;
  }
  return all;
}

}  // namespace

void MeasuredPoints::add(const Record& record) {
  if (const auto* const visit = std::get_if<VisitRecord>(&record)) add_visit(*visit);
  if (const auto* const sentinels = std::get_if<SentinelRecord>(&record)) add_sentinels(*sentinels);
  if (const auto* const note = std::get_if<NoteRecord>(&record)) notes_.push_back(note->text);
}

void MeasuredPoints::add_visit(const VisitRecord& record) {
  const auto [place, is_new] = by_name_.try_emplace(text_of(record.key), points_.size());
  if (is_new) points_.emplace_back();
  points_[place->second][record.round] = record;
  if (!record.again) {
    if (!is_sustained_block(record)) since_sentinels_.push_back({record.key, record.round});
    return;
  }
  to_do_again_.erase(std::remove_if(to_do_again_.begin(), to_do_again_.end(),
                                    [&](const VoidVisit& gone) {
                                      return gone.round == record.round && gone.key == record.key;
                                    }),
                     to_do_again_.end());
}

void MeasuredPoints::add_sentinels(const SentinelRecord& record) {
  bool moved = false;
  for (const SentinelTime& time : record.times) {
    const auto [before, is_first] = sentinel_us_.try_emplace(time.name, time.median_us);
    if (is_first || !has_moved(before->second, time.median_us)) continue;
    moved = true;
    notes_.push_back(moved_text(time, before->second) + "; " + std::to_string(since_sentinels_.size()) +
                     " visits since the last sentinel check will be repeated");
  }
  if (moved) {
    // All of them, or one that has crept up would count twice.
    for (const SentinelTime& time : record.times) sentinel_us_[time.name] = time.median_us;
    std::move(since_sentinels_.begin(), since_sentinels_.end(), std::back_inserter(to_do_again_));
  }
  since_sentinels_.clear();
}

const MeasuredPoints::Rounds* MeasuredPoints::find(const PointKey& key) const {
  const auto place = by_name_.find(text_of(key));
  return place == by_name_.end() ? nullptr : &points_[place->second];
}

bool MeasuredPoints::has(const PointKey& key, int round) const {
  const Rounds* const rounds = find(key);
  return rounds != nullptr && rounds->count(round) != 0;
}

bool MeasuredPoints::first_rounds_differ(const Rounds& rounds) const {
  double least = rounds.begin()->second.visit.us.median;
  double most = least;
  for (const auto& [round, record] : rounds) {
    if (round > rounds_) break;
    least = std::min(least, record.visit.us.median);
    most = std::max(most, record.visit.us.median);
  }
  return has_moved(least, most);
}

bool MeasuredPoints::wants_decision(const PointKey& key) const {
  const Rounds* const rounds = find(key);
  if (rounds == nullptr || static_cast<int>(rounds->size()) != rounds_) return false;
  return rounds->rbegin()->first == rounds_ && first_rounds_differ(*rounds);
}

std::vector<const VisitRecord*> MeasuredPoints::points() const {
  std::vector<const VisitRecord*> first;
  for (const Rounds& rounds : points_) first.push_back(&rounds.begin()->second);
  return first;
}

PointSummary MeasuredPoints::summary(const PointKey& key) const {
  const Rounds& rounds = *find(key);
  std::vector<const Visit*> visits;
  for (const auto& round : rounds) visits.push_back(&round.second.visit);
  return {merged(visits), first_rounds_differ(rounds)};
}

}  // namespace goodput::gpu::calibrate
