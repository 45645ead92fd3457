#include "tools/web/form.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

namespace goodput::testing {
namespace {

Result<FormFields> form_of(const std::string& body,
                           const std::string& type = "application/x-www-form-urlencoded") {
  HttpRequest request;
  request.headers["content-type"] = type;
  request.body = body;
  return parse_form(request);
}

std::string form_error(const std::string& body,
                       const std::string& type = "application/x-www-form-urlencoded") {
  const auto form = form_of(body, type);
  return form ? "read" : form.error().what;
}

std::string gate_answer(const std::string& header, const std::string& value) {
  HttpRequest request;
  request.headers[header] = value;
  const auto refusal = refuse_large_form(request);
  return refusal ? fmt::format("{} {}", refusal->status, refusal->body) : "may come";
}

}  // namespace

TEST_CASE("form: fields are decoded, and a text may have several lines") {
  const auto form = form_of("note=GPU+3%2B4%0D%0Aare+slow%3D%C3%A9&until=&kind",
                            "Application/X-WWW-Form-Urlencoded; charset=UTF-8");
  REQUIRE(form);
  CHECK(*form == FormFields{{"note", "GPU 3+4\r\nare slow=\xc3\xa9"}, {"until", ""}, {"kind", ""}});
  CHECK(form_of("")->empty());
  CHECK(form_of("", "text/plain")->empty());
}

TEST_CASE("form: a damaged form is refused as a whole") {
  const std::string damaged =
      "the form is malformed; send at most 64 fields NAME=VALUE separated by &, in UTF-8, with special "
      "characters as %XX";
  for (const char* body : {"a=%", "a=%4", "a=%zz", "%=1", "a=%00", "a=%7f", "a=\x01", "a=%ff", "a=\xc3"}) {
    CAPTURE(body);
    CHECK(form_error(body) == damaged);
  }
  std::string fields = "f0=";
  for (int i = 1; i < 64; ++i) fields += fmt::format("&f{}=", i);
  CHECK(form_error(fields) == "read");
  CHECK(form_error(fields + "&f64=") == damaged);
  CHECK(form_error("a=1&b=2&%61=3") == "the form contains the field \"a\" twice");
  CHECK(form_error("{\"a\": 1}", "application/json") ==
        "Content-Type must be application/x-www-form-urlencoded");
  CHECK(form_error("a=" + std::string(4094, 'x')) == "read");
  CHECK(form_error("a=" + std::string(4095, 'x')) == "a form must be at most 4096 bytes");
}

TEST_CASE("form: a form that is too large is refused before it is read") {
  CHECK(gate_answer("content-length", "4096") == "may come");
  CHECK(gate_answer("content-length", "4097") == "413 {\"error\":\"a form must be at most 4096 bytes\"}\n");
  CHECK(gate_answer("transfer-encoding", "chunked") ==
        "411 {\"error\":\"send the form with Content-Length, not with chunked encoding\"}\n");
  CHECK(gate_answer("accept", "*/*") == "may come");
}

}  // namespace goodput::testing
