# How a program finds cuBLAS when it runs, what it says where there is none, and that products are those of row-major
# matrices: with libraries that stand in for it (cuda/cublas_stub.cpp). Skipped where there is no cublasLt.h.
# cmake -DSOURCE=<repository> -DOUT=<directory> -DCOMPILER=<c++> -P cublas_library_test.cmake
cmake_minimum_required(VERSION 3.25)
set(wrong 0)
find_path(cuda cublasLt.h PATHS /usr/local/cuda/include)
if(NOT cuda)
  message("skipped: no cublasLt.h")
  return()
endif()
file(STRINGS ${cuda}/cublas_api.h major REGEX "define CUBLAS_VER_MAJOR ")
file(STRINGS ${cuda}/cublas_api.h grouped REGEX "cublasGemmGroupedBatchedEx\\(")
string(REGEX REPLACE ".*CUBLAS_VER_MAJOR +" "" major "${major}")

# compile(OUTPUT SOURCE OPTION...), of C++17
function(compile output)
  execute_process(COMMAND ${COMPILER} -std=c++17 -Wall -Wextra -Wconversion -Wshadow -Werror -I${SOURCE}
                          -isystem ${cuda} -o ${OUT}/${output} ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# stub(FOLDER OPTION...): a libcublasLt, and a libcublas that no loader takes
function(stub folder)
  file(MAKE_DIRECTORY ${OUT}/${folder})
  compile(${folder}/libcublasLt.so.${major} -shared -fPIC ${SOURCE}/tests/cuda/cublas_stub.cpp ${ARGN})
  file(WRITE ${OUT}/${folder}/libcublas.so.${major} "text\n")
endfunction()

# says(FOLDER EXPECTED): what the probe says behind "before", with LD_LIBRARY_PATH=FOLDER.
function(says folder expected)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${OUT}/${folder} ${OUT}/probe
                  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE failed)
  string(REPLACE "${OUT}/" "" output "${output}")
  set(expected "before: cublasLtMatmulDescCreate: cuBLAS was not loaded\nfound: ${expected}\n")
  if(failed OR NOT output STREQUAL expected)
    message("${folder}: expected\n${expected}got\n${output}")
    math(EXPR wrong "${wrong} + 1")
    set(wrong ${wrong} PARENT_SCOPE)
  endif()
endfunction()

file(REMOVE_RECURSE ${OUT})
stub(one_by_one)
stub(at_once)
stub(incomplete -DSTUB_WITHOUT_HEURISTIC)
file(WRITE ${OUT}/no_library/libcublasLt.so.${major} "text\n")
set(calibrate ${SOURCE}/gpu/calibrate)
compile(probe -fvisibility=hidden ${SOURCE}/tests/cuda/cublas_probe.cpp ${calibrate}/cublas_library.cpp
        ${calibrate}/matmul.cpp ${calibrate}/matmul_cublas.cpp ${calibrate}/matmul_cublas_grouped.cpp -ldl)

string(JOIN "\n" products
  "cuBLAS ${major}.2.3"
  "bf16 m=3 n=5 k=4: right"
  "bf16 dgrad m=3 n=5 k=4: right"
  "bf16 wgrad m=3 n=5 k=4: right"
  "fp8 m=3 n=5 k=4: right"
  "fp8 dgrad m=3 n=5 k=4: cublasLtMatmul has no algorithm for fp8 dgrad m=3 n=5 k=4"
  "grouped dgrad: right"
  "grouped wgrad: right"
  "bf16 m=3 n=13 k=4: cublasLtMatmul has no algorithm for bf16 m=3 n=13 k=4"
  "bf16 m=3 n=14 k=4: cublasLtMatmul has no algorithm for bf16 m=3 n=14 k=4"
  "bf16 m=3 n=15 k=4: cublasLtMatmulAlgoGetHeuristic for bf16 m=3 n=15 k=4: CUBLAS_STATUS_EXECUTION_FAILED"
  "bf16 m=3 n=16 k=4: cublasLtMatmul for bf16 m=3 n=16 k=4: CUBLAS_STATUS_EXECUTION_FAILED"
  "answers: 3, cublasLtMatmul, first answer, cublasLtMatmul, answer 3"
  "grouped: right"
  "no rows: right")
set(failing "CUBLAS_STATUS_EXECUTION_FAILED")
says(one_by_one "${products}
grouped, failing: cublasLtMatmul for bf16 m=1 n=16 k=4: ${failing}
grouped by: a loop of cublasLtMatmul, first answers")
if(grouped)
  compile(at_once/libcublas.so.${major} -shared -fPIC ${SOURCE}/tests/cuda/cublas_stub.cpp -DSTUB_GROUPED)
  says(at_once "${products}
grouped, failing: cublasGemmGroupedBatchedEx: ${failing}
grouped by: cublasGemmGroupedBatchedEx")
endif()

set(remedy "; install the cuBLAS of CUDA ${major}, or add its folder to LD_LIBRARY_PATH")
says(incomplete "no cuBLAS: incomplete/libcublasLt.so.${major}: undefined symbol: cublasLtMatmulAlgoGetHeuristic${remedy}")
says(no_library "no cuBLAS: no_library/libcublasLt.so.${major}: file too short${remedy}")

if(wrong)
  message(FATAL_ERROR "${wrong} are wrong")
endif()
