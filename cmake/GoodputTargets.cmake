# goodput_target_options(TARGET [STANDARD]): the warnings, sanitizers and checks every target of ours has. STANDARD is
#   cxx_std_20 unless it says otherwise.
# goodput_explored(TARGET): the fuzz targets look for ways through it.
# goodput_cold(TARGET): compiling it counts for more than its speed.
# goodput_hot_first(TARGET [LIBRARY...]): with sanitizers, links the libraries at -O1 (and these) before the objects at -O0.
#   Of an inline function in both the linker takes the first: the other way round four tests took 1.2 to 1.7 times as long.
# goodput_unity(TARGET SOURCE...): with GOODPUT_UNITY, the .cpp of a folder are compiled together, at most 30 at a time:
#   half the time, for what they include is read once.
# goodput_library(FOLDER LINK ...): all .cpp of FOLDER and its sub-folders (but main.cpp) as the static library goodput_FOLDER.

function(goodput_target_options target)
  if(NOT ARGN)
    set(ARGN cxx_std_20)
  endif()
  target_compile_features(${target} PUBLIC ${ARGN})
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  # No contraction into fused multiply-add: the same bytes on every machine.
  # No SLP vectorizer: gcc 12's drops the rounding of neighbouring doubles to float32 (sim/base/float32.h has a test).
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -Wshadow -ffp-contract=off
                         $<$<CXX_COMPILER_ID:GNU>:-fno-tree-slp-vectorize> $<$<BOOL:${GOODPUT_WERROR}>:-Werror>)
  # False alarms of gcc 12 at -O3, in std::string (gcc bug 105651) and Boost.Graph; `#pragma GCC` before clang.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-array-bounds>
                         $<$<CXX_COMPILER_ID:Clang>:-Wno-unknown-pragmas>)
  # gcc takes half as long again for two more checks, which clang, the compiler of the dev preset, does.
  if(GOODPUT_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=address,undefined -fno-sanitize-recover=all
                           -fno-omit-frame-pointer $<$<CXX_COMPILER_ID:GNU>:-fno-sanitize=null,alignment>)
    target_link_options(${target} PUBLIC -fsanitize=address,undefined)
    target_compile_definitions(${target} PUBLIC $<$<CXX_COMPILER_ID:Clang>:__SANITIZE_ADDRESS__=1>)  # as gcc says it
  endif()
endfunction()

function(goodput_explored target)
  target_compile_options(${target} PRIVATE $<$<BOOL:${GOODPUT_FUZZ}>:-fsanitize=fuzzer-no-link>)
endfunction()

function(goodput_cold target)
  if(GOODPUT_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
  endif()
endfunction()

function(goodput_hot_first target)
  if(GOODPUT_SANITIZE)
    set(hot goodput_sim goodput_models goodput_traces ${ARGN})
    list(TRANSFORM hot REPLACE "(.+)" "$<TARGET_FILE:\\1>")
    target_link_options(${target} PRIVATE LINKER:--whole-archive ${hot} LINKER:--no-whole-archive)
  endif()
endfunction()

function(goodput_unity target)
  if(NOT GOODPUT_UNITY)
    return()
  endif()
  set(at_most 30)
  foreach(source ${ARGN})
    cmake_path(GET source PARENT_PATH folder)
    list(APPEND folders ${folder})
    list(APPEND "${folder}" ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE group)
    string(REPLACE "/" "_" group ${group})
    list(LENGTH "${folder}" count)
    math(EXPR batches "(${count} + ${at_most} - 1) / ${at_most}")
    set(position 0)
    foreach(source ${${folder}})
      math(EXPR batch "${position} * ${batches} / ${count}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group}_${batch})
      math(EXPR position "${position} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP
                        UNITY_BUILD_CODE_BEFORE_INCLUDE "// NOLINTNEXTLINE(bugprone-suspicious-include)")
endfunction()

function(goodput_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  add_library(goodput_${folder} STATIC ${sources})
  goodput_target_options(goodput_${folder})
  goodput_unity(goodput_${folder} ${sources})
  target_link_libraries(goodput_${folder} ${arg_LINK})
endfunction()
