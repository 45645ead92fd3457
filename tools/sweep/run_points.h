// Runs points of a sweep on all threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "sim/base/errors.h"
#include "sim/config/library.h"
#include "tools/sweep/store/point_rows.h"
#include "tools/sweep/sweep_request.h"

namespace goodput {

// Each point on one thread; `take` gets it as soon as it is finished, one at a time, in any order. Ends with
// the first error of `take`.
Status run_points(const SweepRequest& request, const config::Library& library,
                  std::span<const std::uint64_t> points, unsigned jobs,
                  const std::function<Status(const PointRows&)>& take);

}  // namespace goodput
