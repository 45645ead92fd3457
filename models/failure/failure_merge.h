// Several failure models seen as one.
#pragma once

#include <memory>
#include <vector>

#include "sim/nodes/failure_model.h"

namespace goodput {

// A node is there while all models that know its id say so; it runs at the product of their speeds. A model's
// word on the speed of a node ends when the node is lost, and counts for nothing while it is not there: who
// returns is healthy.
// Ends with the first of its models that has an end(), or when some model that knows all nodes has lost every
// one of them for ever. REQUIRES: models.
[[nodiscard]] std::unique_ptr<FailureModel> merge_failures(std::vector<std::unique_ptr<FailureModel>> models);

}  // namespace goodput
