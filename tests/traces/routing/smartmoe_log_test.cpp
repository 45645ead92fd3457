#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
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

// A folder with these files.
class LogFolder {
 public:
  explicit LogFolder(const Files& files) {
    for (const auto& [name, content] : files) std::ofstream(folder() + "/" + name) << content;
  }
  [[nodiscard]] std::string folder() const { return std::filesystem::path(marker_.path()).parent_path(); }
  // Without the folder's own path.
  [[nodiscard]] std::string error() const {
    const auto read = read_rank_folder(folder());
    REQUIRE_FALSE(read);
    const std::string message = read.error().message();
    return message.starts_with(folder()) ? message.substr(folder().size()) : message;
  }

 private:
  TemporaryFile marker_{"readme.txt", "not a log"};
};

TEST_CASE("smartmoe log: a folder keeps the rows of ranks, those of the first micro-batch first") {
  const LogFolder logs({{"table_iter1_rank0.log", kLog},
                        {"table_iter1_rank1.log", "0:[[10, 20], [30, 40]]\n1:[[50, 0], [0, 60]]\n"}});
  const auto read = read_rank_folder(logs.folder());
  REQUIRE(read);
  CHECK(read->files.size() == 2);
  CHECK(read->rows == RankRows{2, 4, 2, {1, 2, 10, 20, 3, 4, 30, 40, 5, 0, 50, 0, 0, 5, 0, 60}});
}

TEST_CASE("smartmoe log: a folder that is not of one iteration and several ranks is refused in one line") {
  CHECK(LogFolder({}).error() ==
        ": has no files table_iter<I>_rank<R>.log; give the folder with the logs of one iteration");
  CHECK(LogFolder({{"table_iter1_rank0.log", kLog}}).error() ==
        ": has the log of one rank; at least two are needed to see how ranks differ");
  CHECK(LogFolder({{"table_iter1_rank0.log", kLog}, {"table_iter21_rank0.log", kLog}}).error() ==
        ": has logs of 2 iterations, from 1 to 21; keep those of one");
  CHECK(LogFolder({{"table_iter1_rank0.log", kLog}, {"table_iter1_rank1.log", "0:[[1.0, 2.0\n"}}).error() ==
        "/table_iter1_rank1.log:1: the line ends early: expected , or ]");
  CHECK(LogFolder({{"table_iter1_rank0.log", kLog}, {"table_iter1_rankx.log", kLog}}).error() ==
        "/table_iter1_rankx.log: the file name must contain the iteration and the rank: "
        "table_iter<I>_rank<R>.log");
  const auto missing = read_rank_folder("/no/such/folder");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message() == "/no/such/folder: cannot be listed: No such file or directory");
}

}  // namespace
}  // namespace goodput
