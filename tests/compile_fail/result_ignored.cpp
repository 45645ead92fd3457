// A Result that nobody looks at.
// expected error: ignoring return(ed)? value
#include "sim/base/errors.h"

namespace goodput {

Status may_fail();

void caller() {
#ifdef MUST_NOT_COMPILE
  may_fail();
#else
  static_cast<void>(may_fail());
#endif
}

}  // namespace goodput
