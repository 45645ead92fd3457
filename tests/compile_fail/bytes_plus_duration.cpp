// A size and a time do not add up.
// expected error: no match for .operator\+.|invalid operands to binary expression
#include "sim/base/units.h"

namespace goodput {

#ifdef MUST_NOT_COMPILE
const auto sum = Bytes{8} + SimDuration{1};
#else
const auto sum = Bytes{8} / BytesPerSecond{4e9} + SimDuration{1};
#endif

}  // namespace goodput
