// Ranks for tests: processes forked from the one that tests.
#pragma once

#include <chrono>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace simt {

// What the ranks came to.
struct RankAnswers {
  std::vector<std::string> by_rank;
};
bool operator==(const RankAnswers& left, const RankAnswers& right);
std::ostream& operator<<(std::ostream& out, const RankAnswers& answers);

RankAnswers all_well(int ranks);  // nothing is wrong with any

// Runs `rank_main(rank)` in a process of its own for every rank, all at the same time. It answers "" or what
// is wrong, which comes back by rank; of a process that ends otherwise the answer is how: "killed by signal
// 9", "exited with 1", "threw: ...". What runs longer than `limit` is killed. No process is left.
//
// A rank has a copy of the emulated device as it was, and must not use the framework of the test.
RankAnswers run_ranks(int ranks, const std::function<std::string(int)>& rank_main,
                      std::chrono::milliseconds limit = std::chrono::seconds(20));

}  // namespace simt
