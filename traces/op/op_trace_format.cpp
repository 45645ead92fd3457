#include "traces/op/op_trace_format.h"

#include "sim/base/registry.h"

namespace goodput {

std::span<const OpTraceFormat> op_trace_formats() {
  static const Registry<OpTraceFormat> all = {
#define GOODPUT_OP_TRACE_FORMAT(name) op_trace_format_##name(),
#include "traces/op/op_trace_formats.def"
#undef GOODPUT_OP_TRACE_FORMAT
  };
  return all.infos();
}

}  // namespace goodput
