// Every call of NCCL goes through GOODPUT_NCCL_CALL: what fails says where, which call it was, and what NCCL
// says of it.
#pragma once

#include <nccl.h>

#include <stdexcept>
#include <string>

namespace goodput::gpu {

// One line: where, what NCCL calls it, and its last warning.
class NcclError : public std::runtime_error {
 public:
  NcclError(ncclResult_t code, const std::string& where)
      : std::runtime_error(where + ": " + ncclGetErrorString(code) + last_warning()), code_(code) {}

  [[nodiscard]] ncclResult_t code() const { return code_; }

 private:
  // Its first line. NCCL keeps one for the process, not one a communicator.
  static std::string last_warning() {
    const char* const text = ncclGetLastError(nullptr);
    const std::string all = text == nullptr ? "" : text;
    const std::string line = all.substr(0, all.find('\n'));
    return line.empty() ? "" : ": " + line;
  }

  ncclResult_t code_;
};

// ncclInProgress is an answer of communicators that do not block, not an error.
inline void check_nccl(ncclResult_t code, const char* call, const char* file, int line) {
  if (code == ncclSuccess || code == ncclInProgress) return;
  throw NcclError(code, std::string(file) + ":" + std::to_string(line) + ": " + call);
}

}  // namespace goodput::gpu

#define GOODPUT_NCCL_CALL(call) ::goodput::gpu::check_nccl((call), #call, __FILE__, __LINE__)
