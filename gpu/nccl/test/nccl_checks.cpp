#include "gpu/nccl/test/nccl_checks.h"

#include <cstdint>
#include <iterator>

namespace goodput::gpu::testing {

std::vector<NcclCheck> nccl_checks(std::int32_t ranks) {
  std::vector<NcclCheck> checks;
  for (std::vector<NcclCheck> some : {layer_checks(ranks), graph_checks(), migration_checks(ranks)}) {
    checks.insert(checks.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  return checks;
}

}  // namespace goodput::gpu::testing
