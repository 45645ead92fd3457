#include "tools/monitor_pages/page_assets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/hash.h"

namespace goodput {
namespace {

// A map with one dark cell. Colours of tools/page/palette.def.
constexpr std::string_view kIcon =
    R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="2" fill="#0f5c57"/>)"
    R"(<rect x="3" y="3" width="4" height="4" fill="#fde725"/><rect x="9" y="3" width="4" height="4" fill="#fde725"/>)"
    R"(<rect x="3" y="9" width="4" height="4" fill="#fde725"/><rect x="9" y="9" width="4" height="4" fill="#440154"/></svg>)";

std::array<PageAsset, 3> page_assets() {
  std::array<PageAsset, 3> assets = {
      PageAsset{"monitor.css", "text/css; charset=utf-8", embedded_monitor_style()},
      PageAsset{"monitor.js", "text/javascript; charset=utf-8", embedded_monitor_script()},
      PageAsset{"icon.svg", "image/svg+xml", kIcon}};
  for (PageAsset& asset : assets) {
    Hash hash;
    hash.add(asset.body);
    asset.version = fmt::format("{:016x}", hash.value());
  }
  return assets;
}

}  // namespace

const PageAsset* find_asset(std::string_view name) {
  static const std::array<PageAsset, 3> assets = page_assets();
  const auto* found = std::ranges::find(assets, name, &PageAsset::name);
  return found == assets.end() ? nullptr : found;
}

}  // namespace goodput
