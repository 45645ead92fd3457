// Counts of different things have no order.
// expected error: no match for .operator<.|invalid operands to binary expression
#include "sim/base/units.h"

namespace goodput {

#ifdef MUST_NOT_COMPILE
const bool less = Bytes{1} < Flops{2};
#else
const bool less = Bytes{1} < Bytes{2};
#endif

}  // namespace goodput
