#include "gpu/nccl/test/check_run.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "gpu/cuda_call.h"
#include "gpu/device_memory.h"
#include "gpu/nccl/nccl_call.h"
#include "gpu/nccl/nccl_transport.h"
#include "gpu/nccl/test/gather_numbers.h"
#include "gpu/nccl/test/nccl_checks.h"

namespace goodput::gpu::testing {
namespace {

// At once, so that lines of two ranks do not mix.
void print(const std::string& lines) {
  std::fwrite(lines.data(), 1, lines.size(), stdout);
  std::fflush(stdout);
}

// A row from every rank to every rank: NCCL connects two ranks only when they first need each other.
void reach_all(Communicator& communicator) {
  const auto ranks = static_cast<std::size_t>(communicator.ranks());
  const std::vector<std::int32_t> one_row(ranks, 1);
  const DeviceBuffer<std::int32_t> send = upload(std::vector<std::int32_t>(ranks, communicator.rank()));
  DeviceBuffer<std::int32_t> received(ranks);
  NcclTransport transport(communicator);
  const Stream stream;
  transport.all_to_all({{send.data(), received.data(), one_row.data(), one_row.data()}}, sizeof(std::int32_t),
                       stream.get());
  transport.synchronize(stream.get());
  static_cast<void>(gather_numbers({0}, communicator));
}

bool run_check(const NcclCheck& check, bool print_name, Communicator& communicator, CheckTally& tally) {
  const bool is_first = communicator.rank() == 0;
  if (is_first && print_name)
    print(check.name + "\n");  // before it runs, so that one that hangs has said which it is
  const std::string wrong = check.wrong(communicator);
  if (!wrong.empty()) {
    print("FAILED " + check.name + "\n  rank " + std::to_string(communicator.rank()) + ": " + wrong + "\n");
  }
  const std::vector<std::int32_t> failures = gather_numbers({wrong.empty() ? 0 : 1}, communicator);
  const bool passed = std::count(failures.begin(), failures.end(), 0) == communicator.ranks();
  if (is_first) ++(passed ? tally.passed : tally.failed);
  return passed;
}

}  // namespace

bool run_checks(const CheckRun& run, RankProcess& process, CheckTally& tally) {
  bool joined = false;
  bool all_passed = true;
  try {
    Communicator communicator(process, run.deadline);
    reach_all(communicator);
    joined = true;
    for (const NcclCheck& check : nccl_checks(communicator.ranks())) {
      if (check.name.find(run.only) == std::string::npos) continue;
      all_passed = run_check(check, run.print_names, communicator, tally) && all_passed;
    }
    communicator.close();
    return all_passed;
  } catch (const NcclError& error) {
    if (!joined && error.code() != ncclRemoteError) ++tally.refused;
    throw;
  }
}

}  // namespace goodput::gpu::testing
