#include "tools/page/page_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/base/errors.h"
#include "tools/page/page_template.h"

namespace goodput {
namespace {

using Json = nlohmann::ordered_json;

// Not within a character of several bytes: 0b10xxxxxx goes on with one.
std::size_t cut_before(std::string_view text, std::size_t most) {
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return most;
}

void cut_long_text(std::string& text) {
  if (text.size() <= kLongestPageText) return;
  const std::size_t kept = cut_before(text, kLongestPageText);
  const std::size_t left_out = text.size() - kept;
  text.resize(kept);
  text += fmt::format(" [{} more bytes left out of this page]", left_out);
}

void cut_long_texts(Json& value) {
  if (value.is_string()) {
    cut_long_text(value.get_ref<std::string&>());
  } else if (value.is_array()) {
    for (Json& element : value) cut_long_texts(element);
  } else if (value.is_object()) {
    // Keys are names of inputs too, and the order stays.
    Json::object_t kept;
    for (auto& [key, member] : value.get_ref<Json::object_t&>()) {
      cut_long_texts(member);
      std::string name = key;
      cut_long_text(name);
      kept.push_back({std::move(name), std::move(member)});
    }
    value = Json(std::move(kept));
  }
}

// JSON within <script>: no `<` is left that could end it or begin a comment, and no line ends where
// JavaScript sees one and JSON does not. All three can only stand in strings, where escapes mean the same.
std::string inert(std::string_view json) {
  constexpr std::string_view kLineSeparator = "\u2028";
  constexpr std::string_view kParagraphSeparator = "\u2029";
  std::string text;
  text.reserve(json.size() + json.size() / 64);
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = json.substr(i);
    if (json[i] == '<') {
      text += "\\u003c";
    } else if (rest.starts_with(kLineSeparator) || rest.starts_with(kParagraphSeparator)) {
      text += rest.starts_with(kLineSeparator) ? "\\u2028" : "\\u2029";
      i += kLineSeparator.size() - 1;
    } else {
      text += json[i];
    }
  }
  return text;
}

// Names from input files may be no UTF-8: replaced, not thrown on.
std::string on_one_line_of_json(const Json& value) {
  return inert(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// goodput.whatif/1: whatif
std::string_view kind_of(std::string_view schema) {
  const std::size_t begin = schema.find('.') == std::string_view::npos ? 0 : schema.find('.') + 1;
  return schema.substr(begin, schema.find('/') - begin);
}

// Of the kinds of results, each once. A kind holds nothing that HTML would have to escape, or is left out.
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

PageResult page_result(std::string name, const Json& result) {
  Json shown = result;
  cut_long_texts(shown);
  cut_long_text(name);
  return {std::move(name), result.at("schema").get<std::string>(), on_one_line_of_json(shown)};
}

std::string page_html(const std::vector<PageResult>& results) {
  constexpr std::string_view kTitle = "@TITLE@";
  constexpr std::string_view kResults = "@RESULTS@";
  const std::string_view page = page_template();
  const std::size_t title = page.find(kTitle);
  const std::size_t data = page.find(kResults);
  GOODPUT_CHECK(title < data && data != std::string_view::npos, "the template of pages lacks its marks");
  std::string html(page.substr(0, title));
  html += title_of(results);
  html += page.substr(title + kTitle.size(), data - title - kTitle.size());
  html += '[';
  for (const PageResult& result : results) {
    if (&result != results.data()) html += ",\n";
    html += fmt::format(R"({{"name":{},"result":)", on_one_line_of_json(result.name)) + result.json + '}';
  }
  html += ']';
  html += page.substr(data + kResults.size());
  return html;
}

}  // namespace goodput
