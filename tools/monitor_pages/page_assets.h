// The style and script of a monitor's pages, as the build makes them of css/ and js/, and their icon.
#pragma once

#include <string>
#include <string_view>

namespace goodput {

struct PageAsset {
  std::string_view name;  // monitor.css
  std::string_view content_type;
  std::string_view body;
  std::string version{};  // changes with the body: browsers may keep what they have under one for good
};

// nullptr: there is none of this name.
[[nodiscard]] const PageAsset* find_asset(std::string_view name);

// What the build embeds.
[[nodiscard]] std::string_view embedded_monitor_style();
[[nodiscard]] std::string_view embedded_monitor_script();

}  // namespace goodput
