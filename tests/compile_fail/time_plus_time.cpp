// Two points in time do not add up.
// expected error: no match for .operator\+.|invalid operands to binary expression
#include "sim/base/units.h"

namespace goodput {

#ifdef MUST_NOT_COMPILE
const auto sum = SimTime{} + SimTime{};
#else
const auto sum = SimTime{} + SimDuration{1};
#endif

}  // namespace goodput
