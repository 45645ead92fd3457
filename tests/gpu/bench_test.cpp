#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>

#include "gpu/bench/json.h"
#include "gpu/bench/judgement.h"
#include "gpu/bench/options.h"
#include "gpu/bench/output_file.h"
#include "gpu/bench/routing.h"
#include "gpu/bench/traffic.h"

namespace goodput::gpu::bench {
namespace {

constexpr LayerShape kTiny{3, 8, 2};  // rows of 16 bytes, 6 slots

TEST_CASE("bench traffic: every row is read once and written once") {
  CHECK(scatter_bytes(kTiny) == 3 * 16 * (1 + 2));
  CHECK(scatter_backward_bytes(kTiny) == 3 * 16 * (2 + 1) + 6 * 4);
  CHECK(combine_bytes(kTiny) == 3 * 16 * (2 + 1) + 6 * (4 + 4));
  CHECK(combine_backward_bytes(kTiny) == 3 * 16 * (1 + 2 + 2) + 6 * (4 + 4 + 4));
  CHECK(regroup_bytes(6, 16) == 6 * 16 * 2);
  CHECK(scatter_bytes({3, 8, 2, ElementType::kFp32}) == 2 * scatter_bytes(kTiny));
  CHECK(scatter_bytes({65536, 7168, 8}) == 8'455'716'864);  // beyond 32 bits
  CHECK(name_of(kTiny) == "T=3 d=8 k=2");
}

TEST_CASE("bench traffic: floors at 4.3 TB/s are the design's") {
  struct Row {
    LayerShape layer;
    double floor_us;
  };
  const Row rows[] = {{{4096, 7168, 1}, 27},   {{4096, 7168, 8}, 123},  {{16384, 4096, 1}, 62},
                      {{16384, 4096, 8}, 281}, {{65536, 7168, 1}, 437}, {{65536, 7168, 8}, 1966}};
  for (const Row& row : rows) {
    INFO(name_of(row.layer));
    CHECK(std::round(floor_us(scatter_bytes(row.layer), 4300)) == row.floor_us);
  }
}

TEST_CASE("bench traffic: a rate is the floor turned round") {
  // 4300 bytes in a nanosecond are 4.3 TB/s.
  CHECK(gb_per_s(4'300'000, 1) == doctest::Approx(4300));
  CHECK(floor_us(4'300'000, 4300) == doctest::Approx(1));
  CHECK(share_of_ceiling(123, 220) == doctest::Approx(0.559).epsilon(0.001));  // the public best of gpu.md
}

TEST_CASE("bench traffic: places of a ceiling are no large power of two apart") {
  for (const std::int64_t bytes : {491'520'000, 1 << 29, 65536}) {
    CHECK(place_stride(bytes) > bytes);
    CHECK(place_stride(bytes) % 256 == 0);
    CHECK(place_stride(bytes) % 512 != 0);
  }
  CHECK(name_of(CopyFlow{1, 8}) == "1 read : 8 write");
  CHECK(CopyFlow{8, 1} == CopyFlow{8, 1});
  CHECK_FALSE(CopyFlow{8, 1} == CopyFlow{1, 8});
}

TEST_CASE("bench traffic: small operations rotate over sets until a round is cold, or are called hot") {
  CHECK(sets_for(kColdBytes) == 1);
  CHECK(cache_state(kColdBytes, 1) == CacheState::kCold);
  CHECK(sets_for(kColdBytes - 1) == 4);
  CHECK(cache_state(kColdBytes - 1, 4) == CacheState::kCold);
  CHECK(sets_for(kColdBytes / 10) == 10);
  CHECK(cache_state(kColdBytes / 10, 10) == CacheState::kCold);
  CHECK(sets_for(1'000'000) == 16);
  CHECK(cache_state(1'000'000, 16) == CacheState::kHot);
  CHECK(sets_for(0) == 16);
  CHECK(std::string(name_of(CacheState::kCold)) == "cold");
  CHECK(std::string(name_of(CacheState::kHot)) == "L2-hot");
}

TEST_CASE("bench judgement: the share is the floor of this run's ceiling over the median") {
  // 528482304 bytes at 4000 GB/s are 132.12 us.
  const std::optional<AgainstFloor> judged = judge_floor(scatter_bytes({4096, 7168, 8}), 4000.0, 165.15);
  REQUIRE(judged);
  CHECK(judged->floor_us == doctest::Approx(132.12).epsilon(1e-4));
  CHECK(judged->share == doctest::Approx(0.8).epsilon(1e-4));
  CHECK_FALSE(judge_floor(1, std::nullopt, 1));
  CHECK_FALSE(judge_floor(1, 4000.0, 0));
}

TEST_CASE("bench judgement: targets are held against replays, else against events") {
  CHECK(meets_target(12, 12.0, 15));
  CHECK_FALSE(meets_target(12, 12.1, 11));
  CHECK(meets_target(12, std::nullopt, 11));
  CHECK_FALSE(meets_target(12, std::nullopt, 15));
}

TEST_CASE("bench judgement: so are shares of the ceiling") {
  CHECK(meets_share(0.85, 0.85, 0.8));
  CHECK_FALSE(meets_share(0.85, 0.84, 0.9));
  CHECK(meets_share(0.85, std::nullopt, 0.9));
  CHECK_FALSE(meets_share(0.85, std::nullopt, 0.84));
}

TEST_CASE("bench judgement: times and shares are shown with the digits they have") {
  CHECK(percent_text(0.8534) == "85.3 %");
  CHECK(us_text(0.4123) == "0.412");
  CHECK(us_text(7.456) == "7.46");
  CHECK(us_text(122.93) == "122.9");
  CHECK(us_text(1966.4) == "1966");
}

TEST_CASE("bench options: all of them") {
  const Options options = parse_options(
      {"--quick", "--only", "scatter", "--json", "out.json", "--date", "2026-01-02", "--deadline-s", "2.5"});
  CHECK(options.sizes == Sizes::kQuick);
  CHECK(options.only == "scatter");
  CHECK(options.json_file == "out.json");
  CHECK(options.date == "2026-01-02");
  CHECK(options.deadline_s == 2.5);
  CHECK_FALSE(options.help);
  CHECK(parse_options({"--help"}).help);

  const Options defaults = parse_options({});
  CHECK(defaults.sizes == Sizes::kFull);
  CHECK(defaults.only.empty());
  CHECK_FALSE(defaults.json_file);
  CHECK(defaults.deadline_s == 600);
}

TEST_CASE("bench options: what is wrong is said in one line") {
  const auto refused = [](const std::vector<std::string>& arguments, const char* message) {
    CHECK_THROWS_WITH_AS(static_cast<void>(parse_options(arguments)), message, std::invalid_argument);
  };
  refused({"--fast"}, "unknown option '--fast'; see --help");
  refused({"--json=x"}, "unknown option '--json=x'; see --help");
  refused({"scatter"}, "unexpected argument 'scatter'; see --help");
  refused({"--json"}, "--json needs a value");
  refused({"--quick", "--only"}, "--only needs a value");
  refused({"--json", ""}, "--json must not be empty");
  refused({"--date", ""}, "--date must not be empty");
  for (const std::string number : {"", "abc", "1s", "0", "-1", "nan", "inf", "1e999"}) {
    refused({"--deadline-s", number},
            ("--deadline-s must be a positive number, not '" + number + "'").c_str());
  }
}

TEST_CASE("bench options: the help names every option") {
  const std::string help = help_text();
  for (const char* option :
       {"--quick", "--only SUBSTRING", "--json FILE", "--date TEXT", "--deadline-s N", "--help"}) {
    CHECK(help.find(option) != std::string::npos);
  }
}

TEST_CASE("bench json: objects, arrays, null and escapes") {
  JsonWriter json;
  json.begin_object();
  json.member("text", "a \"b\"\\\n\x01");
  json.member("none", std::optional<double>());
  json.key("empty");
  json.begin_array();
  json.end_array();
  json.key("numbers");
  json.begin_array();
  json.value(1);
  json.value(-0.5);
  json.value(true);
  json.value(false);
  json.begin_object();
  json.end_object();
  json.end_array();
  json.end_object();
  CHECK(json.text() ==
        "{\n"
        "  \"text\": \"a \\\"b\\\"\\\\\\u000a\\u0001\",\n"
        "  \"none\": null,\n"
        "  \"empty\": [],\n"
        "  \"numbers\": [\n"
        "    1,\n"
        "    -0.5,\n"
        "    true,\n"
        "    false,\n"
        "    {}\n"
        "  ]\n"
        "}\n");
}

TEST_CASE("bench json: numbers read back as they were, and what is no number is refused") {
  for (const double number : {0.1, 1.0 / 3, 1e300, 5e-324, 123456789012345678.0, 4300.0}) {
    CHECK(std::strtod(number_text(number).c_str(), nullptr) == number);
  }
  CHECK(number_text(0.1) == "0.1");
  CHECK(number_text(4300) == "4300");
  for (const double number : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    CHECK_THROWS_WITH_AS(static_cast<void>(number_text(number)), "json: a number is not finite",
                         std::invalid_argument);
  }
}

// A directory of its own, gone with its content.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / ("goodput_bench_" + std::to_string(getpid()) + name)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(path_), {});
  }

 private:
  std::filesystem::path path_;
};

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("bench output file: it is there whole, or as it was") {
  const TemporaryDirectory directory("whole");
  const std::string path = directory.file("out.json");
  OutputFile(path).write("old");
  CHECK(content_of(path) == "old");
  {
    const OutputFile never_written(path);
    CHECK(content_of(path) == "old");
  }
  CHECK(content_of(path) == "old");
  CHECK(directory.files() == 1);
  OutputFile(path).write("new");
  CHECK(content_of(path) == "new");
  CHECK(directory.files() == 1);
}

TEST_CASE("bench output file: it can be replaced again and again") {
  const TemporaryDirectory directory("again");
  const std::string path = directory.file("out.json");
  {
    OutputFile file(path);
    for (const char* content : {"a long first content", "short", ""}) {
      file.write(content);
      CHECK(content_of(path) == content);
      CHECK(directory.files() == 1);
    }
  }
  CHECK(content_of(path).empty());
  CHECK(directory.files() == 1);
}

TEST_CASE("bench output file: what cannot be written is refused before anything is measured") {
  const TemporaryDirectory directory("refused");
  const std::string missing = directory.file("no/out.json");
  CHECK_THROWS_WITH_AS(OutputFile{missing},
                       ("cannot write " + missing + ": No such file or directory").c_str(),
                       std::invalid_argument);
  const std::string folder = directory.file(".");
  CHECK_THROWS_WITH_AS(OutputFile{folder}, ("cannot write " + folder + ": Is a directory").c_str(),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(OutputFile{"/dev/null"},
                       "cannot write /dev/null: it is not a regular file, and writing would replace it",
                       std::invalid_argument);
}

TEST_CASE("bench routing: every slot holds an expert and every expert a slot") {
  const ClusterSize size{6, 10, 3};
  const std::vector<std::int32_t> replicas = draw_replicas(size, 1);
  CHECK(replicas == draw_replicas(size, 1));
  CHECK(replicas != draw_replicas(size, 2));
  for (std::size_t rank = 0; rank < 6; ++rank) {
    const auto row = replicas.begin() + static_cast<std::ptrdiff_t>(rank * 10);
    CHECK(std::accumulate(row, row + 10, 0) == 3);
  }
  for (std::size_t expert = 0; expert < 10; ++expert) {
    std::int32_t hosted = 0;
    for (std::size_t rank = 0; rank < 6; ++rank) hosted += replicas[rank * 10 + expert];
    CHECK(hosted >= 1);
  }
}

TEST_CASE("bench routing: a token's experts differ, and all are as likely") {
  constexpr std::int64_t kTokens = 8000;
  const std::vector<std::int32_t> routing = draw_routing(kTokens, 4, 16, 1);
  REQUIRE(routing.size() == 4 * kTokens);
  std::vector<int> count(16, 0);
  for (std::size_t token = 0; token < kTokens; ++token) {
    const auto first = routing.begin() + static_cast<std::ptrdiff_t>(4 * token);
    REQUIRE(std::set<std::int32_t>(first, first + 4).size() == 4);
    for (int j = 0; j < 4; ++j) ++count[static_cast<std::size_t>(first[j])];
  }
  // 2000 each, a standard deviation of sqrt(8000 * 1/4 * 3/4) = 39: five of them.
  for (const int expert : count) CHECK(std::abs(expert - 2000) < 5 * 39);
}

TEST_CASE("bench routing: other ranks' counts are about the mean of one's own") {
  const ClusterSize size{3, 4, 4};
  const std::vector<moe::Tokens> own = {100, 0, 200, 100};  // mean 100
  const std::vector<moe::Tokens> counts = draw_counts(size, 1, own, 7);
  REQUIRE(counts.size() == 12);
  for (std::size_t i = 0; i < 12; ++i) {
    if (i / 4 == 1) {
      CHECK(counts[i] == own[i - 4]);
    } else {
      CHECK(counts[i] >= 50);
      CHECK(counts[i] <= 150);
    }
  }
}

TEST_CASE("bench routing: a sample is all, or is spread from the first to the last") {
  CHECK(spread_sample(3, 5) == std::vector<std::int64_t>{0, 1, 2});
  CHECK(spread_sample(5, 5) == std::vector<std::int64_t>{0, 1, 2, 3, 4});
  CHECK(spread_sample(101, 3) == std::vector<std::int64_t>{0, 50, 100});
  CHECK(spread_sample(0, 2).empty());
}

}  // namespace
}  // namespace goodput::gpu::bench
