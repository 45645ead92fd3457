# goodput_page(TARGET): the template of pages (tools/page), made of its parts and D3, as a source of TARGET.
function(goodput_page target)
  set(page ${PROJECT_SOURCE_DIR}/tools/page)
  set(source ${PROJECT_BINARY_DIR}/generated/page_template.cpp)
  set(embed ${PROJECT_SOURCE_DIR}/cmake/EmbedPage.cmake)
  file(GLOB parts CONFIGURE_DEPENDS ${page}/js/*.js ${page}/views/*.js ${page}/css/*.css)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DPAGE=${page} -DD3=${NodeD3_SCRIPT} -DD3_LICENCE=${NodeD3_LICENCE} -DOUT=${source}
            -P ${embed}
    DEPENDS ${parts} ${page}/page.html ${page}/palette.def ${embed} ${NodeD3_SCRIPT} ${NodeD3_LICENCE} VERBATIM)
  add_custom_target(goodput_page_template DEPENDS ${source})
  target_sources(${target} PRIVATE ${source})
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
