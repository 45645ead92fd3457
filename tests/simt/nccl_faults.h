// Failures on order: at the k-th call of this process NCCL fails, the process dies, or it is late.
#pragma once

#include <chrono>
#include <string>

#include "tests/simt/nccl.h"

namespace simt {

// Calls are counted from 1, 0 is none: those of ncclCommInitRankConfig, ncclCommSplit, of what moves data, of
// ncclGroupEnd and ncclCommFinalize, since set_nccl_faults() or the program's start.
struct NcclFaults {
  int fail_call = 0;  // returns `fail_with` and does nothing
  ncclResult_t fail_with = ncclSystemError;
  int die_at_call = 0;  // SIGKILL
  int delay_at_call = 0;
  std::chrono::milliseconds delay{0};
  int corrupt_at_call = 0;  // what sends: the first byte arrives changed at one peer
  int version = 0;          // what ncclGetVersion answers instead of its own
};

// In place of what the environment says: SIMT_NCCL_FAULTS="rank=1 die_at_call=3", with the members' names as
// keys (`delay` is in milliseconds, `fail_with` a number). `rank` limits it to the process that joins as that
// rank, but for `version`, which is asked before a rank is known.
void set_nccl_faults(const NcclFaults& faults);

// As at the program's start.
void set_nccl_faults_of_environment();

// For the functions of nccl.h. ----------------------------------------------------------------------------

struct ParsedNcclFaults {
  NcclFaults faults;
  int rank = -1;      // any
  std::string error;  // what is wrong with the text, if anything is
};

ParsedNcclFaults parse_nccl_faults(const std::string& text);

// The version that is on order; 0: none.
int faulty_nccl_version();

// From here on only faults for `rank` happen. Returns what is wrong with the environment variable, or "".
std::string note_nccl_rank(int rank);

// Counts a call, with what is on order for it. ncclSuccess: it is to be executed.
ncclResult_t count_nccl_call();

// Whether what the call that was counted last sends is to be changed.
bool is_to_corrupt();

}  // namespace simt
