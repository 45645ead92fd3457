# What -DGOODPUT_PYARROW may be, and what it says when it is nothing of the kind.
# cmake -DSOURCE=<repository> -DOUT=<directory> -DGENERATOR=<generator> -DPYARROW=<folder of pyarrow> -DPYTHON=<interpreter that
# has it> -P pyarrow_option_test.cmake
cmake_minimum_required(VERSION 3.25)
set(wrong 0)

# configure(WORKS|FAILS EXPECTED PLACE): EXPECTED is somewhere in the output, spaces and line ends alike.
function(configure how expected place)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${OUT} -G ${GENERATOR} -DBUILD_TESTING=OFF -DGOODPUT_GPU=OFF
                          -DGOODPUT_PYARROW=${place} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  string(FIND "${output}" "${expected}" at)
  if((failed AND how STREQUAL WORKS) OR (NOT failed AND how STREQUAL FAILS) OR at EQUAL -1)
    message("${place}: expected '${expected}', got\n${output}")
    math(EXPR wrong "${wrong} + 1")
    set(wrong ${wrong} PARENT_SCOPE)
  endif()
  file(REMOVE ${OUT}/CMakeCache.txt)
endfunction()

cmake_path(GET PYTHON PARENT_PATH bin)
cmake_path(GET bin PARENT_PATH environment)
foreach(place ${PYARROW} ${PYTHON} ${environment})
  configure(WORKS "Found GoodputArrow: pyarrow in ${PYARROW}" ${place})
endforeach()
foreach(place /absent ${SOURCE}/docs ${CMAKE_COMMAND})
  configure(FAILS "GOODPUT_PYARROW is ${place}, which is no environment, interpreter or folder of pyarrow" ${place})
endforeach()

if(wrong)
  message(FATAL_ERROR "${wrong} are wrong")
endif()
