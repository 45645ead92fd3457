// Names of the JSON classes, for headers that pass them by reference.
#pragma once

#include <cstdint>

namespace goodput {

enum class KeyOrder : std::uint8_t { kByName, kAsAdded };

template <KeyOrder kOrder>
class BasicJson;

// What is read: the members of an object are in the order of their names.
using Json = BasicJson<KeyOrder::kByName>;
// What is written: the members of an object are in the order in which they were added.
using OrderedJson = BasicJson<KeyOrder::kAsAdded>;

}  // namespace goodput
