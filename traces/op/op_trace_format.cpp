#include "traces/op/op_trace_format.h"

namespace goodput {

std::vector<OpTraceFormat> op_trace_formats() {
  return {
#define GOODPUT_OP_TRACE_FORMAT(name) name##_op_trace_format(),
#include "traces/op/op_trace_formats.def"
#undef GOODPUT_OP_TRACE_FORMAT
  };
}

}  // namespace goodput
