# Makes one C++ source of the page's parts: PAGE (the folder), D3, D3_LICENCE, OUT.
#
# All scripts are one script and all styles one style, so that the page's Content-Security-Policy names each by its hash
# and no other can run.

# base64_of(VARIABLE HEX): the digits of a hash (a multiple of three bytes, and two or one over) as base64.
function(base64_of variable hex)
  set(digits ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  string(LENGTH ${hex} length)
  math(EXPR over "${length} % 6")
  if(over EQUAL 4)
    string(APPEND hex 00)
  endif()
  set(text "")
  string(REGEX MATCHALL "......" groups ${hex})
  foreach(group ${groups})
    foreach(shift 18 12 6 0)
      math(EXPR digit "(0x${group} >> ${shift}) & 63")
      string(SUBSTRING ${digits} ${digit} 1 digit)
      string(APPEND text ${digit})
    endforeach()
  endforeach()
  if(over EQUAL 4)
    string(REGEX REPLACE ".$" "=" text ${text})
  endif()
  set(${variable} ${text} PARENT_SCOPE)
endfunction()

# The styles: the palette, then the files in order of their names.
include(${CMAKE_CURRENT_LIST_DIR}/PaletteStyle.cmake)
palette_style(light dark ${PAGE}/palette.def)
set(style ":root {\n  color-scheme: light;\n${light}}\n")
string(APPEND style ":root[data-theme=\"dark\"] {\n  color-scheme: dark;\n${dark}}\n")
file(GLOB styles ${PAGE}/css/*.css)
foreach(file ${styles})
  file(READ ${file} text)
  string(APPEND style "${text}")
endforeach()

# The scripts: D3 with its licence, then ours in one scope; names decide the order, and start() comes last.
file(READ ${D3_LICENCE} licence)
file(READ ${D3} d3)
file(GLOB scripts ${PAGE}/js/*.js)
file(GLOB views ${PAGE}/views/*.js)
set(script "/* D3 (d3js.org):\n${licence}*/\n${d3}\n(() => {\n\"use strict\";\n")
foreach(file ${scripts} ${views})
  file(READ ${file} text)
  string(APPEND script "${text}")
endforeach()
string(APPEND script "start();\n})();\n")

string(SHA256 script_hash "${script}")
string(SHA256 style_hash "${style}")
base64_of(script_hash ${script_hash})
base64_of(style_hash ${style_hash})

file(READ ${PAGE}/page.html html)
string(REPLACE "@SCRIPT_HASH@" "${script_hash}" html "${html}")
string(REPLACE "@STYLE_HASH@" "${style_hash}" html "${html}")
string(REPLACE "@STYLE@" "${style}" html "${html}")
string(REPLACE "@SCRIPT@" "${script}" html "${html}")
set(mark ")goodput_page\"")
string(FIND "${html}" "${mark}" found)
if(NOT found EQUAL -1)
  message(FATAL_ERROR "a part of the page holds ${mark}, which ends the literal it is put in")
endif()

file(WRITE ${OUT} "// Made by cmake/EmbedPage.cmake.\n#include \"tools/page/page_template.h\"\n\nnamespace goodput {\n
std::string_view page_template() {\n  return R\"goodput_page(")
file(APPEND ${OUT} "${html}")
file(APPEND ${OUT} "${mark};\n}\n\n}  // namespace goodput\n")
