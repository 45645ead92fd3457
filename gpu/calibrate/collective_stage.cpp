#include "gpu/calibrate/collective_stage.h"

#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "gpu/bench/run_report.h"
#include "gpu/calibrate/calibration_header.h"
#include "gpu/calibrate/collective_prediction.h"
#include "gpu/calibrate/collectives.h"
#include "gpu/calibrate/matmul.h"
#include "gpu/calibrate/sentinels.h"
#include "gpu/device.h"

namespace goodput::gpu::calibrate {
namespace {

// Schedulers that give a process its GPU alone call it the first.
int take_device(const RankProcess& process) {
  const DeviceSearch search = find_devices();
  if (search.count == 0) throw std::runtime_error(search.why_none);
  const std::int32_t device = search.count == 1 ? 0 : process.local_rank();
  if (device >= search.count) {
    throw std::runtime_error("this is local process " + std::to_string(device) + " of a machine that has " +
                             std::to_string(search.count) + " GPUs: start one process per GPU");
  }
  GOODPUT_CUDA(cudaSetDevice(device));
  return search.count;
}

// The points of this stage that there are, for what is printed at the end.
std::vector<Sweep> measured_collectives(const MeasuredPoints& points) {
  Sweep sweep{"collectives", {}, {}};
  for (const VisitRecord* const record : points.points()) {
    if (record->sweep == sweep.name) sweep.points.push_back({record->key, 0, {}, {}});
  }
  return {sweep};
}

}  // namespace

StageEnd measure_as_rank(const StageRequest& request, JournalStart start, RankProcess& process) {
  const CalibrateOptions& options = request.options;
  const int gpus = take_device(process);
  for (const std::string& why : {find_collectives().why_none, find_matmul().why_none}) {
    if (!why.empty()) throw std::runtime_error(why);
  }
  const DeviceState state(bus_id());
  std::set<std::string> held_down;
  std::optional<CalibrationSession> session;
  CalibrationHooks hooks;
  if (process.rank() == 0) {
    session.emplace(options, bench::OutputFile(options.out), start, header_of(request, gpus, state));
    note_machine(request, state, *session);
    hooks = hooks_of(*session, state, held_down);
  }
  const CollectiveRun run{options.sizes,
                          options.only,
                          bench::name_of(bench::kTierOfBuild),
                          options.rounds,
                          options.seed,
                          sentinels(options.sizes),
                          session ? session->journal().kept() : std::vector<Record>(),
                          request.deadline()};
  MeasuredPoints of_rank_0(options.rounds);  // measure_collectives() brings them
  MeasuredPoints& known = session ? session->points() : of_rank_0;
  const CalibrationOutcome outcome = measure_collectives(process, place_of_this_rank(), run, hooks, known);
  if (!session) return {};
  for (const std::string& line : collective_predictions(known)) print_line(line);
  return end_of_stage(outcome, measured_collectives(known), options.rounds, known);
}

}  // namespace goodput::gpu::calibrate
