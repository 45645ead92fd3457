# Makes one C++ source of the style and the script of a monitor's pages: PAGES (the folder), PAGE (that of the report's page,
# whose look they share), OUT.
include(${CMAKE_CURRENT_LIST_DIR}/PaletteStyle.cmake)

# The theme is that of the system: it needs no script.
palette_style(light dark ${PAGE}/palette.def)
set(style ":root {\n  color-scheme: light dark;\n${light}}\n@media (prefers-color-scheme: dark) {\n:root {\n${dark}}\n}\n")
file(GLOB shared ${PAGE}/css/*.css)
file(GLOB own ${PAGES}/css/*.css)
foreach(file ${shared} ${own})
  file(READ ${file} text)
  string(APPEND style "${text}")
endforeach()

set(script "")
file(GLOB scripts ${PAGES}/js/*.js)
foreach(file ${scripts})
  file(READ ${file} text)
  string(APPEND script "${text}")
endforeach()

file(WRITE ${OUT} "// Made by cmake/EmbedMonitorAssets.cmake.\n#include \"tools/monitor_pages/page_assets.h\"\n\nnamespace goodput {\n")
foreach(part style script)
  string(FIND "${${part}}" ")goodput\"" found)
  if(NOT found EQUAL -1)
    message(FATAL_ERROR "the ${part} holds )goodput\", which ends the literal it is put in")
  endif()
  file(APPEND ${OUT} "\nstd::string_view embedded_monitor_${part}() {\n  return R\"goodput(${${part}})goodput\";\n}\n")
endforeach()
file(APPEND ${OUT} "\n}  // namespace goodput\n")
