set(revision "unknown")
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --exclude=* OUTPUT_VARIABLE described
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND described)
    set(revision ${described})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT [[
#pragma once
#define GOODPUT_VERSION "@VERSION@"
#define GOODPUT_REVISION "@revision@"
]] @ONLY)
