# goodput::arrow: Apache Arrow and Parquet, from an installed CMake package or from the pyarrow wheel.
# GOODPUT_PYARROW_PYTHON: the interpreter whose pyarrow to use (default: the venv that goodput-setup makes).
find_package(Arrow QUIET CONFIG)
find_package(Parquet QUIET CONFIG)
add_library(goodput::arrow INTERFACE IMPORTED)
# The wheel's libraries export the symbols of a newer simdjson, which crashes code built against the system's: the
# system's must come first on the link line, where options stand before libraries. (Arrow's own calls then find the
# system's too; we use no part of Arrow that parses JSON.)
if(TARGET simdjson::simdjson)
  target_link_options(goodput::arrow INTERFACE
    LINKER:--push-state,--no-as-needed,$<TARGET_FILE:simdjson::simdjson>,--pop-state)
endif()
if(Arrow_FOUND AND Parquet_FOUND)
  target_link_libraries(goodput::arrow INTERFACE Parquet::parquet_shared Arrow::arrow_shared)
  set(GoodputArrow_SOURCE "CMake package ${Arrow_DIR}")
else()
  set(GOODPUT_PYARROW_PYTHON ${PROJECT_SOURCE_DIR}/.venv/bin/python CACHE FILEPATH
      "Interpreter of the environment that holds pyarrow")
  execute_process(
    COMMAND ${GOODPUT_PYARROW_PYTHON} -c "import pyarrow as p, glob, os; d = p.get_library_dirs()[0]; \
print(p.get_include(), d, *[sorted(glob.glob(os.path.join(d, f'lib{n}.so.*')), key=len)[0] for n in ('arrow', 'parquet')], sep=';')"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND found)
    list(GET found 0 include_dir)
    list(GET found 1 library_dir)
    list(SUBLIST found 2 2 libraries)
    target_include_directories(goodput::arrow INTERFACE ${include_dir})
    target_link_libraries(goodput::arrow INTERFACE ${libraries})
    target_link_options(goodput::arrow INTERFACE -Wl,-rpath,${library_dir})
    set(GoodputArrow_SOURCE "pyarrow in ${library_dir}")
  endif()
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(GoodputArrow REQUIRED_VARS GoodputArrow_SOURCE
  REASON_FAILURE_MESSAGE "building without Parquet (run ./goodput-setup, or install Arrow's CMake package)")
