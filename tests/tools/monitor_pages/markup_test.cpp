#include "tools/monitor_pages/markup.h"

#include <doctest/doctest.h>

namespace goodput {
namespace {

TEST_CASE("markup: nothing of a name is markup, in text or in attributes") {
  CHECK(html_text("<b a=\"1\" c='2'>&amp;") == "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
  CHECK(html_name("a<b") == "<bdi>a&lt;b</bdi>");
}

TEST_CASE("markup: what hides in a name is written out") {
  CHECK(visible_text("a\x1b[31m\n\x7f") == "a\\x1b[31m\\x0a\\x7f");
  CHECK(visible_text("gpu\xe2\x80\xae"
                     "3") == "gpu\\u202e3");                              // right-to-left override
  CHECK(visible_text("\xe2\x81\xa6x\xe2\x81\xa9") == "\\u2066x\\u2069");  // an isolate and its end
  CHECK(visible_text("a\xc2\x85") == "a\\x85");                           // a control character of two bytes
  CHECK(visible_text("a\xe2\x80\x8b\xf3\xa0\x81\x81") == "a\\u200b\\ue0041");  // no width, a tag
  CHECK(visible_text("שלום é 😀") == "שלום é 😀");
}

TEST_CASE("markup: what is no UTF-8 is replaced byte by byte") {
  const std::string replaced = "\xef\xbf\xbd";
  CHECK(visible_text("a\xff") == "a" + replaced);
  CHECK(visible_text("\xc0\xaf") == replaced + replaced);                                // an overlong slash
  CHECK(visible_text("\xed\xa0\x80") == replaced + replaced + replaced);                 // a surrogate
  CHECK(visible_text("\xe2\x82") == replaced + replaced);                                // cut short
  CHECK(visible_text("\xf4\x90\x80\x80") == replaced + replaced + replaced + replaced);  // beyond U+10FFFF
}

TEST_CASE("markup: a segment of a path holds whatever a name does") {
  CHECK(url_segment("llama-70b_v1.2~") == "llama-70b_v1.2~");
  CHECK(url_segment("a b/ü?#\"") == "a%20b%2F%C3%BC%3F%23%22");
}

}  // namespace
}  // namespace goodput
