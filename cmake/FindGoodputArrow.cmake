# goodput::arrow: Apache Arrow and Parquet, from an installed CMake package or from the pyarrow wheel.
#   GOODPUT_PYARROW            a virtual environment, its interpreter, or the folder of pyarrow itself. Given: nothing else is
#                              tried. Empty: Arrow's CMake package, then the .venv that goodput-setup makes
#   GoodputArrow_LIBRARIES     shared libraries that no package of the system brings: an installation has to
#   GoodputArrow_LICENSES      their licence files
set(GOODPUT_PYARROW "" CACHE PATH "Environment, interpreter or folder of the pyarrow to use")
add_library(goodput::arrow INTERFACE IMPORTED)
# The wheel's libraries export the symbols of a newer simdjson, which crashes code built against the system's: the
# system's must come first on the link line, where options stand before libraries. (Arrow's own calls then find the
# system's too; we use no part of Arrow that parses JSON.)
if(TARGET simdjson::simdjson)
  target_link_options(goodput::arrow INTERFACE
    LINKER:--push-state,--no-as-needed,$<TARGET_FILE:simdjson::simdjson>,--pop-state)
endif()

# goodput_pyarrow(PLACE VARIABLE): the folder of pyarrow that PLACE means, or nothing.
function(goodput_pyarrow place variable)
  set(${variable} "" PARENT_SCOPE)
  file(GLOB library ${place}/libarrow.so.*)
  if(library)
    set(${variable} ${place} PARENT_SCOPE)
    return()
  endif()
  foreach(python ${place} ${place}/bin/python)
    if(EXISTS ${python} AND NOT IS_DIRECTORY ${python})
      execute_process(COMMAND ${python} -c "import pyarrow; print(pyarrow.get_library_dirs()[0])" OUTPUT_VARIABLE folder
                      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      set(${variable} ${folder} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

if(GOODPUT_PYARROW)
  goodput_pyarrow(${GOODPUT_PYARROW} pyarrow)
  if(NOT pyarrow)
    message(FATAL_ERROR "GOODPUT_PYARROW is ${GOODPUT_PYARROW}, which is no environment, interpreter or folder of pyarrow")
  endif()
else()
  find_package(Arrow QUIET CONFIG)
  find_package(Parquet QUIET CONFIG)
  if(NOT (Arrow_FOUND AND Parquet_FOUND))
    goodput_pyarrow(${PROJECT_SOURCE_DIR}/.venv pyarrow)
  endif()
endif()

if(pyarrow)
  foreach(name arrow parquet)
    file(GLOB library ${pyarrow}/lib${name}.so.*)
    list(SORT library COMPARE NATURAL)
    list(GET library 0 library)  # libarrow.so.2600, not libarrow.so.2600.1.0
    list(APPEND GoodputArrow_LIBRARIES ${library})
  endforeach()
  file(GLOB GoodputArrow_LICENSES ${pyarrow}/../pyarrow-*.dist-info/licenses/*)
  target_include_directories(goodput::arrow INTERFACE ${pyarrow}/include)
  target_link_libraries(goodput::arrow INTERFACE ${GoodputArrow_LIBRARIES})
  set(GoodputArrow_SOURCE "pyarrow in ${pyarrow}")
elseif(Arrow_FOUND AND Parquet_FOUND)
  target_link_libraries(goodput::arrow INTERFACE Parquet::parquet_shared Arrow::arrow_shared)
  set(GoodputArrow_SOURCE "CMake package ${Arrow_DIR}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(GoodputArrow REQUIRED_VARS GoodputArrow_SOURCE
  REASON_FAILURE_MESSAGE "building without Parquet (run ./goodput-setup, give -DGOODPUT_PYARROW=, or install Arrow's CMake package)")
