#include "gpu/calibrate/calibrate_program.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <stdexcept>
#include <utility>

#include "gpu/calibrate/collective_stage.h"
#include "gpu/calibrate/collective_sweep.h"
#include "gpu/calibrate/collectives.h"
#include "gpu/calibrate/one_gpu_stage.h"
#include "gpu/calibrate/stop_signal.h"
#include "gpu/calibrate/sweep_list.h"
#include "gpu/nccl/environment_rank.h"
#include "gpu/nccl/rank_launcher.h"
#include "gpu/nccl/shared_page.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr int kCalibrateFailed = 1;
constexpr int kBySignal = 128;

// Where collectives are listed and nobody says among how many GPUs, none are.
std::vector<Sweep> listed_sweeps(const CalibrateOptions& options) {
  SweepRequest request;
  request.sizes = options.sizes;
  std::vector<Sweep> sweeps = all_sweeps(request);
  if (options.ranks >= 2) {
    const CollectiveGroups groups =
        collective_groups(std::vector<std::string>(static_cast<std::size_t>(options.ranks), "here"));
    sweeps.push_back(collective_sweep(options.sizes, groups.groups, {}));
  }
  return only_with(options.only, std::move(sweeps));
}

void check_only(const CalibrateOptions& options) {
  if (!listed_sweeps(options).empty() || wants_collectives(options)) return;
  throw std::invalid_argument("--only '" + options.only + "' selects no point; see --list");
}

// All kernels with the program (gpu/nccl/communicator.h). And no buffers registered for what is captured
// alone: NCCL does so by default, and sizes of which a replay is measured would go another way than those
// that run alone.
void prepare_for_collectives() {
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  setenv("NCCL_GRAPH_REGISTER", "0", 0);
}

// Calls `stage` in as many processes, on which signals are passed on; the answer is that of rank 0.
StageEnd run_apart(std::int32_t ranks, const std::function<StageEnd(RankProcess&)>& stage) {
  SharedPage<StageEnd> end;
  LaunchOptions launch;
  launch.ranks = ranks;
  launch.passed_on = stop_signal;
  launch.prepare = [ranks](std::int32_t) {
    if (ranks > 1) prepare_for_collectives();
  };
  const std::vector<RankEnd> ends = run_ranks(launch, [&](RankProcess& process) {
    remember_stop_signals();
    const StageEnd of_rank = stage(process);
    if (process.rank() == 0) *end = of_rank;
  });
  const std::string problem = ranks == 1 ? ends.front().error : message_of(ends);
  if (!problem.empty()) throw std::runtime_error(problem);
  return *end;
}

int exit_status(const StageEnd& end) {
  if (end.status != StageStatus::kMeasured) return static_cast<int>(end.status);
  if (stop_signal() != 0) return kBySignal + stop_signal();
  if (!end.has_any) throw std::runtime_error("nothing was measured before the deadline; raise --deadline-s");
  return 0;
}

// Of what is left of the ranks of the second stage: those there are GPUs for, if any.
std::int32_t ranks_of_collectives(const StageRequest& request, int gpus) {
  if (!wants_collectives(request.options) || request.nccl.empty() || request.deadline().passed()) return 0;
  const std::int32_t ranks = request.options.ranks != 0 ? request.options.ranks : gpus;
  return ranks < 2 ? 0 : ranks;
}

int calibrate_machine(const StageRequest& request) {
  static_cast<void>(bench::OutputFile(request.options.out));  // so that nobody looks for a GPU in vain
  const StageEnd one_gpu = run_apart(1, [&](RankProcess&) { return measure_one_gpu(request); });
  if (one_gpu.status == StageStatus::kSkipped) return exit_status(one_gpu);
  const std::int32_t ranks = ranks_of_collectives(request, one_gpu.gpus);
  if (ranks == 0) return exit_status(one_gpu);
  StageEnd both = run_apart(
      ranks, [&](RankProcess& process) { return measure_as_rank(request, JournalStart::kResume, process); });
  if (one_gpu.status == StageStatus::kWrong) both.status = StageStatus::kWrong;
  return exit_status(both);
}

// One of the ranks of several machines: whoever started them waits for them.
int calibrate_as_rank(const StageRequest& request) {
  EnvironmentOptions environment;
  environment.id_file = request.options.id_file;
  const auto process = environment_rank(environment);
  prepare_for_collectives();
  const JournalStart start = request.options.resume ? JournalStart::kResume : JournalStart::kNew;
  const StageEnd end = measure_as_rank(request, start, *process);
  return process->rank() == 0 ? exit_status(end) : 0;
}

int calibrate(const CalibrateOptions& options, const std::string& revision) {
  check_only(options);
  const CollectiveSearch nccl = find_collectives();
  const StageRequest request{options, revision, nccl.version, nccl.why_none,
                             bench::steady_clock()() + options.deadline_s};
  remember_stop_signals();
  return options.id_file.empty() ? calibrate_machine(request) : calibrate_as_rank(request);
}

}  // namespace

int run_calibrate_program(const std::vector<std::string>& arguments, const std::string& revision) {
  try {
    const CalibrateOptions options = parse_calibrate_options(arguments);
    if (options.help) {
      std::printf("%s", calibrate_help().c_str());
      return 0;
    }
    if (options.list) {
      check_only(options);
      std::printf("%s", list_text(listed_sweeps(options), options.rounds).c_str());
      return 0;
    }
    return calibrate(options, revision);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "goodput-calibrate: %s\n", error.what());
    return kCalibrateFailed;
  }
}

}  // namespace goodput::gpu::calibrate
