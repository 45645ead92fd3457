// The collectives of a machine, or of several: measured by one process a GPU, all of which do the same. No
// type of NCCL is in here; where NCCL's header was not there, collectives_absent.cpp says so.
//
// What a program does: before any call of CUDA it forks ranks by run_ranks() (gpu/nccl/rank_launcher.h;
// `prepare`: CUDA_MODULE_LOADING=EAGER and remember_stop_signals(); `passed_on`: stop_signal()), or is
// started as ranks (environment_rank()). In each it calls find_collectives(), cudaSetDevice(local_rank()) and
// measure_collectives() with the same run. Rank 0 alone has the journal and the file: its hooks, records,
// deadline and clock are those of all, so until_stopped() there ends all of them. They come back with the
// same points, of which rank 0 prints collective_predictions().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/calibrate/run_calibration.h"
#include "gpu/nccl/rank_process.h"

namespace goodput::gpu::calibrate {

// NCCL's version, "2.28.9", and why there is none.
struct CollectiveSearch {
  std::string version;
  std::string why_none;  // one line with the remedy; "" where there is one
};
// Loads NCCL: calls nothing of CUDA. To be called in every rank, before anything else in here.
[[nodiscard]] CollectiveSearch find_collectives();

// Where a rank runs.
struct RankPlace {
  std::string host;  // this machine's name and when it was started
  std::string gpu;   // its bus id
};
// The current device.
[[nodiscard]] RankPlace place_of_this_rank();

struct CollectiveRun {
  Sizes sizes = Sizes::kFull;
  std::string only;  // part of 'SWEEP POINT'; empty: all
  std::string tier;
  int rounds = 2;
  std::uint64_t seed = 1;
  // Visited on all ranks at once, each by itself, and the slowest counts: so they are not the sentinels of
  // one GPU, and are named after the ranks.
  std::vector<SweepPoint> sentinels;
  std::vector<Record> records;  // rank 0's: what its journal has, and its points are made of
  bench::Deadline deadline;     // rank 0's
};

// `points`: on the other ranks than 0 of nothing. Throws RankError for one rank alone, ranks that share a GPU
// (their times are correctness_only) and ranks that want something else; and as Communicator where a rank is
// lost, or something fails that not all ranks know of. Then what was measured is saved, and said in a note.
[[nodiscard]] CalibrationOutcome measure_collectives(RankProcess& process, const RankPlace& place,
                                                     const CollectiveRun& run,
                                                     const CalibrationHooks& of_rank_0,
                                                     MeasuredPoints& points);

}  // namespace goodput::gpu::calibrate
