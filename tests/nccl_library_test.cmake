# How a program finds NCCL when it runs, with libraries that stand in for it: cuda/nccl_stub.cpp. Skipped where there is no
# nccl.h, with which the real functions are declared.
# cmake -DSOURCE=<repository> -DOUT=<directory> -DCOMPILER=<c++> -P nccl_library_test.cmake
cmake_minimum_required(VERSION 3.25)
set(wrong 0)
include(${SOURCE}/cmake/GoodputNccl.cmake)
find_path(cuda cuda_runtime.h PATHS /usr/local/cuda/include)
if(GOODPUT_NCCL_PROBLEM OR NOT cuda)
  message("skipped: no nccl.h and cuda_runtime.h")
  return()
endif()
unset(ENV{LD_LIBRARY_PATH})

# compile(OUTPUT SOURCE OPTION...), of C++17
function(compile output)
  execute_process(COMMAND ${COMPILER} -std=c++17 -Wall -Wextra -Werror -I${SOURCE} -isystem ${GOODPUT_NCCL_INCLUDE}
                          -isystem ${cuda} -o ${OUT}/${output} ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# stub(FOLDER VERSION OPTION...): a libnccl.so.2
function(stub folder version)
  file(MAKE_DIRECTORY ${OUT}/${folder})
  compile(${folder}/libnccl.so.2 -shared -fPIC ${SOURCE}/tests/cuda/nccl_stub.cpp -DSTUB_VERSION=${version} ${ARGN})
endfunction()

# says(FOLDER EXPECTED [ANSWERS]): what find_nccl() says, and what is called then, with LD_LIBRARY_PATH=FOLDER.
function(says folder expected)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${OUT}/${folder} ${loader} ${OUT}/probe
                          with_answers
                  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE failed)
  string(REPLACE "${OUT}/" "" output "${output}")
  set(none " 2 2 2 2 2 2 2 2 'NCCL was not loaded' '' 2 2 2 2 2 2 2 2\n")
  if(NOT ARGN)
    set(ARGN "${none}")
  endif()
  if(failed OR NOT output STREQUAL "${none}${expected}\n${ARGN}")
    message("${folder}: expected\n${none}${expected}\n${ARGN}got\n${output}")
    math(EXPR wrong "${wrong} + 1")
    set(wrong ${wrong} PARENT_SCOPE)
  endif()
endfunction()

file(REMOVE_RECURSE ${OUT})
stub(usual 22809)
stub(old 21805)
stub(incomplete 22809 -DSTUB_WITHOUT_GROUP_END)
stub(old_and_incomplete 2804 -DSTUB_WITHOUT_GROUP_END)
stub(no_version 22809 -DSTUB_WITHOUT_VERSION)
stub(fails 22809 -DSTUB_FAILS)
file(WRITE ${OUT}/no_library/libnccl.so.2 "text\n")
set(library ${SOURCE}/gpu/nccl/nccl_library.cpp ${SOURCE}/gpu/nccl/nccl_search.cpp)
compile(probe ${SOURCE}/tests/cuda/nccl_probe.cpp ${library} -ldl)

set(remedy "; install NCCL 2.19 or later, or add its folder to LD_LIBRARY_PATH")
set(answers " 11 12 31 32 33 13 14 15 '16' '17' 18 34 35 21 22 23 24 25\n")
says(usual "22809 " "${answers}")
says(old "0 NCCL 2.18.5 is older than 2.19${remedy}")
says(old_and_incomplete "0 NCCL 2.8.4 is older than 2.19${remedy}")
says(incomplete "0 no NCCL: incomplete/libnccl.so.2: undefined symbol: ncclGroupEnd${remedy}")
says(no_version "0 no NCCL: no_version/libnccl.so.2: undefined symbol: ncclGetVersion${remedy}")
says(fails "0 no NCCL: libnccl.so.2 does not report its version${remedy}")
says(no_library "0 no NCCL: no_library/libnccl.so.2: file too short${remedy}")

# The folder that is built in is looked at after LD_LIBRARY_PATH.
compile(probe ${SOURCE}/tests/cuda/nccl_probe.cpp ${library} -ldl -Wl,-rpath,${OUT}/usual)
says(nothing "22809 " "${answers}")
says(old "0 NCCL 2.18.5 is older than 2.19${remedy}")
# No cache of libraries, in which one may be.
execute_process(COMMAND ldconfig -p OUTPUT_VARIABLE installed ERROR_QUIET)
execute_process(COMMAND readelf -l ${OUT}/probe OUTPUT_VARIABLE headers)
if(NOT installed MATCHES "libnccl\\.so\\.2 [^\n]*=> (/usr)?/lib" AND headers MATCHES "interpreter: ([^]]+)")
  set(loader ${CMAKE_MATCH_1} --inhibit-cache)
  compile(probe ${SOURCE}/tests/cuda/nccl_probe.cpp ${library} -ldl)
  says(nothing "0 no NCCL: libnccl.so.2: cannot open shared object file: No such file or directory${remedy}")
endif()

# The real one that is here, if it is. Nothing is called: arguments of ours are nothing to it.
if(GOODPUT_NCCL_FOLDER)
  compile(probe ${SOURCE}/tests/cuda/nccl_probe.cpp ${library} -ldl -Wl,-rpath,${GOODPUT_NCCL_FOLDER})
  execute_process(COMMAND ${OUT}/probe OUTPUT_VARIABLE output)
  if(NOT output MATCHES "\n[23][0-9][0-9][0-9][0-9] \n$")
    message("${GOODPUT_NCCL_FOLDER}: got\n${output}")
    math(EXPR wrong "${wrong} + 1")
  endif()
endif()

if(wrong)
  message(FATAL_ERROR "${wrong} are wrong")
endif()
