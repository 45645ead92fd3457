#include "tools/page/page_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/base/errors.h"
#include "tools/page/page_template.h"

namespace goodput {
namespace {

// goodput.whatif/1: whatif
std::string_view kind_of(std::string_view schema) {
  const std::size_t begin = schema.find('.') == std::string_view::npos ? 0 : schema.find('.') + 1;
  return schema.substr(begin, schema.find('/') - begin);
}

// Of the kinds of results, each once. A kind that would have to be escaped in HTML is left out.
std::string title_of(const std::vector<PageResult>& results) {
  std::string title = "goodput";
  std::vector<std::string_view> named;
  for (const PageResult& result : results) {
    const std::string_view kind = kind_of(result.schema);
    if (kind.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") != std::string_view::npos) continue;
    if (std::find(named.begin(), named.end(), kind) != named.end()) continue;
    title += named.empty() ? ": " : ", ";
    title += kind;
    named.push_back(kind);
  }
  return title;
}

}  // namespace

std::string page_html(const std::vector<PageResult>& results) {
  constexpr std::string_view kTitle = "@TITLE@";
  constexpr std::string_view kResults = "@RESULTS@";
  const std::string_view page = page_template();
  const std::size_t title = page.find(kTitle);
  const std::size_t data = page.find(kResults);
  GOODPUT_CHECK(title < data && data != std::string_view::npos, "the page template lacks its placeholders");
  std::string html(page.substr(0, title));
  html += title_of(results);
  html += page.substr(title + kTitle.size(), data - title - kTitle.size());
  html += '[';
  for (const PageResult& result : results) {
    if (&result != results.data()) html += ",\n";
    html += fmt::format(R"({{"name":{},"result":)", page_text(result.name));
    html += result.json;
    html += '}';
  }
  html += ']';
  html += page.substr(data + kResults.size());
  return html;
}

}  // namespace goodput
