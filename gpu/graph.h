// A captured CUDA graph, ready to be replayed.
#pragma once

#include <cuda_runtime.h>

#include "gpu/cuda_call.h"

namespace goodput::gpu {

class Graph {
 public:
  // Captures what `queue` puts on the stream. Throws CudaError and what `queue` throws; the stream captures
  // no more then.
  template <class Queue>
  Graph(cudaStream_t stream, const Queue& queue) : graph_(capture(stream, queue)) {
    const cudaError_t error = cudaGraphInstantiate(&executable_, graph_, 0);
    if (error != cudaSuccess) static_cast<void>(cudaGraphDestroy(graph_));
    GOODPUT_CUDA(error);
  }
  Graph(Graph&&) = delete;
  Graph& operator=(Graph&&) = delete;
  ~Graph() {
    static_cast<void>(cudaGraphExecDestroy(executable_));
    static_cast<void>(cudaGraphDestroy(graph_));
  }

  void launch(cudaStream_t stream) const { GOODPUT_CUDA(cudaGraphLaunch(executable_, stream)); }

 private:
  template <class Queue>
  static cudaGraph_t capture(cudaStream_t stream, const Queue& queue) {
    cudaGraph_t graph = nullptr;
    GOODPUT_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    try {
      queue();
    } catch (...) {
      static_cast<void>(cudaStreamEndCapture(stream, &graph));
      if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
      static_cast<void>(cudaGetLastError());
      throw;
    }
    GOODPUT_CUDA(cudaStreamEndCapture(stream, &graph));
    return graph;
  }

  cudaGraph_t graph_;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace goodput::gpu
