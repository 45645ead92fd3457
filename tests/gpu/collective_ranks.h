// Ranks that measure collectives on the emulator: processes of the one that tests, which keep what they got.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu/calibrate/calibration_file.h"
#include "gpu/calibrate/collectives.h"
#include "gpu/nccl/rank_launcher.h"
#include "gpu/nccl/shared_page.h"
#include "tests/gpu/nccl_ranks.h"

namespace goodput::gpu::calibrate {

inline CollectiveRun quick_run() {
  CollectiveRun run;
  run.sizes = Sizes::kQuick;
  run.tier = "emulated";
  run.rounds = 1;
  run.deadline = {bench::steady_clock(), bench::steady_clock()() + 100};
  return run;
}

// What ranks answer when they have ended well: an exception would end the others.
class CollectiveAnswers {
 public:
  void put(const RankProcess& process, const std::string& text) {
    text.copy(page_->by_rank[static_cast<std::size_t>(process.rank())], kMostText - 1);
  }
  [[nodiscard]] std::string of(std::size_t rank) { return page_->by_rank[rank]; }

 private:
  static constexpr std::size_t kMostText = 3000;
  struct Page {
    char by_rank[4][kMostText];
  };

  gpu::SharedPage<Page> page_;
};

// One rank: what it wants, how it went, and what was said by its hooks.
struct CollectiveRank {
  RankProcess& process;
  CollectiveRun run = quick_run();
  RankPlace place{"a machine", "gpu " + std::to_string(process.rank())};
  MeasuredPoints points{run.rounds};
  std::vector<Record> journal{};
  std::vector<std::string> printed{};
  int saved = 0;

  CalibrationOutcome measure() {
    const CalibrationHooks hooks{{},
                                 {},
                                 [this](const Record& record) { journal.push_back(record); },
                                 [this] { ++saved; },
                                 [this](const std::string& line) { printed.push_back(line); }};
    return measure_collectives(process, place, run, hooks, points);
  }
};

// What became of each; `body` throws what is wrong.
inline std::vector<RankEnd> run_collective_ranks(std::int32_t ranks,
                                                 const std::function<void(CollectiveRank&)>& body,
                                                 const std::function<void(std::int32_t)>& prepare = {}) {
  LaunchOptions options;
  options.ranks = ranks;
  options.limit = std::chrono::seconds(100);
  options.prepare = prepare;
  return run_ranks(options, [&](RankProcess& process) {
    CollectiveRank rank{process};
    body(rank);
  });
}

inline void expect_that(bool is_so, const std::string& what) {
  if (!is_so) throw std::runtime_error(what);
}

}  // namespace goodput::gpu::calibrate
