#include "tools/sweep/run_points.h"

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/parallel.h"
#include "tools/sweep/point_runner.h"

namespace goodput {

Status run_points(const SweepRequest& request, const config::Library& library,
                  std::span<const std::uint64_t> points, unsigned jobs,
                  const std::function<Status(const PointRows&)>& take) {
  std::mutex one_at_a_time;
  std::vector<std::unique_ptr<PointRunner>> idle;  // with what they know of the points before
  std::optional<Error> failed;
  parallel_pieces(jobs, points.size(), 1, [&](std::size_t at, std::size_t) {
    std::unique_ptr<PointRunner> runner;
    {
      const std::scoped_lock lock(one_at_a_time);
      if (failed) return;
      if (!idle.empty()) {
        runner = std::move(idle.back());
        idle.pop_back();
      }
    }
    if (!runner) runner = std::make_unique<PointRunner>(request, library);
    const PointRows rows = runner->run(points[at]);
    const std::scoped_lock lock(one_at_a_time);
    idle.push_back(std::move(runner));
    if (failed) return;
    if (Status taken = take(rows); !taken) failed = std::move(taken).error();
  });
  if (failed) return *std::move(failed);
  return Ok{};
}

}  // namespace goodput
