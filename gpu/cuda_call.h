// Every call of the CUDA runtime goes through GOODPUT_CUDA: what fails says where, and which call it was.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace goodput::gpu {

class CudaError : public std::runtime_error {
 public:
  CudaError(cudaError_t code, const char* call, const char* file, int line)
      : std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                           cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")"),
        code_(code) {}

  [[nodiscard]] cudaError_t code() const { return code_; }

 private:
  cudaError_t code_;
};

// Throws CudaError, and clears the error where it is not one that stays, so that the caller may go on.
inline void check_cuda(cudaError_t code, const char* call, const char* file, int line) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw CudaError(code, call, file, line);
}

}  // namespace goodput::gpu

#define GOODPUT_CUDA(call) ::goodput::gpu::check_cuda((call), #call, __FILE__, __LINE__)
