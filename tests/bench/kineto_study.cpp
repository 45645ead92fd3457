// `kineto_study FIRST_SEED COUNT healthy|faulty`: simulates jobs on GPUs (tests/support/cuda_job.h), analyses
// their torch.profiler traces, and compares what comes out with the truth. docs/validation.md has its tables.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/parallel.h"
#include "tests/support/kineto_job.h"

namespace {

using namespace goodput;
using namespace goodput::testing;

constexpr double kFeltSlowdown = 1.02;  // of the job, below which a fault is hidden behind waiting

struct StudyRow {
  std::string kind;
  bool has_failed = false;
  bool is_felt = false;
  bool is_first = false;
  bool is_named = false;
  bool is_other_named = false;
  bool has_right_extra = false;
  double replay_error = 0;
  std::string miss;  // empty: none
};

StudyRow study(std::uint64_t seed, bool is_faulty) {
  const CudaJobSpec spec = random_cuda_job(seed, is_faulty);
  StudyRow row;
  row.kind = cuda_job_kind_name(spec.kind);
  const CudaJob job = simulate_cuda_job(spec);
  const auto analysed = analyse_ranks(activities_of(job));
  row.has_failed = !analysed;
  if (!analysed) {
    row.miss = fmt::format("{}; {}", analysed.error().message(), describe(spec));
    return row;
  }
  row.replay_error = analysed->replay_error();
  const std::string subject = analysed->subject();
  const int slow = job.truth.slow_rank;
  row.is_named = subject == fmt::format("rank:{}", slow);
  row.is_other_named = subject.starts_with("rank:") && !row.is_named;
  if (std::abs(row.replay_error) > 0.03) row.miss = fmt::format("replay {:+.1f} %; ", 100 * row.replay_error);
  if (row.is_other_named) row.miss += fmt::format("{} named; ", subject);
  if (slow >= 0) {
    row.is_felt = job.truth.true_slowdown >= kFeltSlowdown;
    row.is_first = analysed->slowest_rank() == slow;
    const auto& extra = analysed->analysis.rank_work->extra_s[analysed->worker_of(slow)];
    row.has_right_extra =
        extra && std::abs(*extra - job.truth.extra_s) <= std::max(0.3 * job.truth.extra_s, 0.025);
    if (!row.is_first)
      row.miss +=
          fmt::format("rank {} is first ({:.3f}), not {} ({:.3f}); ", analysed->slowest_rank(),
                      analysed->slowdown_of(analysed->slowest_rank()), slow, analysed->slowdown_of(slow));
    if (!row.has_right_extra) row.miss += "extra work is off; ";
  }
  if (!row.miss.empty())
    row.miss += fmt::format("true slowdown {:.3f}; {}", job.truth.true_slowdown, describe(spec));
  return row;
}

struct Totals {
  int jobs = 0, failed = 0, felt = 0, first = 0, felt_first = 0, named = 0, others = 0, extra = 0, replay = 0;
  double worst = 0;

  void add(const StudyRow& row) {
    ++jobs;
    failed += row.has_failed;
    felt += row.is_felt;
    first += row.is_first;
    felt_first += row.is_felt && row.is_first;
    named += row.is_named;
    others += row.is_other_named;
    extra += row.has_right_extra;
    replay += !row.has_failed && std::abs(row.replay_error) <= 0.03;
    if (std::abs(row.replay_error) > std::abs(worst)) worst = row.replay_error;
  }
  void print(const std::string& name) const {
    fmt::print("{:<10} {:>5} {:>6} {:>5} {:>5} {:>10} {:>5} {:>6} {:>5} {:>9} {:>+7.1f} %\n", name, jobs,
               failed, felt, first, felt_first, named, others, extra, replay, 100 * worst);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: kineto_study FIRST_SEED COUNT healthy|faulty\n");
    return EXIT_FAILURE;
  }
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::size_t count = std::strtoull(argv[2], nullptr, 10);
  const bool is_faulty = std::string_view(argv[3]) == "faulty";
  std::vector<StudyRow> rows(count);
  parallel_pieces(2, count, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) rows[i] = study(first + i, is_faulty);
  });
  std::map<std::string, Totals> by_kind;
  Totals all;
  for (const StudyRow& row : rows) {
    if (!row.miss.empty()) fmt::print("{}\n", row.miss);
    by_kind[row.kind].add(row);
    all.add(row);
  }
  fmt::print("\n{:<10} {:>5} {:>6} {:>5} {:>5} {:>10} {:>5} {:>6} {:>5} {:>9} {:>9}\n", "kind", "jobs",
             "failed", "felt", "first", "felt&first", "named", "others", "extra", "replay 3%", "worst");
  for (const auto& [kind, totals] : by_kind) totals.print(kind);
  all.print("all");
  return EXIT_SUCCESS;
}
