# goodput_revision: an interface target that carries the version and the git revision, found at build time.
find_package(Git QUIET)
set(revision_header ${PROJECT_BINARY_DIR}/generated/goodput_revision.h)
add_custom_target(goodput_revision_header
  COMMAND ${CMAKE_COMMAND} -DGIT=${GIT_EXECUTABLE} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUT=${revision_header}
          -DVERSION=${PROJECT_VERSION} -P ${CMAKE_CURRENT_LIST_DIR}/WriteRevision.cmake
  BYPRODUCTS ${revision_header} VERBATIM)
add_library(goodput_revision INTERFACE)
add_dependencies(goodput_revision goodput_revision_header)
target_include_directories(goodput_revision INTERFACE ${PROJECT_BINARY_DIR}/generated)
