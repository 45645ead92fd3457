// The ranks that measure collectives, of which each is a process with a GPU of its own: who they are, the
// communicators of 2, 4, 8, ... of them, and visits to points, which all ranks make together. Ranks that are
// in no point's group wait for those that are.
//
// What a rank cannot do before anything is queued (memory, for example) is told to all, which leave the point
// out; what fails later ends all of them, for nobody can say what the others have done by then.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/calibrate/collective_nccl_exchange.h"
#include "gpu/calibrate/collective_nccl_timer.h"
#include "gpu/calibrate/collective_sweep.h"
#include "gpu/calibrate/collectives.h"

namespace goodput::gpu::calibrate {

class CollectiveRanks {
 public:
  // All ranks make one. `wanted`: a number that is the same on ranks that want the same. `deadline`: rank 0's
  // counts. Throws RankError for ranks that do not agree, share a GPU, or for one rank alone, and as
  // Communicator.
  CollectiveRanks(Communicator& all, const RankPlace& place, Sizes sizes, std::uint64_t wanted,
                  const bench::Deadline& deadline);

  [[nodiscard]] const CollectiveGroups& groups() const { return groups_; }
  // On the shared clock: the same answer on all ranks.
  [[nodiscard]] const bench::Deadline& deadline() const { return deadline_; }

  // Rank 0's text, on all ranks.
  [[nodiscard]] std::string text_of_rank_0(const std::string& own) { return exchange_.text_of_first(own); }

  // The next points warm up from the beginning.
  void begin_sweep();
  // Throws PointLeftOut (no rank visits what one cannot), bench::DeadlinePassed, all on all ranks or on none;
  // and as Communicator, when the ranks are of no use any more.
  [[nodiscard]] Visit visit(const CollectivePoint& point, Checking checking);
  // Of a point of one GPU: on all at the same time, each for itself; the slowest counts.
  [[nodiscard]] Visit visit_each(const SweepPoint& point);

  // All ranks call it, and nothing else after it.
  void close();

 private:
  // The ranks of a group, or those that are not in it.
  struct Members {
    std::unique_ptr<Communicator> communicator;
    std::unique_ptr<CollectiveTimer> timer;  // null where this rank is not in it
  };

  void meet(const RankPlace& place, std::uint64_t wanted);
  void split();
  [[nodiscard]] Members& members_of(const CollectiveGroup& group);
  void agree(const std::function<void()>& step);

  Communicator& all_;
  bench::StoppingRule rule_;
  SharedTime time_;
  bench::Deadline deadline_;
  CollectiveExchange exchange_;
  PointMeasurer alone_;
  CollectiveGroups groups_;
  std::vector<Members> members_;  // by group
};

}  // namespace goodput::gpu::calibrate
