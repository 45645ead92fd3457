#include "tools/synth/fleet_result.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "models/analysis/analyze.h"
#include "models/megatron/megatron_rules.h"
#include "sim/base/json.h"
#include "sim/base/parallel.h"
#include "sim/base/tier.h"
#include "sim/clocks/align_clocks.h"
#include "sim/ops/trace_index.h"
#include "sim/recording/recording.h"
#include "tools/cli/json_result.h"
#include "tools/cli/live_progress.h"
#include "tools/cli/output_file.h"
#include "tools/whatif/whatif_report.h"
#include "tools/whatif/whatif_workers.h"
#include "traces/table/table.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

// The front half of an analysis, of rows that are dense as they come.
Result<ArrangedJob> arranged_job(OpTrace rows, const FleetMember& member) {
  const std::size_t ops = rows.size();
  GOODPUT_TRY(TraceIndex index, index_trace(rows));
  GOODPUT_TRY(OpGraph graph, megatron::build_graph(index.lane));
  JobMetadataFields fields;
  fields.tp_size = member.shape.gpus_per_worker;
  fields.world_size = member.shape.gpus();
  const JobMetadata job = complete_metadata(fields, index, member.name);
  std::vector<std::uint32_t> selected(index.steps.size());
  std::iota(selected.begin(), selected.end(), 0U);
  ArrangedJob arranged{std::move(graph),
                       {},
                       job,
                       {{"synthetic"}, ops, selected.size(), 0, {"synthetic: this job never ran"}},
                       {},
                       {},
                       {}};
  Recording& recording = arranged.recording;
  recording = arrange(std::move(rows), std::move(index), arranged.graph, selected);
  recording.places.push_back({"host", member.hosts});
  arranged.trace.ops_per_lane = recording.ops.size();
  arranged.clocks = align_clocks(recording, arranged.graph, ClockAlignment::kOff, arranged.trace.notes);
  return arranged;
}

Result<std::string> whatif_result(OpTrace rows, const FleetMember& member, const CommandContext& context) {
  GOODPUT_TRY(const ArrangedJob job, arranged_job(std::move(rows), member));
  GOODPUT_TRY(const Analysis analysis, analyze(job, {.whatif = {.by_step = true}}));
  OrderedJson json = begin_json_result(
      "whatif", context, {config_hash(job.recording, analysis), {}, std::string(to_string(Tier::kAssumed))});
  add_whatif_json(analysis, json);
  add_workers_json(analysis, json);
  return json.dump() + '\n';
}

Result<FleetTruth> write_job(const FleetMixture& mixture, std::size_t number, const std::string& results,
                             const CommandContext& context) {
  const FleetMember member = deal_member(mixture, context.options.seed, number);
  GOODPUT_TRY(FleetTrace made, trace_of_member(mixture, member));
  const SyntheticTruth& truth = made.trace.truth;
  FleetTruth job{member, truth.slowdown, 1 - truth.replayed_s / truth.recorded_s, std::move(made.stragglers)};
  GOODPUT_TRY(const std::string result, whatif_result(std::move(made.trace.rows), member, context));
  GOODPUT_TRY_STATUS(write_text_atomically(fmt::format("{}/{}.json", results, member.name), result));
  return job;
}

Status make_folder(const std::string& folder, const std::string& results) {
  std::error_code failed;
  if (fs::exists(folder, failed) && !fs::is_directory(folder, failed))
    return Error{"is not a folder; name a new folder", {.file = folder}};
  if (fs::exists(folder, failed) && !fs::is_empty(folder, failed))
    return Error{"is not empty; name a new folder", {.file = folder}};
  fs::create_directories(results, failed);
  if (failed) return Error{fmt::format("cannot be created: {}", failed.message()), {.file = results}};
  return Ok{};
}

Status write_about(const std::vector<FleetTruth>& jobs, const std::string& path) {
  static const std::array<TableColumn, 4> columns = {
      TableColumn{"job", ColumnType::kText}, TableColumn{"gpus", ColumnType::kInteger},
      TableColumn{"gpu_hours", ColumnType::kReal}, TableColumn{"restarts", ColumnType::kInteger}};
  return write_file_atomically(path, [&](const std::string& temporary) -> Status {
    GOODPUT_TRY(const std::unique_ptr<TableWriter> table, csv_table(temporary, columns));
    for (const FleetTruth& job : jobs) {
      const std::array<TableCell, 4> row = {std::string_view(job.member.name), job.member.shape.gpus(),
                                            job.member.gpu_hours(), job.member.restarts};
      GOODPUT_TRY_STATUS(table->add(row));
    }
    return table->close();
  });
}

std::string_view cause_of(const FleetMember& member) {
  return member.kind ? kStragglerKinds[*member.kind] : std::string_view("none");
}

}  // namespace

Result<std::vector<FleetTruth>> write_fleet(const FleetMixture& mixture, std::size_t count,
                                            const std::string& folder, const CommandContext& context) {
  const std::string results = folder + "/results";
  GOODPUT_TRY_STATUS(make_folder(folder, results));
  std::vector<std::optional<Result<FleetTruth>>> made(count);
  std::atomic<std::uint64_t> done = 0;
  {
    const bool shows = context.terminal.shows_progress && !context.options.quiet;
    LiveProgress bar(context.err, shows ? ProgressBar::Show::kWhenSlow : ProgressBar::Show::kNever,
                     "generating jobs", count);
    parallel_pieces(static_cast<unsigned>(context.options.jobs), count, 1,
                    [&](std::size_t begin, std::size_t /*end*/) {
                      made[begin].emplace(write_job(mixture, begin, results, context));
                      bar.update(++done);
                    });
  }
  std::vector<FleetTruth> jobs;
  for (std::optional<Result<FleetTruth>>& job : made) {
    if (!*job) return std::move(*job).error();
    jobs.push_back(**std::move(job));
  }
  GOODPUT_TRY_STATUS(write_about(jobs, folder + "/jobs.csv"));
  return jobs;
}

std::string fleet_synth_text(const std::vector<FleetTruth>& jobs, const FleetMixture& mixture,
                             const std::string& folder) {
  std::string text =
      fmt::format("Wrote {}: {} synthetic jobs from the mixture {}\n\n", folder, jobs.size(), mixture.file);
  std::array<std::size_t, std::size(kStragglerKinds) + 1> counts{};
  std::array<double, std::size(kStragglerKinds) + 1> sums{};
  for (const FleetTruth& job : jobs) {
    const std::size_t kind = job.member.kind.value_or(std::size(kStragglerKinds));
    ++counts[kind];
    sums[kind] += job.slowdown;
  }
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    if (counts[kind] == 0) continue;
    const auto of = static_cast<double>(counts[kind]);
    text += fmt::format("  {:<18} {:>6} jobs, {:>5.1f} %, mean S {:.3f}\n",
                        kind < std::size(kStragglerKinds) ? kStragglerKinds[kind] : "no straggler",
                        counts[kind], 100 * of / static_cast<double>(jobs.size()), sums[kind] / of);
  }
  return text + fmt::format("\nTo analyze them: goodput fleet {0}/results --job-info {0}/jobs.csv\n", folder);
}

void add_fleet_synth_json(const std::vector<FleetTruth>& jobs, const FleetMixture& mixture,
                          OrderedJson& json) {
  FleetMixture resolved = mixture;
  json["jobs"] = OrderedJson::array();
  for (const FleetTruth& job : jobs) {
    OrderedJson stragglers = OrderedJson::array();
    for (Straggler straggler : job.stragglers) stragglers.push_back(config::write(config_fields(straggler)));
    json["jobs"].push_back({{"job", job.member.name},
                            {"cause", cause_of(job.member)},
                            {"wanted_slowdown", job.member.slowdown},
                            {"slowdown", job.slowdown},
                            {"discrepancy", job.discrepancy},
                            {"steps", job.member.steps},
                            {"restarts", job.member.restarts},
                            {"dp_size", job.member.shape.dp},
                            {"pp_size", job.member.shape.pp},
                            {"gpus", job.member.shape.gpus()},
                            {"gpu_hours", job.member.gpu_hours()},
                            {"injected", std::move(stragglers)}});
  }
  json["mixture"] = config::write(config_fields(resolved));
}

}  // namespace goodput
