# D3, which pages (`goodput report`) are drawn with, as Debian's node-d3 brings it.
#   NodeD3_SCRIPT    the library, minified
#   NodeD3_LICENCE   what goes with it wherever it goes
find_file(NodeD3_SCRIPT d3.min.js PATHS /usr/share/nodejs/d3/dist NO_DEFAULT_PATH)
find_file(NodeD3_LICENCE copyright PATHS /usr/share/doc/node-d3 NO_DEFAULT_PATH)
mark_as_advanced(NodeD3_SCRIPT NodeD3_LICENCE)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NodeD3 REQUIRED_VARS NodeD3_SCRIPT NodeD3_LICENCE
  REASON_FAILURE_MESSAGE "install Debian's node-d3, or say where: -DNodeD3_SCRIPT=d3.min.js -DNodeD3_LICENCE=FILE")
