// Whether there is an NCCL to use. It is loaded when it is asked for, not linked: a program that can do
// something without it says what is missing and goes on.
#pragma once

#include <string>

namespace goodput::gpu {

struct NcclSearch {
  int version = 0;       // NCCL's number, 22809 is 2.28.9; 0: none
  std::string why_none;  // "" where there is one
};

// Loads NCCL, libnccl.so.2 where the system finds libraries; 2.19 or later will do. One line says why none
// does. Call it before anything else of NCCL: until it has found one, all that <nccl.h> declares answers
// ncclSystemError.
[[nodiscard]] NcclSearch find_nccl();

// What find_nccl() says of one that was loaded: of its version, if that is known, then of what is wrong with
// it.
[[nodiscard]] NcclSearch usable_nccl(const NcclSearch& loaded);

// Loads it, of any version. In nccl_library.cpp, and tests/simt for what stands in for NCCL there.
[[nodiscard]] NcclSearch load_nccl();

// "2.28.9" for 22809, "2.8.4" for 2804: the numbers have a digit more since 2.9.
[[nodiscard]] std::string nccl_version_text(int version);

}  // namespace goodput::gpu
