# gpu/ configured alone, where no CUDA compiler will do: what GOODPUT_GPU, GOODPUT_NCCL and CMAKE_CUDA_COMPILER say to
# it.
# cmake -DSOURCE=<repository> -DOUT=<directory> -DGENERATOR=<generator> -DCOMPILER=<c++> -P gpu_option_test.cmake
cmake_minimum_required(VERSION 3.25)
set(wrong 0)

# configure(WORKS|FAILS EXPECTED OPTION...): EXPECTED is somewhere in the output, spaces and line ends alike.
function(configure how expected)
  file(REMOVE_RECURSE ${OUT})
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE}/gpu -B ${OUT} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
                          ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  string(FIND "${output}" "${expected}" at)
  if((failed AND how STREQUAL WORKS) OR (NOT failed AND how STREQUAL FAILS) OR at EQUAL -1)
    message("${ARGN}: expected '${expected}', got\n${output}")
    math(EXPR wrong "${wrong} + 1")
    set(wrong ${wrong} PARENT_SCOPE)
  endif()
endfunction()

foreach(release 11.8 13.0)
  file(WRITE ${OUT}-nvcc/${release} "#!/bin/sh\necho 'Cuda compilation tools, release ${release}, V1'\n")
  file(CHMOD ${OUT}-nvcc/${release} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endforeach()
set(none -DCMAKE_CUDA_COMPILER=NOTFOUND)
set(old -DCMAKE_CUDA_COMPILER=${OUT}-nvcc/11.8)

configure(WORKS "-- Building without CUDA: no nvcc in PATH or /usr/local/cuda/bin" ${none})
configure(WORKS "-- Building without CUDA: ${OUT}-nvcc/11.8 is 11.8, older than 12" ${old})
configure(WORKS "-- Building without CUDA: ${COMPILER} is no nvcc" -DCMAKE_CUDA_COMPILER=${COMPILER})
configure(WORKS "-- Configuring done" -DGOODPUT_GPU=OFF)
configure(FAILS "GOODPUT_GPU is 'yes', must be AUTO, ON or OFF" -DGOODPUT_GPU=yes)
configure(FAILS "GOODPUT_GPU is ON, but there is no CUDA compiler: no nvcc in PATH or /usr/local/cuda/bin. \
Install the CUDA toolkit 12 or later, or say where it is: -DCMAKE_CUDA_COMPILER=/path/to/nvcc" -DGOODPUT_GPU=ON ${none})
configure(FAILS "GOODPUT_NCCL is 'yes', must be AUTO, ON or OFF" -DGOODPUT_NCCL=yes)
configure(FAILS "GOODPUT_NCCL is ON, but there is no CUDA compiler: no nvcc in PATH" -DGOODPUT_NCCL=ON ${none})
configure(FAILS "GOODPUT_NCCL is ON, but GOODPUT_GPU is OFF: what needs NCCL needs CUDA too" -DGOODPUT_NCCL=ON
          -DGOODPUT_GPU=OFF)
set(ENV{CUDACXX} ${OUT}-nvcc/13.0)
configure(WORKS "-- Building without CUDA: ${OUT}-nvcc/13.0 builds no program, see CMakeFiles/CMakeError.log")

if(wrong)
  message(FATAL_ERROR "${wrong} are wrong")
endif()
