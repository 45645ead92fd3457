// make_trace OUT [DP PP MICRO_BATCHES STEPS [VPP [SLOWDOWN]]]: a generated trace for benchmarks, in the
// format of OUT's extension. One worker, in the middle, computes SLOWDOWN times as long (1.2). Default: 64 dp
// x 8 pp x 32 micro-batches x 20 steps, 1.87 M ops.
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "tests/support/trace_generator.h"
#include "traces/op/op_trace_format.h"

namespace {

int write(const goodput::OpTrace& trace, const std::string& path) {
  for (const goodput::OpTraceFormat& format : goodput::op_trace_formats()) {
    for (const std::string_view extension : format.extensions) {
      if (!path.ends_with(extension)) continue;
      const goodput::Status written = format.write(trace, path, path);
      if (!written) fmt::print(stderr, "{}\n", written.error().message());
      return written ? EXIT_SUCCESS : EXIT_FAILURE;
    }
  }
  fmt::print(stderr, "no format has the extension of {}\n", path);
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: make_trace OUT [DP PP MICRO_BATCHES STEPS [VPP [SLOWDOWN]]]\n");
    return EXIT_FAILURE;
  }
  goodput::testing::TraceSpec spec;
  const auto argument = [&](int at, int otherwise) { return argc > at ? std::atoi(argv[at]) : otherwise; };
  spec.dp = argument(2, 64);
  spec.pp = argument(3, 8);
  spec.micro_batches = argument(4, 32);
  spec.steps = argument(5, 20);
  spec.vpp = argument(6, 1);
  spec.schedule =
      spec.vpp > 1 ? goodput::testing::Schedule::kInterleaved : goodput::testing::Schedule::kOneFOneB;
  spec.type2_noops = spec.vpp > 1;
  spec.slow_dp_rank = spec.dp / 2;
  spec.slow_stage = spec.pp / 2;
  spec.slow_worker_factor = argc > 7 ? std::atof(argv[7]) : 1.2;
  return write(goodput::testing::generate_trace(spec), argv[1]);
}
