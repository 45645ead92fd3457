# goodput_page(TARGET): the template of pages (tools/page), made of its parts and D3, as a source of TARGET.
function(goodput_page target)
  set(page ${PROJECT_SOURCE_DIR}/tools/page)
  set(source ${PROJECT_BINARY_DIR}/generated/page_template.cpp)
  set(embed ${PROJECT_SOURCE_DIR}/cmake/EmbedPage.cmake)
  set(palette ${PROJECT_SOURCE_DIR}/cmake/PaletteStyle.cmake)
  file(GLOB parts CONFIGURE_DEPENDS ${page}/js/*.js ${page}/views/*.js ${page}/css/*.css)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DPAGE=${page} -DD3=${NodeD3_SCRIPT} -DD3_LICENCE=${NodeD3_LICENCE} -DOUT=${source}
            -P ${embed}
    DEPENDS ${parts} ${page}/page.html ${page}/palette.def ${embed} ${palette} ${NodeD3_SCRIPT} ${NodeD3_LICENCE} VERBATIM)
  add_custom_target(goodput_page_template DEPENDS ${source})
  target_sources(${target} PRIVATE ${source})
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# goodput_monitor_assets(TARGET): style and script of the pages of a monitor (tools/monitor_pages), as a source of TARGET.
function(goodput_monitor_assets target)
  set(pages ${PROJECT_SOURCE_DIR}/tools/monitor_pages)
  set(page ${PROJECT_SOURCE_DIR}/tools/page)
  set(source ${PROJECT_BINARY_DIR}/generated/monitor_assets.cpp)
  set(embed ${PROJECT_SOURCE_DIR}/cmake/EmbedMonitorAssets.cmake)
  set(palette ${PROJECT_SOURCE_DIR}/cmake/PaletteStyle.cmake)
  file(GLOB parts CONFIGURE_DEPENDS ${page}/css/*.css ${pages}/css/*.css ${pages}/js/*.js)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DPAGES=${pages} -DPAGE=${page} -DOUT=${source} -P ${embed}
    DEPENDS ${parts} ${page}/palette.def ${embed} ${palette} VERBATIM)
  add_custom_target(goodput_monitor_assets_source DEPENDS ${source})
  target_sources(${target} PRIVATE ${source})
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
