#include "sim/ops/op_type_table.h"

#include <doctest/doctest.h>

#include "sim/base/errors.h"

namespace goodput {

TEST_CASE("types: a recording's table begins with NDTimeline's types and accepts only new names") {
  OpTypeTable types;
  CHECK(types.size() == kNdtimelineTypeCount);
  CHECK(types[OpType::kForwardSend].label == "forward-pp-comm");
  CHECK(types[OpType::kForwardSend].op_class == OpClass::kP2p);
  const OpType added = types.add({"broadcast (world)", "broadcast", OpClass::kCollective, {}});
  CHECK(index_of(added) == kNdtimelineTypeCount);
  CHECK(types[added].name == "broadcast (world)");
  CHECK_THROWS_AS(types.add({"gc", "gc", OpClass::kHost, {}}), InternalError);
  while (types.size() < OpTypeTable::kMostTypes) types.add({std::to_string(types.size()), "", {}, {}});
  CHECK_THROWS_AS(types.add({"one more", "", {}, {}}), InternalError);
}

}  // namespace goodput
