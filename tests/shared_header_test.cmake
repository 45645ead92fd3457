# What host and device share compiles as what the device side has: C++17, with nothing of ours around it. (kernel_gates
# compiles it in kernels.) euclid_chain.h includes dispatch.h.
# cmake -DCOMPILER=<c++> -DSOURCE=<repository> -P shared_header_test.cmake
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${COMPILER} -std=c++17 -Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror -fsyntax-only
                        -I${SOURCE} -x c++ -include ${SOURCE}/models/dispatch/euclid_chain.h /dev/null
                RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(failed)
  message(FATAL_ERROR "${output}")
endif()
