# goodput_target_options(TARGET [STANDARD]): the warnings, sanitizers and checks every target of ours has. STANDARD is
#   cxx_std_20 unless it says otherwise.
# goodput_explored(TARGET): the fuzz targets look for ways through it.
# goodput_hot(TARGET): run time counts for more than compile time: -O3. gcc inlines less in large units by default: without the
#   parameter, 50,000 runs of `checkpoint` took 6 % longer when models/policy was compiled together.
# goodput_cold(TARGET): compile time counts for more than run time: -O1, -O0 with sanitizers.
# goodput_hot_first(TARGET [LIBRARY...]): with sanitizers, links the libraries at -O1 (and these) before the objects at -O0.
#   Of an inline function in both the linker takes the first: the other way round four tests took 1.2 to 1.7 times as long.
# goodput_unity(TARGET SOURCE...): with GOODPUT_UNITY, the .cpp of a folder are compiled together, which takes half the time:
#   what they include is read once. A folder of more than GOODPUT_UNITY_BYTES is cut into equal parts, so that a changed
#   source is compiled soon.
# goodput_library(FOLDER [HOT PART...] [EXPLORED PART...] LINK ...): all .cpp of FOLDER (but main.cpp) and its sub-folders as the
#   static library goodput_FOLDER. A sub-folder is the object library goodput_FOLDER_PART, cold unless it is named as HOT.
#   EXPLORED: see goodput_explored(). goodput_FOLDER_objects: the objects, for tests that look into them.

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

function(goodput_hot target)
  target_compile_options(${target} PRIVATE
                         $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:--param=large-unit-insns=20000>)
endfunction()

function(goodput_cold target)
  if(GOODPUT_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

function(goodput_hot_first target)
  if(GOODPUT_SANITIZE)
    set(hot goodput_sim goodput_models goodput_traces ${ARGN})
    list(TRANSFORM hot REPLACE "(.+)" "$<TARGET_FILE:\\1>")
    target_link_options(${target} PRIVATE LINKER:--whole-archive ${hot} LINKER:--no-whole-archive)
  endif()
endfunction()

set(GOODPUT_UNITY_BYTES 80000)
function(goodput_unity target)
  if(NOT GOODPUT_UNITY)
    return()
  endif()
  foreach(source ${ARGN})
    cmake_path(GET source PARENT_PATH folder)
    file(SIZE ${source} bytes)
    list(APPEND folders ${folder})
    list(APPEND "${folder}" ${source})
    math(EXPR "${folder}_bytes" "${${folder}_bytes} + ${bytes}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE group)
    string(REPLACE "/" "_" group ${group})
    math(EXPR batches "(${${folder}_bytes} + ${GOODPUT_UNITY_BYTES} - 1) / ${GOODPUT_UNITY_BYTES}")
    set(before 0)
    foreach(source ${${folder}})
      math(EXPR batch "${before} * ${batches} / ${${folder}_bytes}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group}_${batch})
      file(SIZE ${source} bytes)
      math(EXPR before "${before} + ${bytes}")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP
                        UNITY_BUILD_CODE_BEFORE_INCLUDE "// NOLINTNEXTLINE(bugprone-suspicious-include)")
endfunction()

function(goodput_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HOT;EXPLORED;LINK")
  set(root ${PROJECT_SOURCE_DIR}/${folder})
  file(GLOB top CONFIGURE_DEPENDS ${root}/*.cpp)
  list(FILTER top EXCLUDE REGEX "/main\\.cpp$")
  add_library(goodput_${folder} STATIC ${top})
  goodput_target_options(goodput_${folder})
  goodput_unity(goodput_${folder} ${top})
  goodput_cold(goodput_${folder})
  target_link_libraries(goodput_${folder} ${arg_LINK})
  set(all_objects $<TARGET_OBJECTS:goodput_${folder}>)

  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${root} ${root}/*/*.cpp)
  list(TRANSFORM sources REPLACE "/.*" "" OUTPUT_VARIABLE parts)
  list(REMOVE_DUPLICATES parts)
  foreach(part ${parts})
    set(objects goodput_${folder}_${part})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${root}/${part}/*.cpp)
    add_library(${objects} OBJECT ${sources})
    goodput_target_options(${objects})
    goodput_unity(${objects} ${sources})
    if(part IN_LIST arg_HOT)
      goodput_hot(${objects})
    else()
      goodput_cold(${objects})
    endif()
    if(part IN_LIST arg_EXPLORED)
      goodput_explored(${objects})
    endif()
    target_link_libraries(${objects} ${arg_LINK})
    target_sources(goodput_${folder} PRIVATE $<TARGET_OBJECTS:${objects}>)
    list(APPEND all_objects $<TARGET_OBJECTS:${objects}>)
  endforeach()
  set(goodput_${folder}_objects ${all_objects} PARENT_SCOPE)
endfunction()
