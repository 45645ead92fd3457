// What holds for routing traces of any format: several files, completeness, unknown contents.
#include "traces/routing/routing_reader.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

using Loads = std::vector<std::int64_t>;

const std::string kHeader = "iter,layer,e0,e1\n";

// The error with the paths of the files as a, b, ...
std::string reader_error(const std::vector<std::string>& texts) {
  std::vector<std::unique_ptr<TemporaryFile>> files;
  std::vector<std::string> paths;
  for (const std::string& text : texts) {
    files.push_back(std::make_unique<TemporaryFile>("r.csv", text));
    paths.push_back(files.back()->path());
  }
  const auto reading = read_routing_files(paths);
  REQUIRE_FALSE(reading);
  std::string message = reading.error().message();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (auto at = message.find(paths[i]); at != std::string::npos; at = message.find(paths[i])) {
      message.replace(at, paths[i].size(), std::string(1, static_cast<char>('a' + i)));
    }
  }
  return message;
}

TEST_CASE("routing reader: files are pieces of one trace") {
  const TemporaryFile later("late.csv", kHeader + "21,0,5,6\n");
  const TemporaryFile earlier("early.csv", kHeader + "1,0,1,2\n11,0,3,4\n");
  const auto trace = read_routing_trace({later.path(), earlier.path()});
  REQUIRE(trace);
  CHECK(trace->iterations() == Loads{1, 11, 21});
  CHECK(trace->total(2, 0) == 11);
}

TEST_CASE("routing reader: no file, no content, unknown content") {
  CHECK(read_routing_trace(std::vector<std::string>{}).error().message() == "no routing trace given");
  CHECK(reader_error({""}) == "a: cannot open: No such file or directory");
  CHECK(reader_error({"a,b,c\n1,2,3\n"}) ==
        "a: is not in a known routing trace format (smartmoe_log, long_csv, wide_csv; see `goodput list "
        "formats`); it begins with \"a,b,c\"");
  const std::string folder = std::filesystem::temp_directory_path().string();
  CHECK(read_routing_trace(folder).error().message() ==
        folder + ": is a directory; name its files, for example " + folder + "/*");
}

TEST_CASE("routing reader: files of different formats are no trace") {
  CHECK(reader_error({kHeader + "1,0,1,2\n", "iteration,layer,expert,tokens\n11,0,0,1\n"}) ==
        "b: has format long_csv, but a has format wide_csv; all files of a trace must have the same format");
}

TEST_CASE("routing reader: files must agree about the experts") {
  CHECK(reader_error({kHeader + "1,0,1,2\n", "iter,layer,e0,e1,e2\n11,0,1,2,3\n"}) ==
        "b:1: has 3 experts, but a:1 has 2");
}

TEST_CASE("routing reader: a row that is there twice is named with both places") {
  CHECK(reader_error({kHeader + "1,0,1,2\n11,0,1,2\n1,0,3,4\n"}) ==
        "a:4: iteration 1, layer 0 is already in a:2; remove one of them");
  CHECK(reader_error({kHeader + "1,0,1,2\n", kHeader + "11,0,1,2\n1,0,1,2\n"}) ==
        "b:3: iteration 1, layer 0 is already in a:2; remove one of them");
}

TEST_CASE("routing reader: every iteration has the same layers") {
  CHECK(reader_error({kHeader + "1,0,1,2\n1,1,1,2\n11,0,1,2\n"}) ==
        "a:4: iteration 11 does not have layer 1, but iteration 1 does");
  CHECK(reader_error({kHeader + "1,0,1,2\n1,1,1,2\n11,1,1,2\n"}) ==
        "a:4: iteration 11 does not have layer 0, but iteration 1 does");
  CHECK(reader_error({kHeader + "1,0,1,2\n11,0,1,2\n11,1,1,2\n"}) ==
        "a:4: iteration 11 has layer 1, but iteration 1 does not");
  CHECK(reader_error({kHeader + "1,1,1,2\n11,0,1,2\n11,1,1,2\n"}) ==
        "a:3: iteration 11 has layer 0, but iteration 1 does not");
}

TEST_CASE("routing reader: every layer of every iteration has the same ranks and micro-batches") {
  const std::string header = "iter,layer,rank,micro_batch,e0\n";
  CHECK(reader_error({header + "1,0,0,0,1\n1,0,1,0,1\n11,0,0,0,1\n"}) ==
        "a:4: iteration 11, layer 0 does not have rank 1 micro-batch 0, but iteration 1, layer 0 does");
  CHECK(reader_error({header + "1,0,0,0,1\n1,0,1,0,1\n11,0,1,0,1\n"}) ==
        "a:4: iteration 11, layer 0 does not have rank 0 micro-batch 0, but iteration 1, layer 0 does");
  CHECK(reader_error({header + "1,0,0,0,1\n1,1,0,0,1\n1,1,0,1,1\n"}) ==
        "a:4: iteration 1, layer 1 has rank 0 micro-batch 1, but iteration 1, layer 0 does not");
}

TEST_CASE("routing reader: a small file cannot ask for more memory than the limit" *
          doctest::test_suite("slow")) {
  // 4096 rows of 65536 experts are 2^28 counts; one more is too many.
  std::string text = "iteration,layer,expert,tokens\n";
  for (int i = 0; i < 4097; ++i) text += std::to_string(i) + ",0,65535,1\n";
  CHECK(reader_error({text}) ==
        "a:4098: the trace has more than 268435456 counts; read fewer iterations, or sum over ranks and "
        "micro-batches first");
}

}  // namespace
}  // namespace goodput
