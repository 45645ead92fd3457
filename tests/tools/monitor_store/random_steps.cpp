#include "tests/tools/monitor_store/random_steps.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>

#include "tests/support/random_integer.h"

namespace goodput::testing {
namespace {

double random_number(RandomStream& random) {
  switch (random.below(6)) {
    case 0:
      return std::numeric_limits<double>::quiet_NaN();
    case 1:
      return std::numeric_limits<double>::infinity();
    case 2:
      return std::bit_cast<double>(random.bits() & 0x7fefffffffffffff);
    default:
      return random.uniform(0.5, 3);
  }
}

std::vector<double> random_numbers(RandomStream& random, std::size_t count) {
  std::vector<double> numbers(count);
  for (double& number : numbers) number = random_number(random);
  return numbers;
}

std::string random_text(RandomStream& random) {
  std::string text;
  const std::uint64_t size = random.below(12);
  for (std::uint64_t i = 0; i < size; ++i) text += static_cast<char>(random.below(256));
  return text;
}

std::vector<std::string> random_texts(RandomStream& random) {
  std::vector<std::string> texts(random.below(4));
  for (std::string& text : texts) text = random_text(random);
  return texts;
}

WorkerPlace random_place(RandomStream& random) {
  return {between(random, 0, 99), between(random, 0, 9), between(random, -1, 99), random_text(random)};
}

StepCause random_cause(RandomStream& random) {
  StepCause cause;
  cause.name = random_text(random);
  cause.is_likely = random.below(2) == 0;
  if (random.below(2) == 0) cause.gain = random_number(random);
  for (std::uint64_t i = random.below(4); i > 0; --i)
    cause.workers.push_back(random.bits() >> random.below(64));
  if (random.below(2) == 0) cause.stage = random.below(64);
  cause.fix = random_texts(random);
  cause.evidence = random_text(random);
  cause.next_check = random_text(random);
  return cause;
}

JobLayout random_layout(RandomStream& random) {
  JobLayout layout;
  layout.dp_size = between(random, 1, 4);
  layout.pp_size = between(random, 1, 4);
  layout.vpp_size = between(random, 1, 4);
  layout.gpus_per_worker = between(random, 1, 8);
  for (std::size_t i = 0; i < layout.workers(); ++i) layout.ranks.push_back(between(random, -1, 1000));
  if (random.below(2) == 0) layout.hosts.resize(layout.workers(), random_text(random));
  return layout;
}

// Its texts are UTF-8, as those of an analysis are.
std::optional<Verdict> random_verdict(RandomStream& random) {
  if (random.below(3) == 0) return std::nullopt;
  Verdict verdict;
  verdict.kind = "worker-fault";
  verdict.subject = {"worker", fmt::format("worker:{}:0", random.below(9))};
  for (std::uint64_t i = random.below(3); i > 0; --i)
    verdict.workers.push_back(
        {random.below(9), 0, between(random, 0, 99), random.below(2) == 0 ? "" : "node7"});
  if (random.below(2) == 0) verdict.link = {1, 2, random.below(4)};
  if (random.below(2) == 0) verdict.since_step = between(random, 0, 1000);
  if (random.below(2) == 0) verdict.pace = random.uniform(1, 3);
  if (random.below(2) == 0)
    verdict.cost = Verdict::Cost{random.uniform(1, 9), random.uniform(0, 1), random.uniform(0, 1), 2};
  verdict.fix = {"worker=1:2"};
  verdict.sentence = "One slow worker costs this job 3.0 % of its time.";
  return verdict;
}

StepTotals random_totals(RandomStream& random, StepId id) {
  StepTotals totals;
  totals.id = id;
  totals.status = static_cast<StepStatus>(random.below(4));
  for (double StepTotals::*member :
       {&StepTotals::began_s, &StepTotals::received_s, &StepTotals::recorded_s, &StepTotals::replayed_s,
        &StepTotals::ideal_s, &StepTotals::slowdown, &StepTotals::launch_slowdown, &StepTotals::discrepancy,
        &StepTotals::worst_slowdown, &StepTotals::gain}) {
    totals.*member = random_number(random);
  }
  totals.finished_s = random.uniform(0, 1e9);
  totals.ops = static_cast<std::int64_t>(random.below(1'000'000));
  totals.worst_worker = random.below(10'000);
  totals.shape = static_cast<SlowdownShape>(random.below(5));
  totals.cause = random_text(random);
  return totals;
}

}  // namespace

StepResult random_result(RandomStream& random, StepId id) {
  StepResult result;
  result.totals = random_totals(random, id);
  result.layout = random_layout(random);
  if (random.below(8) == 0) return result;
  result.worker_slowdown = random_numbers(random, result.layout.workers());
  result.worker_pace = random_numbers(random, result.layout.workers());
  result.by_stage = random_numbers(random, random.below(5));
  result.by_dp_rank = random_numbers(random, random.below(5));
  for (std::uint64_t i = random.below(4); i > 0; --i)
    result.by_optype.push_back({random_text(random), random_number(random)});
  if (random.below(2) == 0) result.m_w = random_number(random);
  if (random.below(2) == 0) result.m_s = random_number(random);
  if (random.below(2) == 0) result.correlation = random_number(random);
  for (std::uint64_t i = random.below(4); i > 0; --i) result.causes.push_back(random_cause(random));
  result.verdict = random_verdict(random);
  result.problem = random_text(random);
  for (std::uint64_t i = random.below(3); i > 0; --i) result.missing.push_back(random_place(random));
  result.notes = random_texts(random);
  return result;
}

OpTrace random_rows(RandomStream& random, std::size_t rows, std::int64_t step, bool is_float32) {
  OpTrace trace;
  const bool has_steps = random.below(4) == 0;
  const auto time = [&] {
    const double value = random.uniform(-1, 10);
    return is_float32 ? static_cast<double>(static_cast<float>(value)) : value;
  };
  for (std::size_t i = 0; i < rows; ++i) {
    const OpRow row{.dp_rank = between(random, 0, 1000),
                    .stage = between(random, 0, 100),
                    .rank = between(random, 0, 100'000),
                    .step = has_steps ? step + between(random, 0, 3) : step,
                    .optype = static_cast<OpType>(random.below(kNdtimelineTypeCount)),
                    .start_s = time(),
                    .duration_s = std::abs(time()),
                    .seq_id = between(random, -1, 1000),
                    .mc = between(random, -1, 7),
                    .mb_id = between(random, -1, 1000),
                    .gmc = between(random, -1, 1000)};
    REQUIRE(!trace.append(row));
  }
  return trace;
}

Incident random_incident(RandomStream& random, StepId at) {
  Incident incident;
  incident.key = fmt::format("goodput-{:016x}", random.bits());
  incident.job = "job";
  incident.severity = static_cast<AlertSeverity>(random.below(4));
  incident.verdict = random_verdict(random).value_or(Verdict{});
  for (std::uint64_t i = random.below(4); i > 0; --i) {
    incident.evidence.push_back({fmt::format("rule {}", i), "worker-fault",
                                 static_cast<AlertSeverity>(random.below(4)), at, random.below(2) == 0});
  }
  incident.opened_at = incident.last_seen = at;
  incident.opened_s = random.uniform(0, 1e9);
  incident.closed_by = random_text(random);
  incident.merged_into = random_text(random);
  if (random.below(2) == 0) incident.acknowledged = IncidentMark{"ann", random.uniform(0, 1e9)};
  if (random.below(2) == 0)
    incident.muted = IncidentMute{"bob", random.uniform(0, 1e9), random.uniform(1e9, 2e9)};
  if (random.below(2) == 0) incident.slowdown = random.uniform(1, 3);
  if (random.below(2) == 0) incident.usd_per_day = random.uniform(0, 1e5);
  incident.is_told = random.below(2) == 0;
  incident.page = random_text(random);
  return incident;
}

StepRecord plain_step(StepId id, double finished_s, double slowdown) {
  StepRecord record;
  record.result.totals.id = id;
  record.result.totals.began_s = finished_s - 2;
  record.result.totals.finished_s = finished_s;
  record.result.totals.slowdown = slowdown;
  record.result.layout = {
      .dp_size = 2, .pp_size = 2, .vpp_size = 1, .gpus_per_worker = 1, .ranks = {0, 1, 2, 3}};
  record.result.worker_slowdown = {1, 1.25, slowdown, 1};
  record.result.worker_pace = {1, 1.1, 1.2, 1};
  record.result.by_stage = {1, slowdown};
  return record;
}

StepRecord step_with_rows(StepId id, double finished_s, std::size_t rows) {
  StepRecord record = plain_step(id, finished_s);
  RandomStream random(static_cast<std::uint64_t>(id.step), "step_with_rows");
  record.rows = random_rows(random, rows, id.step, true);
  return record;
}

StepCommit commit_of(const std::string& job, std::vector<StepRecord> steps) {
  StepCommit commit;
  commit.job = job;
  commit.steps = std::move(steps);
  return commit;
}

bool is_same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

bool is_same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) { return is_same(x, y); });
}

namespace {

bool is_same(const std::optional<double>& a, const std::optional<double>& b) {
  return a.has_value() == b.has_value() && (!a || testing::is_same(*a, *b));
}

bool is_same(const LabelledSlowdown& a, const LabelledSlowdown& b) {
  return a.label == b.label && testing::is_same(a.slowdown, b.slowdown);
}

bool is_same(const StepCause& a, const StepCause& b) {
  return a.name == b.name && a.is_likely == b.is_likely && is_same(a.gain, b.gain) &&
         a.workers == b.workers && a.stage == b.stage && a.fix == b.fix && a.evidence == b.evidence &&
         a.next_check == b.next_check;
}

template <typename Entry>
bool are_same(const std::vector<Entry>& a, const std::vector<Entry>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Entry& x, const Entry& y) { return is_same(x, y); });
}

}  // namespace

bool is_same(const StepTotals& a, const StepTotals& b) {
  for (double StepTotals::*member :
       {&StepTotals::began_s, &StepTotals::received_s, &StepTotals::finished_s, &StepTotals::recorded_s,
        &StepTotals::replayed_s, &StepTotals::ideal_s, &StepTotals::slowdown, &StepTotals::launch_slowdown,
        &StepTotals::discrepancy, &StepTotals::worst_slowdown, &StepTotals::gain}) {
    if (!is_same(a.*member, b.*member)) return false;
  }
  return a.id == b.id && a.status == b.status && a.ops == b.ops && a.worst_worker == b.worst_worker &&
         a.shape == b.shape && a.cause == b.cause;
}

bool is_same(const StepResult& a, const StepResult& b) {
  return is_same(a.totals, b.totals) && a.layout == b.layout &&
         is_same(a.worker_slowdown, b.worker_slowdown) && is_same(a.worker_pace, b.worker_pace) &&
         is_same(a.by_stage, b.by_stage) && is_same(a.by_dp_rank, b.by_dp_rank) &&
         are_same(a.by_optype, b.by_optype) && is_same(a.m_w, b.m_w) && is_same(a.m_s, b.m_s) &&
         is_same(a.correlation, b.correlation) && are_same(a.causes, b.causes) && a.verdict == b.verdict &&
         a.problem == b.problem && a.missing == b.missing && a.notes == b.notes;
}

bool is_same(const OpTrace& a, const OpTrace& b) {
  return a.dp_rank == b.dp_rank && a.stage == b.stage && a.rank == b.rank && a.step == b.step &&
         a.optype == b.optype && is_same(a.start_s, b.start_s) && is_same(a.duration_s, b.duration_s) &&
         a.seq_id == b.seq_id && a.mc == b.mc && a.mb_id == b.mb_id && a.gmc == b.gmc;
}

StoreFolder::StoreFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "goodput-store-XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

StoreFolder::~StoreFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace goodput::testing
