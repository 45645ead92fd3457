#include "tests/support/kineto_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "models/analysis/analyze.h"
#include "sim/base/statistics.h"
#include "tests/support/kineto_writer.h"
#include "traces/io/byte_source.h"
#include "traces/kineto/kineto_activity.h"
#include "traces/kineto/kineto_events.h"

namespace goodput::testing {
namespace {

Result<RankActivity> read_rank_activity(const std::string& path) {
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  GOODPUT_TRY(KinetoEvents events, read_kineto_events(source));
  return rank_activity(std::move(events), {});
}

bool is_trace_name(const std::string& name) {
  return name.ends_with(".json.gz") || (name.ends_with(".json") && name != "truth.json");
}

}  // namespace

Result<std::vector<RankActivity>> read_rank_activities(const std::filesystem::path& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (is_trace_name(entry.path().filename().string())) paths.push_back(entry.path().string());
  }
  std::ranges::sort(paths);
  std::vector<RankActivity> activities;
  for (const std::string& path : paths) {
    GOODPUT_TRY(RankActivity activity, read_rank_activity(path));
    activities.push_back(std::move(activity));
  }
  return activities;
}

std::vector<RankActivity> activities_of(const CudaJob& job) {
  std::string name = (std::filesystem::temp_directory_path() / "goodput-kineto-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  const std::filesystem::path folder = name;
  for (int rank = 0; rank < job.spec.ranks; ++rank)
    std::ofstream(folder / fmt::format("rank{}.json", rank)) << kineto_text(job, rank);
  auto activities = read_rank_activities(folder);
  std::filesystem::remove_all(folder);
  if (!activities) throw std::runtime_error(activities.error().message());
  return *std::move(activities);
}

std::size_t AnalysedRanks::worker_of(int rank) const {
  return static_cast<std::size_t>(std::ranges::find(analysis.grid.ranks, rank) - analysis.grid.ranks.begin());
}

double AnalysedRanks::slowdown_of(int rank) const {
  return analysis.whatif.worker_slowdown.at(worker_of(rank));
}

int AnalysedRanks::slowest_rank() const {
  const std::vector<double>& slowdown = analysis.whatif.worker_slowdown;
  return analysis.grid.ranks[static_cast<std::size_t>(std::ranges::max_element(slowdown) - slowdown.begin())];
}

double AnalysedRanks::replay_error() const {
  return mean(analysis.whatif.nodelay.span_s) / mean(analysis.whatif.base_s) - 1;
}

std::string AnalysedRanks::subject() const {
  return analysis.verdict ? analysis.verdict->subject.key : "";
}

Result<AnalysedRanks> analyse_ranks(std::vector<RankActivity> activities, const CollectiveOptions& options) {
  std::vector<std::string> notes;
  GOODPUT_TRY(ArrangedJob job, arrange_collectives(std::move(activities), options, notes));
  GOODPUT_TRY(Analysis analysis, analyze(job, {WhatIfOptions{}, {}, {}}));
  return AnalysedRanks{std::move(job), std::move(analysis), std::move(notes)};
}

}  // namespace goodput::testing
