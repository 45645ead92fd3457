#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <exception>
#include <fstream>
#include <memory>
#include <sstream>

#include "gpu/calibrate/calibration_header.h"
#include "gpu/calibrate/collective_nccl.h"
#include "gpu/calibrate/collectives.h"
#include "gpu/nccl/nccl_library.h"

namespace goodput::gpu::calibrate {
namespace {

// Passes through run_calibration(), which would go on behind what derives from std::exception.
struct RanksBroken {};

// FNV-1a, with an end behind every text.
void mix(std::uint64_t& hash, const std::string& text) {
  for (const char c : text + '\n') hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
}

// What ranks must have in common before they meet.
std::uint64_t wanted_by(const CollectiveRun& run) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  mix(hash, run.only);
  mix(hash, run.tier);
  for (const std::uint64_t number :
       {static_cast<std::uint64_t>(run.sizes), run.seed, static_cast<std::uint64_t>(run.rounds)})
    mix(hash, std::to_string(number));
  for (const SweepPoint& sentinel : run.sentinels) mix(hash, text_of(sentinel.key));
  return hash;
}

class CollectiveCalibration {
 public:
  CollectiveCalibration(Communicator& all, const RankPlace& place, const CollectiveRun& run,
                        const CalibrationHooks& of_rank_0, MeasuredPoints& points)
      : ranks_(all, place, run.sizes, wanted_by(run), run.deadline),
        is_first_(all.rank() == 0),
        of_rank_0_(of_rank_0),
        points_(points),
        plan_(plan_of(run, all.ranks())) {
    share(run.records);
  }

  CalibrationOutcome measure() {
    for (const std::string& note : ranks_.groups().notes) add_note(note);
    if (plan_.sweeps.empty()) return {CalibrationEnd::kDone, 0};
    try {
      return run_calibration(plan_, hooks(), ranks_.deadline(), points_);
    } catch (const RanksBroken&) {
      leave_word();
      std::rethrow_exception(broken_);
    }
  }
  void close() { ranks_.close(); }

 private:
  // Ranks that go on from the same records go on alike.
  void share(const std::vector<Record>& of_rank_0) {
    std::string lines;
    for (const Record& record : of_rank_0) lines += line_of(record);
    std::istringstream shared(ranks_.text_of_rank_0(lines));
    for (std::string line; !is_first_ && std::getline(shared, line);) points_.add(parse_record(line));
  }

  CalibrationPlan plan_of(const CollectiveRun& run, std::int32_t ranks) {
    Sweep sweep = collective_sweep(run.sizes, ranks_.groups().groups,
                                   [this](const CollectivePoint& point, Checking checking) {
                                     return unless_broken([&] { return ranks_.visit(point, checking); });
                                   });
    const auto left_out = [&](const SweepPoint& point) {
      return (sweep.name + " " + text_of(point.key)).find(run.only) == std::string::npos;
    };
    sweep.points.erase(std::remove_if(sweep.points.begin(), sweep.points.end(), left_out),
                       sweep.points.end());
    CalibrationPlan plan{{}, run.sentinels, run.tier, run.rounds, run.seed};
    if (!sweep.points.empty()) plan.sweeps.push_back(std::move(sweep));
    for (SweepPoint& sentinel : plan.sentinels) {
      sentinel.key.table.params.push_back({"ranks", std::int64_t{ranks}});
      sentinel.visit = [this, one = sentinel](PointMeasurer&, Checking) {
        return unless_broken([&] { return ranks_.visit_each(one); });
      };
    }
    return plan;
  }

  CalibrationHooks hooks() {
    return {[this] { ranks_.begin_sweep(); },
            [this](const SweepPoint& point, Checking checking) { return point.visit(unused_, checking); },
            [this](const Record& record) {
              if (is_first_) of_rank_0_.append(record);
            },
            [this] {
              if (is_first_) of_rank_0_.save();
            },
            [this](const std::string& line) {
              if (is_first_) of_rank_0_.print(line);
            }};
  }

  template <class Step>
  Visit unless_broken(const Step& step) {
    try {
      return step();
    } catch (const bench::DeadlinePassed&) {
      throw;
    } catch (const PointLeftOut&) {
      throw;
    } catch (const std::exception&) {
      broken_ = std::current_exception();
      throw RanksBroken();
    }
  }

  void leave_word() {
    try {
      std::rethrow_exception(broken_);
    } catch (const std::exception& error) {
      add_note("collectives were aborted: " + std::string(error.what()));
    }
    if (is_first_) of_rank_0_.save();
  }

  void add_note(const std::string& text) {
    const std::vector<std::string>& said = points_.notes();
    if (std::find(said.begin(), said.end(), text) != said.end()) return;
    if (is_first_) of_rank_0_.append(NoteRecord{text});
    if (is_first_) of_rank_0_.print(text);
    points_.add(NoteRecord{text});
  }

  CollectiveRanks ranks_;
  bool is_first_;
  const CalibrationHooks& of_rank_0_;
  MeasuredPoints& points_;
  PointMeasurer unused_{{}, {bench::steady_clock(), 0}};
  std::exception_ptr broken_;
  CalibrationPlan plan_;
};

std::string host_of_process() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, HOST_NAME_MAX);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return std::string(name) + " " + boot;
}

}  // namespace

CollectiveSearch find_collectives() {
  const NcclSearch search = find_nccl();
  return {search.version == 0 ? "" : nccl_version_text(search.version), search.why_none};
}

RankPlace place_of_this_rank() {
  return {host_of_process(), bus_id()};
}

CalibrationOutcome measure_collectives(RankProcess& process, const RankPlace& place, const CollectiveRun& run,
                                       const CalibrationHooks& of_rank_0, MeasuredPoints& points) {
  Communicator all(process);
  CollectiveCalibration calibration(all, place, run, of_rank_0, points);
  const CalibrationOutcome outcome = calibration.measure();
  calibration.close();
  all.close();
  return outcome;
}

}  // namespace goodput::gpu::calibrate
