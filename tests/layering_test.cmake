# Checks the `#include "..."` lines: which folder may use which, and what no header may drag in.
# cmake -DSOURCE=<repository> -P layering_test.cmake
cmake_minimum_required(VERSION 3.25)
set(sim_may_use sim)
set(models_may_use sim models)
set(traces_may_use sim traces)
set(tools_may_use sim models traces tools)
set(tests_may_use sim models traces tools gpu tests)
set(gpu_may_use gpu)
set(generated goodput_revision.h)              # not in a folder of ours
set(gpu_exceptions models/dispatch/dispatch.h)      # the dispatch schedule that host and device share
# Slow to compile (seconds a file); <nlohmann/json_fwd.hpp> is fine.
set(not_in_headers "nlohmann/json\\.hpp|boost/.*|CLI/.*|arrow/.*|parquet/.*|yaml-cpp/.*|simdjson\\.h")

set(wrong 0)
set(seen 0)
foreach(folder sim models traces tools tests gpu)
  file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/${folder}/*.h ${SOURCE}/${folder}/*.cpp ${SOURCE}/${folder}/*.cu
       ${SOURCE}/${folder}/*.cuh)
  foreach(file ${files})
    file(STRINGS ${SOURCE}/${file} lines REGEX "^#include ")
    foreach(line ${lines})
      math(EXPR seen "${seen} + 1")
      if(line MATCHES "^#include \"(([a-z_]+)/)?[^\"]*\"")
        set(other "${CMAKE_MATCH_2}")
        string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" included "${line}")
        if(NOT included IN_LIST generated AND NOT included IN_LIST ${folder}_exceptions
           AND NOT other IN_LIST ${folder}_may_use)
          message("${file}: ${line}: ${folder}/ may use only: ${${folder}_may_use} (paths start at the root)")
          math(EXPR wrong "${wrong} + 1")
        elseif(NOT included IN_LIST generated AND NOT EXISTS ${SOURCE}/${included})
          message("${file}: ${line}: no such file in the repository")
          math(EXPR wrong "${wrong} + 1")
        endif()
      elseif(file MATCHES "\\.cuh?$|\\.h$" AND line MATCHES "<(${not_in_headers})>")
        message("${file}: ${line}: too slow to compile for a header; include it in the .cpp")
        math(EXPR wrong "${wrong} + 1")
      endif()
    endforeach()
  endforeach()
endforeach()

if(wrong OR seen EQUAL 0)
  message(FATAL_ERROR "${wrong} of ${seen} includes are wrong")
endif()
message(STATUS "${seen} includes checked")
