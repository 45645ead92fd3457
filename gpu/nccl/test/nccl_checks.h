// What ranks check together over NCCL, each with a device and a communicator. Every rank runs every check, in
// the same order.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/nccl/communicator.h"

namespace goodput::gpu::testing {

struct NcclCheck {
  std::string name;
  std::function<std::string(Communicator&)> wrong;  // "": passed, as far as this rank sees
};

// Each defined in the file of the same name.
std::vector<NcclCheck> layer_checks(std::int32_t ranks);
std::vector<NcclCheck> graph_checks();
std::vector<NcclCheck> migration_checks(std::int32_t ranks);

std::vector<NcclCheck> nccl_checks(std::int32_t ranks);

}  // namespace goodput::gpu::testing
