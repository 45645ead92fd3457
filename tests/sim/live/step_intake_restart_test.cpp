// A process that stops between two deliveries, and the one that goes on where it was.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "sim/base/random.h"
#include "sim/live/step_intake.h"
#include "tests/support/live_job.h"
#include "tests/support/random_cases.h"
#include "tests/support/random_integer.h"

namespace goodput {
namespace {

using testing::LiveJob;
using testing::LiveOutput;
using testing::LiveRecord;

// What a process leaves behind: that of the last step that was given out.
struct Stored {
  std::string state;
  std::vector<std::uint64_t> used;  // by file
};

// Reads each file from where it is used up to, until it stops after so many records. The rest comes out at
// the end of all.
class Process {
 public:
  Process(const testing::LiveFiles& files, const std::vector<std::size_t>& seen, const Stored& stored)
      : files_(files), seen_(seen), stored_(stored), intake_({}) {
    if (!stored.state.empty()) REQUIRE(intake_.restore(stored.state));
    for (std::size_t file = 0; file < files.size(); ++file)
      next_.push_back(stored.used.empty() ? 0 : stored.used[file] / 100);
  }

  void run(std::size_t records, RandomStream& random, std::vector<LiveOutput>& out) {
    for (; records > 0; --records) {
      std::vector<std::size_t> waiting;
      for (std::size_t file = 0; file < files_.size(); ++file) {
        if (next_[file] < files_[file].size()) waiting.push_back(file);
      }
      if (waiting.empty()) break;
      const std::size_t file = waiting[random.below(waiting.size())];
      const LiveRecord& record = files_[file][next_[file]++];
      RowSource source = record.source;
      source.is_replay = next_[file] <= seen_[file];
      intake_.add(record.rows, 0, record.rows.size(), source, 0);
      while (const auto step = intake_.take(0)) give_out(*step, out);
    }
  }

  void finish(std::vector<LiveOutput>& out) {
    while (const auto step = intake_.take_rest()) give_out(*step, out);
  }

  [[nodiscard]] const Stored& stored() const { return stored_; }
  [[nodiscard]] std::vector<std::size_t> seen() const {
    std::vector<std::size_t> seen = seen_;
    for (std::size_t file = 0; file < seen.size(); ++file) seen[file] = std::max(seen[file], next_[file]);
    return seen;
  }
  [[nodiscard]] std::uint64_t late_rows() const { return intake_.late_rows(); }

 private:
  void give_out(const GatheredStep& step, std::vector<LiveOutput>& out) {
    out.push_back(testing::output_of(step, 0));
    stored_ = {intake_.save(), {}};
    for (std::size_t file = 0; file < files_.size(); ++file)
      stored_.used.push_back(intake_.used_up_to(file, 100 * next_[file]));
  }

  const testing::LiveFiles& files_;
  std::vector<std::size_t> seen_;
  Stored stored_;
  StepIntake intake_;
  std::vector<std::size_t> next_;
};

}  // namespace

TEST_CASE("step intake: stopped at any moment and begun anew, every step still comes out once and whole") {
  for (std::uint64_t seed = 0; seed < testing::cases(200); ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "stopped");
    LiveJob job = testing::random_live_job(random);
    if (random.below(2) == 0)
      job.runs.push_back({job.runs[0].last - 2, job.runs[0].last + 3, job.runs[0].dp, 3});
    if (job.is_absolute && random.below(2) == 0) job.skew_s[{0, 0}] = 400;
    CAPTURE(testing::to_text(job));
    const testing::LiveFiles files = testing::write_files(job, random);
    std::vector<LiveRecord> records;
    for (const auto& file : files) records.insert(records.end(), file.begin(), file.end());
    std::vector<LiveOutput> out;
    Stored stored;
    std::vector<std::size_t> seen(files.size());
    for (int stops = 0; stops < 6; ++stops) {
      Process process(files, seen, stored);
      process.run(random.below(records.size()), random, out);
      stored = process.stored();
      seen = process.seen();
    }
    Process last(files, seen, stored);
    last.run(records.size(), random, out);
    last.finish(out);
    testing::check_all_whole(out, testing::true_steps(records));
    CHECK(last.late_rows() == 0);
  }
}

TEST_CASE("step intake: what is stored comes back, and what is no such text is refused") {
  StepIntake intake({});
  for (const char* bad : {"", "x\n\n", "- - 1-2\n\n", "- - 2-1 -\n\n", "- - - -\n\nworker 1 2\n",
                          "- - - -\n\nclock 1 2\n", "- - - -\n\nexpected 1 2\n", "- - - -\n\nknown 1 x\n"}) {
    CAPTURE(bad);
    CHECK_FALSE(intake.restore(bad));
  }
  const std::string state = intake.save();
  REQUIRE(intake.restore(state));
  CHECK(intake.save() == state);
}

}  // namespace goodput
