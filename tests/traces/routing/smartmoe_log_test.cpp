#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/traces/io/temporary_file.h"
#include "traces/routing/routing_reader.h"

namespace goodput {
namespace {

using Loads = std::vector<std::int64_t>;
using Files = std::vector<std::pair<std::string, std::string>>;  // name, content

const std::string kLog = "0:[[1.0, 2.0], [3.0, 4.0]]\n1:[[5.0, 0.0], [0.0, 5.0]]\n";

Result<RoutingReading> read_logs(const Files& files) {
  std::vector<std::unique_ptr<TemporaryFile>> kept;
  std::vector<std::string> paths;
  for (const auto& [name, content] : files) {
    kept.push_back(std::make_unique<TemporaryFile>(name, content));
    paths.push_back(kept.back()->path());
  }
  return read_routing_files(paths);
}

// The error from the last file's name on.
std::string log_error(const Files& files) {
  const auto reading = read_logs(files);
  REQUIRE_FALSE(reading);
  std::string message = reading.error().message();
  const auto name = message.find("/" + files.back().first);
  return name == std::string::npos ? message : message.substr(name + 1);
}

std::string log_line_error(const std::string& line) {
  const std::string name = "table_iter1_rank0.log";
  return log_error({{name, line}}).substr(name.size());
}

Loads log_loads(const RoutingTrace& trace, std::size_t iteration, std::size_t layer) {
  const auto loads = trace.loads(iteration, layer);
  return {loads.begin(), loads.end()};
}

TEST_CASE("smartmoe log: micro-batches and ranks are summed, iteration and rank come from the name") {
  const auto reading =
      read_logs({{"table_iter11_rank0.log", kLog},
                 {"table_iter1_rank1.log", kLog},
                 {"table_iter1_rank0.log", "0:[[10.0,20.0],[30,40]]\n1:[[0.0, 0.0], [0.0, 1.0]]"},
                 {"table_iter11_rank1.log", kLog}});
  REQUIRE(reading);
  CHECK(reading->format == "smartmoe_log");
  CHECK(reading->ranks == 2);
  CHECK(reading->micro_batches == 2);
  CHECK(reading->trace.iterations() == Loads{1, 11});
  CHECK(log_loads(reading->trace, 0, 0) == Loads{1 + 3 + 10 + 30, 2 + 4 + 20 + 40});
  CHECK(log_loads(reading->trace, 0, 1) == Loads{5, 6});
  CHECK(log_loads(reading->trace, 1, 0) == Loads{8, 12});
}

TEST_CASE("smartmoe log: the name must say iteration and rank") {
  const std::string wish =
      ": the file name must contain the iteration and the rank: table_iter<I>_rank<R>.log";
  for (const std::string name :
       {"iter1_rank0.log", "table_iter_rank0.log", "table_iter1.log", "table_iter1_rank0.txt",
        "table_iter1_rankx.log", "table_iter99999999999999999999_rank0.log"}) {
    CHECK(log_error({{name, kLog}}) == name + wish);
  }
}

TEST_CASE("smartmoe log: what is no line of a layer is quoted from where it goes wrong") {
  const std::string first = "0:[[1.0, 2.0]]\n";
  CHECK(log_line_error(first + "1:[[1.0, 0.5]]\n") ==
        ":2: cannot read the line from \"0.5]]\" on: expected a whole number of tokens");
  CHECK(log_line_error(first + "1:[[1.0, -2.0]]\n") ==
        ":2: cannot read the line from \"-2.0]]\" on: expected a whole number of tokens");
  CHECK(log_line_error(first + "1:[[1.0, 2.0]\n") ==
        ":2: the line ends early: expected ] and the end of the line");
  CHECK(log_line_error(first + "1:[[1.0, 2.0\n") == ":2: the line ends early: expected , or ]");
  CHECK(log_line_error(first + "1:[[1.0, \n") ==
        ":2: the line ends early: expected a whole number of tokens");
  CHECK(log_line_error(first + "1:[]\n") ==
        ":2: cannot read the line from \"]\" on: expected a list of counts");
  CHECK(log_line_error(first + "1:[[]]\n") ==
        ":2: cannot read the line from \"]]\" on: expected a whole number of tokens");
  CHECK(log_line_error(first + "1:[[1.0, 2.0]] x\n") ==
        ":2: cannot read the line from \" x\" on: expected ] and the end of the line");
  CHECK(log_line_error(first + "layer 1\n") ==
        ":2: cannot read the line from \"layer 1\" on: expected LAYER:[[counts], ...]");
  CHECK(log_line_error(first + "65536:[[1.0, 2.0]]\n") ==
        ":2: cannot read the line from \":[[1.0, 2.0]]\" on: expected LAYER:[[counts], ...]");
}

TEST_CASE("smartmoe log: all lists have as many experts") {
  CHECK(log_line_error("0:[[1.0, 2.0]]\n1:[[1.0]]\n").find(":2: has 1 expert, but ") == 0);
  CHECK(log_line_error("0:[[1.0, 2.0], [1.0]]\n").find(":1: has 1 expert, but ") == 0);
}

TEST_CASE("smartmoe log: a layer that is there twice, a rank that an iteration or a layer lacks") {
  const std::string twice = log_line_error("0:[[1.0]]\n0:[[1.0]]\n");
  CHECK(twice.starts_with(":2: iteration 1, layer 0 is already in "));
  CHECK(log_error({{"table_iter1_rank0.log", kLog},
                   {"table_iter1_rank1.log", kLog},
                   {"table_iter11_rank0.log", kLog}}) ==
        "table_iter11_rank0.log:1: iteration 11, layer 0 does not have rank 1 micro-batch 0, but iteration "
        "1, layer 0 does");
  CHECK(log_error(
            {{"table_iter1_rank1.log", "0:[[1.0, 2.0], [3.0, 4.0]]\n"}, {"table_iter1_rank0.log", kLog}}) ==
        "table_iter1_rank0.log:2: iteration 1, layer 1 does not have rank 1 micro-batch 0, but iteration 1, "
        "layer 0 does");
  CHECK(log_line_error("0:[[1.0], [2.0]]\n1:[[1.0]]\n") ==
        ":2: iteration 1, layer 1 does not have rank 0 micro-batch 1, but iteration 1, layer 0 does");
}

}  // namespace
}  // namespace goodput
