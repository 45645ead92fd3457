// plan_search_bench: how long the search for a plan takes, and what it finds. Prints the tables of
// docs/performance.md.
//
//   plan_search_bench [--jobs N] [--keep K] [--unpruned] [NAME]    NAME: of one question, by its beginning
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "models/planner/plan_search.h"
#include "models/shape/model_shape.h"

namespace goodput {
namespace {

struct SearchedQuestion {
  std::string_view name;
  std::string_view model;
  std::string_view cluster;
  std::int64_t gpus;
  std::int64_t global_batch;
  std::int64_t sequence_length;
  Dtype dtype = Dtype::kBf16;
  PlanSpace space{};
};

// More of everything than anybody would try.
PlanSpace wide_space() {
  PlanSpace space;
  space.tp = {1, 2, 4, 8, 16, 32};
  space.cp = {1, 2, 4, 8, 16};
  space.micro_batch = {1, 2, 4, 8, 16, 32, 64};
  space.zero = {0, 1, 2, 3};
  space.vpp = {1, 2, 3, 4, 5, 8, 10, 16, 20, 40};
  return space;
}

// What Megatron-LM does at such sizes.
PlanSpace pipelined_space() {
  PlanSpace space;
  space.zero = {1};
  space.micro_batch = {1, 2, 4};
  space.schedules = {"1f1b", "interleaved"};
  return space;
}

std::vector<SearchedQuestion> searched_questions() {
  return {
      {"llama3-70b", "llama3-70b", "dgx-h100", 1024, 1024, 8192},
      {"llama3-405b", "llama3-405b", "dgx-h100", 16384, 2048, 8192},
      {"mixtral-8x7b", "mixtral-8x7b", "dgx-h100", 256, 256, 4096},
      {"deepseek-v3", "deepseek-v3", "h800-2048", 2048, 15360, 4096, Dtype::kFp8},
      {"gpt-s", "gpt-s", "a100-8gpu", 8, 256, 1024},
      {"llama3-8b", "llama3-8b", "dgx-h100", 16, 256, 8192},
      {"70b pipelined", "llama3-70b", "dgx-h100", 1024, 1024, 8192, Dtype::kBf16, pipelined_space()},
      {"70b wide", "llama3-70b", "dgx-h100", 1024, 1024, 8192, Dtype::kBf16, wide_space()},
  };
}

TrainingPlan base_of(const SearchedQuestion& question) {
  const std::string configs = GOODPUT_CONFIGS;
  const auto model = config::read<ModelShape>(fmt::format("{}/models/{}.json", configs, question.model));
  const auto cluster = read_cluster(fmt::format("{}/clusters/{}.json", configs, question.cluster));
  GOODPUT_CHECK(model && cluster, "the files of the benchmark can be read");
  TrainingPlan base;
  base.model = *model;
  base.cluster = cluster->cluster;
  base.lone_kernels = cluster->lone_kernels;
  settle_efficiency(base);
  base.parallel.global_batch = question.global_batch;
  base.parallel.sequence_length = question.sequence_length;
  base.parallel.dtype = question.dtype;
  base.parallel.sequence_parallel = true;
  base.parallel.overlap_grad_reduce = true;
  base.parallel.overlap_param_gather = true;
  base.parallel.overlap_p2p = true;
  return base;
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string describe_ranked(const RankedPlan& plan) {
  const ParallelPlan& p = plan.parallel;
  return fmt::format(
      "{:9.3f} s  {:4.1f} %  {:5.1f} GiB  dp {} pp {} vpp {} tp {} cp {} ep {} mb {} zero {} {} {}",
      to_seconds(plan.step), 100 * plan.mfu,
      static_cast<double>(plan.memory.value) / static_cast<double>(1LL << 30), p.dp, p.pp, p.vpp, p.tp, p.cp,
      p.ep, p.micro_batch, p.zero, kRecomputeNames[static_cast<std::size_t>(p.recompute)], p.schedule);
}

void ask(const SearchedQuestion& question, const PlanSearchOptions& options) {
  const TrainingPlan base = base_of(question);
  const double before = processor_seconds();
  const auto began = std::chrono::steady_clock::now();
  const auto found = search_plans(base, question.gpus, question.space, options);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const double processor = processor_seconds() - before;
  if (!found) {
    fmt::print("{}: {}\n", question.name, found.error().message());
    return;
  }
  fmt::print("{}: {} candidates, {} timed, {} pruned; {:.3f} s, {:.3f} s of processors\n", question.name,
             found->candidates, found->timed, found->pruned, wall, processor);
  for (const auto& [reason, count] : found->rejected) fmt::print("  {:>8} {}\n", count, reason);
  for (const RankedPlan& plan : found->best) fmt::print("  {}\n", describe_ranked(plan));
}

int run(int argc, char** argv) {
  PlanSearchOptions options{.keep = 10, .jobs = 2};
  std::string_view only;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--unpruned")
      options.prunes = false;
    else if (argument == "--jobs" && i + 1 < argc)
      options.jobs = static_cast<unsigned>(std::atoi(argv[++i]));
    else if (argument == "--keep" && i + 1 < argc)
      options.keep = static_cast<std::size_t>(std::atoi(argv[++i]));
    else
      only = argument;
  }
  for (const SearchedQuestion& question : searched_questions()) {
    if (question.name.starts_with(only)) ask(question, options);
  }
  return 0;
}

}  // namespace
}  // namespace goodput

int main(int argc, char** argv) {
  return goodput::run(argc, argv);
}
