#include "traces/kineto/kineto_format.h"

#include <doctest/doctest.h>

#include <string>

namespace goodput {
namespace {

TEST_CASE("kineto format: a file is recognized by its first keys or the categories of its events") {
  CHECK(is_kineto(R"({"schemaVersion": 1, "deviceProperties": [], "traceEvents": []})"));
  CHECK(is_kineto(R"( { "schemaVersion":1, "distributedInfo": {"backend": "nccl"}, "traceEvents": []})"));
  CHECK(is_kineto("\xef\xbb\xbf{\"schemaVersion\": 1, \"baseTimeNanoseconds\": 7, \"traceEvents\": []}"));
  CHECK(is_kineto(
      R"([{"ph": "M", "name": "process_name"}, {"ph": "X", "cat" : "cpu_op", "name": "aten::mm"}])"));
  CHECK(is_kineto(R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"sgemm"}]})"));
  CHECK_FALSE(is_kineto(""));
  CHECK_FALSE(is_kineto(R"({"schemaVersion":1,"traceEvents":[)"));
  CHECK_FALSE(is_kineto(R"([{"name":"cpu_op","cat":"cpu_operator","x":"cat"}])"));
}

TEST_CASE(
    "kineto format: events of NDTimeline's ops make it another one, a name that the head cuts off does not") {
  const std::string kernel = R"([{"ph": "X", "cat": "kernel", "name": "sgemm"}, )";
  CHECK_FALSE(is_kineto(kernel + R"({"name": "gc"}])"));
  CHECK(is_kineto(kernel + R"({"name": "gc)"));
  CHECK(is_kineto(kernel + R"({"name": ")"));
}

}  // namespace
}  // namespace goodput
