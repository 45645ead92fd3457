// kineto_bench [MB [TIMES]]: how fast torch.profiler (Kineto) files are read, in MB of JSON a second and
// core, next to simdjson's on-demand parser with access to the same fields. Files of two kinds are made up,
// of MB megabytes (200) each: of a GPU job (cpu_ops, kernels, launches, flows) and of a CPU job with shapes.
// Each is read as Kineto indents it, compact, and as .gz, TIMES times in turn (5); the best and the median
// count.
//
//   kineto_bench --write FOLDER [MB]   writes the files, for callgrind
//   kineto_bench --read FILE           reads one
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "traces/io/byte_sink.h"
#include "traces/kineto/kineto_events.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;
namespace ondemand = simdjson::ondemand;
using std::chrono::steady_clock;

// Writes events one after another, as a profiler of one rank would.
class MadeUpTrace {
 public:
  explicit MadeUpTrace(bool on_device) : on_device_(on_device) {
    text_ =
        " {\n    \"schemaVersion\": 1,\n    \"deviceProperties\": [],\n      \"distributedInfo\": "
        "{\"backend\": "
        "\"nccl\", \"rank\": 0, \"world_size\": 8},\n    \"displayTimeUnit\": \"ms\",\n    "
        "\"baseTimeNanoseconds\": 1790857026000000000,\n    \"traceEvents\": [\n    \n";
  }

  std::string of_size(std::size_t bytes) && {
    text_.reserve(bytes + (std::size_t{1} << 16));
    while (text_.size() < bytes) {
      if (count_ % 4096 == 0) event("user_annotation", fmt::format("ProfilerStep#{}", count_ / 4096), "");
      host_op();
      if (on_device_ && random_() % 4 == 0) launch();
    }
    text_.resize(text_.find_last_of(','));
    text_ += "\n  ],\n  \"traceName\": \"trace.json\"\n}\n";
    return std::move(text_);
  }

 private:
  void event(std::string_view category, std::string_view name, std::string_view args, int tid = 4379) {
    ++count_;
    at_ns_ += 1000 + random_() % 9000;
    text_ += fmt::format(
        "  {{\n    \"ph\": \"X\",\n    \"cat\": \"{}\",\n    \"name\": \"{}\",\n    \"pid\": 4379,\n    "
        "\"tid\": {},\n    \"ts\": {}.{:03},\n    \"dur\": {}.{:03}\n    ,\n    \"args\": {{\n      "
        "\"External "
        "id\": {},\"Record function id\": 0{}, \"Ev Idx\": {}\n    }}\n  }},\n",
        category, name, tid, at_ns_ / 1000, at_ns_ % 1000, random_() % 100, random_() % 1000, count_, args,
        count_);
  }

  void host_op() {
    constexpr std::string_view kNames[] = {
        "aten::linear", "aten::addmm",    "aten::empty_strided",
        "aten::view",   "aten::_to_copy", "autograd::engine::evaluate_function: AddmmBackward0"};
    const std::uint64_t size = 16 * (1 + random_() % 64);
    const std::string shapes = fmt::format(
        ", \"Sequence number\": {0}, \"Fwd thread id\": 0, \"Concrete Inputs\": [\"\", \"\", \"1\"], \"Input "
        "type\": [\"float\", \"float\", \"Scalar\"], \"Input Strides\": [[{1}, 1], [1, {1}], []], \"Input "
        "Dims\": [[{1}, {1}], [{1}, 4096], []]",
        count_, size);
    event("cpu_op", kNames[random_() % std::size(kNames)], on_device_ ? "" : shapes);
  }

  void launch() {
    const bool is_nccl = random_() % 16 == 0;
    if (is_nccl) event("cpu_op", "record_param_comms", kCollective);
    event("cuda_runtime", "cudaLaunchKernel", fmt::format(", \"cbid\": 211, \"correlation\": {}", count_));
    flow("s", 4379);
    event("kernel",
          is_nccl ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
                  : "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
                    "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)",
          fmt::format(",\n      \"queued\": 0, \"device\": 0, \"context\": 1,\n      \"stream\": {}, "
                      "\"correlation\": {},\n      \"registers per thread\": 32,\n      \"shared memory\": "
                      "0,\n      \"blocks per SM\": 1.818182,\n      \"warps per SM\": 7.272727,\n      "
                      "\"grid\": [24, 1, 1],\n      \"block\": [544, 1, 1],\n      \"est. achieved occupancy "
                      "%\": 11{}",
                      is_nccl ? 20 : 7, count_, is_nccl ? kCollective : ""),
          is_nccl ? 20 : 7);
    flow("f", 7);
  }

  void flow(std::string_view phase, int tid) {
    text_ += fmt::format(
        "  {{\n    \"ph\": \"{}\",\n    \"id\": {},\n    \"pid\": 0,\n    \"tid\": {},\n    \"ts\": "
        "{}.{:03},\n   "
        " \"cat\": \"ac2g\",\n    \"name\": \"ac2g\"\n    \n  }},\n",
        phase, count_, tid, at_ns_ / 1000, at_ns_ % 1000);
  }

  static constexpr std::string_view kCollective =
      ", \"Collective name\": \"allreduce\", \"In msg nelems\": 4096, \"Out msg nelems\": 4096, \"Group "
      "size\": "
      "8, \"dtype\": \"Float\", \"In split size\": \"[]\", \"Out split size\": \"[]\", \"Process Group "
      "Name\": "
      "\"0\", \"Process Group Description\": \"default_pg\", \"Process Group Ranks\": \"[0, 1, 2, 3, 4, 5, "
      "6, "
      "7]\"";

  bool on_device_;
  std::mt19937_64 random_{7};
  std::uint64_t at_ns_ = 4'776'480'871'199'355;
  std::uint64_t count_ = 0;
  std::string text_;
};

// Without white space outside strings. The texts made up here have no escapes.
std::string compacted(std::string_view text) {
  std::string compact;
  compact.reserve(text.size());
  bool in_string = false;
  for (const char c : text) {
    if (c == '"') in_string = !in_string;
    if (in_string || (c != ' ' && c != '\n')) compact += c;
  }
  return compact;
}

// The fields that the reader takes, added up so that none is left out.
std::uint64_t args_by_simdjson(ondemand::object args) {
  std::uint64_t sum = 0;
  for (auto member : args) {
    const std::string_view key = member.unescaped_key();
    if (key == "External id" || key == "stream" || key == "correlation" || key == "In msg nelems" ||
        key == "Out msg nelems" || key == "Group size") {
      sum += member.value().get_uint64().value();
    } else if (key == "Collective name" || key == "dtype" || key == "Process Group Name" ||
               key == "Process Group Description" || key == "Process Group Ranks") {
      sum += member.value().get_string().value().size();
    }
  }
  return sum;
}

std::uint64_t event_by_simdjson(ondemand::object event) {
  std::uint64_t sum = 0;
  bool needs_args = false;
  for (auto member : event) {
    const std::string_view key = member.unescaped_key();
    if (key == "ph") {
      if (member.value().get_string().value() != "X") return sum;
    } else if (key == "cat") {
      const std::string_view category = member.value().get_string().value();
      needs_args = category == "kernel" || category == "cuda_runtime";
    } else if (key == "name") {
      const std::string_view name = member.value().get_string().value();
      needs_args = needs_args || name == "record_param_comms" || name.starts_with("autograd::engine");
      sum += name.size();
    } else if (key == "tid") {
      sum += member.value().get_uint64().value();
    } else if (key == "ts" || key == "dur") {
      sum += static_cast<std::uint64_t>(member.value().get_double().value());
    } else if (key == "args" && needs_args) {
      sum += args_by_simdjson(member.value().get_object());
    }
  }
  return sum;
}

std::uint64_t read_by_simdjson(const simdjson::padded_string& text) {
  ondemand::parser parser;
  ondemand::document document = parser.iterate(text);
  std::uint64_t sum = 0;
  for (auto event : document["traceEvents"].get_array()) sum += event_by_simdjson(event.get_object());
  return sum;
}

std::size_t read_file(const std::string& path) {
  auto source = ByteSource::open(path);
  if (!source) {
    fmt::print(stderr, "{}\n", source.error().message());
    std::exit(EXIT_FAILURE);
  }
  const auto events = read_kineto_events(*source);
  if (!events) {
    fmt::print(stderr, "{}\n", events.error().message());
    std::exit(EXIT_FAILURE);
  }
  return events->events + events->kernels.size() + events->marks.size() + events->spans.size();
}

void write_file(const std::string& path, std::string_view text) {
  auto sink = ByteSink::open(path, path, ByteSink::Compression::kFast);
  if (!sink || !sink->write(text) || !sink->close()) {
    fmt::print(stderr, "cannot write {}\n", path);
    std::exit(EXIT_FAILURE);
  }
}

template <typename Function>
double seconds_of(const Function& function) {
  const auto begin = steady_clock::now();
  const auto result = function();
  if (result == 0) std::exit(EXIT_FAILURE);
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

struct Speed {
  double best_mb_per_s = 0;
  double median_mb_per_s = 0;
};

Speed speed_of(std::vector<double> seconds, std::size_t bytes) {
  std::ranges::sort(seconds);
  const double megabytes = 1e-6 * static_cast<double>(bytes);
  return {megabytes / seconds.front(), megabytes / seconds[seconds.size() / 2]};
}

void measure(const std::string& name, const std::string& text, const fs::path& folder, int times) {
  const std::string plain = (folder / "trace.json").string();
  const std::string zipped = plain + ".gz";
  write_file(plain, text);
  write_file(zipped, text);
  const simdjson::padded_string padded(text);
  std::vector<double> ours;
  std::vector<double> ours_of_gzip;
  std::vector<double> simdjsons;
  for (int i = 0; i < times; ++i) {
    ours.push_back(seconds_of([&] { return read_file(plain); }));
    simdjsons.push_back(seconds_of([&] { return read_by_simdjson(padded); }));
    ours_of_gzip.push_back(seconds_of([&] { return read_file(zipped); }));
  }
  const Speed plain_speed = speed_of(ours, text.size());
  const Speed gzip_speed = speed_of(ours_of_gzip, text.size());
  const Speed simdjson_speed = speed_of(simdjsons, text.size());
  fmt::print(
      "{:<16} {:6.0f} MB  goodput {:5.0f} (median {:5.0f})  .gz {:4.0f} ({:4.0f})  simdjson {:5.0f} "
      "({:5.0f}) "
      "MB/s  ratio {:.2f}\n",
      name, 1e-6 * static_cast<double>(text.size()), plain_speed.best_mb_per_s, plain_speed.median_mb_per_s,
      gzip_speed.best_mb_per_s, gzip_speed.median_mb_per_s, simdjson_speed.best_mb_per_s,
      simdjson_speed.median_mb_per_s, plain_speed.best_mb_per_s / simdjson_speed.best_mb_per_s);
  std::fflush(stdout);
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "--read")
    return read_file(arguments[1]) > 0 ? 0 : EXIT_FAILURE;
  const bool writes = arguments.size() >= 2 && arguments[0] == "--write";
  const std::size_t sizes_at = writes ? 2 : 0;
  const auto number = [&](std::size_t at, int otherwise) {
    return arguments.size() > at ? std::atoi(arguments[at].c_str()) : otherwise;
  };
  const std::size_t bytes = 1'000'000 * static_cast<std::size_t>(number(sizes_at, writes ? 20 : 200));
  std::string made = (fs::temp_directory_path() / "kineto_bench_XXXXXX").string();
  const fs::path folder = writes ? fs::path(arguments[1]) : fs::path(mkdtemp(made.data()));
  for (const bool on_device : {true, false}) {
    const std::string kind = on_device ? "gpu" : "cpu";
    const std::string indented = MadeUpTrace(on_device).of_size(bytes);
    const std::string compact = compacted(indented);
    if (writes) {
      write_file((folder / (kind + "-indented.json")).string(), indented);
      write_file((folder / (kind + "-compact.json")).string(), compact);
      continue;
    }
    measure(kind + " indented", indented, folder, number(1, 5));
    measure(kind + " compact", compact, folder, number(1, 5));
  }
  if (!writes) fs::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace goodput

int main(int argc, char** argv) {
  return goodput::run({argv + 1, argv + argc});
}
