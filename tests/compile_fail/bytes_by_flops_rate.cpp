// Bytes divided by an arithmetic rate are not a time.
// expected error: no match for .operator/.|invalid operands to binary expression
#include "sim/base/units.h"

namespace goodput {

#ifdef MUST_NOT_COMPILE
const SimDuration taken = Bytes{8} / FlopsPerSecond{1e12};
#else
const SimDuration taken = Flops{8} / FlopsPerSecond{1e12};
#endif

}  // namespace goodput
