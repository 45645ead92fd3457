#include "gpu/calibrate/one_gpu_stage.h"

#include <cstdint>
#include <new>
#include <set>
#include <stdexcept>
#include <utility>

#include "gpu/bench/run_report.h"
#include "gpu/calibrate/calibration_header.h"
#include "gpu/calibrate/collective_sweep.h"
#include "gpu/calibrate/matmul.h"
#include "gpu/calibrate/sentinels.h"
#include "gpu/calibrate/stopping_rule.h"
#include "gpu/calibrate/sweep_list.h"
#include "gpu/device.h"

namespace goodput::gpu::calibrate {
namespace {

void check_ranks(std::int32_t ranks, int gpus) {
  if (ranks <= gpus) return;
  throw std::invalid_argument("--ranks is " + std::to_string(ranks) + ", but " +
                              (gpus == 1 ? "there is 1 GPU" : "there are " + std::to_string(gpus) + " GPUs") +
                              ": each rank needs its own GPU, because ranks that share one cannot be timed");
}

// Why there will be no collectives; "" where there will, or none are wanted.
std::string why_no_collectives(const StageRequest& request, int gpus) {
  if (!wants_collectives(request.options)) return "";
  if (request.nccl.empty()) return "no collectives: " + request.no_nccl;
  const std::int32_t ranks = request.options.ranks != 0 ? request.options.ranks : gpus;
  return ranks < 2 ? "no collectives: there is only one GPU, and collectives of a single rank are copies"
                   : "";
}

// What a part of a GPU (MIG) or a smaller one has no memory for says nothing of the others.
Visit visit_if_it_fits(const SweepPoint& point, PointMeasurer& measurer, Checking checking) {
  try {
    return point.visit(measurer, checking);
  } catch (const CudaError& error) {
    if (error.code() == cudaErrorMemoryAllocation) throw PointLeftOut(error.what());
    throw;
  } catch (const std::bad_alloc&) {
    throw PointLeftOut("out of host memory");
  }
}

}  // namespace

StageEnd measure_one_gpu(const StageRequest& request) {
  const CalibrateOptions& options = request.options;
  const DeviceSearch search = find_devices();
  if (search.count == 0) {
    print_line("skipped: " + search.why_none);
    return {StageStatus::kSkipped, 0, false};
  }
  check_ranks(options.ranks, search.count);
  if (const MatmulSearch matmul = find_matmul(); !matmul.why_none.empty())
    throw std::runtime_error(matmul.why_none);
  const DeviceState state(bus_id());
  SweepRequest wanted;
  wanted.sizes = options.sizes;
  wanted.device = copy_device();
  // Power is asked for while much of it is drawn, which is when it holds clocks down.
  std::set<std::string> held_down;
  wanted.power_w = [&] {
    for (const std::string& reason : state.throttle_reasons()) held_down.insert(reason);
    return state.power_w();
  };
  const CalibrationPlan plan{only_with(options.only, all_sweeps(wanted)), sentinels(options.sizes),
                             bench::name_of(bench::kTierOfBuild), options.rounds, options.seed};

  CalibrationSession session(options, bench::OutputFile(options.out),
                             options.resume ? JournalStart::kResume : JournalStart::kNew,
                             header_of(request, search.count, state));
  note_machine(request, state, session);
  if (const std::string why = why_no_collectives(request, search.count); !why.empty()) session.note(why);
  StageEnd end{StageStatus::kMeasured, search.count, !session.points().points().empty()};
  if (plan.sweeps.empty()) return end;

  PointMeasurer measurer(rule_for(options.sizes), request.deadline());
  CalibrationHooks hooks = hooks_of(session, state, held_down);
  hooks.begin_sweep = [&] { measurer.begin_sweep(); };
  hooks.visit = [&](const SweepPoint& point, Checking checking) {
    return visit_if_it_fits(point, measurer, checking);
  };
  const CalibrationOutcome outcome = run_calibration(plan, hooks, request.deadline(), session.points());
  end = end_of_stage(outcome, plan.sweeps, options.rounds, session.points());
  end.gpus = search.count;
  return end;
}

}  // namespace goodput::gpu::calibrate
