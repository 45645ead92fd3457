# Compiles FILE twice: as it is, which must work, and with MUST_NOT_COMPILE defined, which must fail with the error that
# its line `// expected error: REGEX` describes, whichever of gcc and clang it is.
# cmake -DCOMPILER=<c++> -DSOURCE=<repository> -DFILE=<file> -P compile_fail_test.cmake
cmake_minimum_required(VERSION 3.25)
file(STRINGS ${FILE} expected REGEX "^// expected error: ")
string(REPLACE "// expected error: " "" expected "${expected}")
if(expected STREQUAL "")
  message(FATAL_ERROR "${FILE} has no line `// expected error: REGEX`")
endif()

set(compile env LC_ALL=C ${COMPILER} -std=c++20 -fsyntax-only -Werror=unused-result -I${SOURCE})
execute_process(COMMAND ${compile} ${FILE} RESULT_VARIABLE failed ERROR_VARIABLE errors)
if(failed)
  message(FATAL_ERROR "without MUST_NOT_COMPILE this should compile:\n${errors}")
endif()
execute_process(COMMAND ${compile} -DMUST_NOT_COMPILE ${FILE} RESULT_VARIABLE failed ERROR_VARIABLE errors)
if(NOT failed)
  message(FATAL_ERROR "compiles, but must not: ${FILE}")
elseif(NOT errors MATCHES "${expected}")
  message(FATAL_ERROR "fails, but not with ${expected}:\n${errors}")
endif()
