# models/moe_dispatch.h, which host and device share, compiles as what the device side has: C++17, with nothing of ours
# around it. With WITH=nvcc in kernels too, where there is a CUDA compiler.
# cmake -DWITH=host|nvcc -DCOMPILER=<c++> -DNVCC=<nvcc> -DSOURCE=<repository> -DOUT=<directory>
#   -P shared_header_test.cmake
cmake_minimum_required(VERSION 3.25)
if(WITH STREQUAL host)
  set(compile ${COMPILER} -std=c++17 -Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror -fsyntax-only -x c++
              -include ${SOURCE}/models/moe_dispatch.h /dev/null)
elseif(NVCC)
  # Not -arch=sm_90a: that adds a pass for compute_90, which has no sm_90a instructions.
  set(compile ${NVCC} -gencode arch=compute_90a,code=sm_90a -std=c++17 -ccbin ${COMPILER} -Xcompiler=-Wall,-Wextra
              -Werror all-warnings -I${SOURCE} -c ${SOURCE}/tests/cuda/dispatch_header.cu -o ${OUT}/dispatch_header.o)
else()
  message("skipped: no nvcc")
  return()
endif()
execute_process(COMMAND ${compile} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(failed)
  message(FATAL_ERROR "${output}")
endif()
