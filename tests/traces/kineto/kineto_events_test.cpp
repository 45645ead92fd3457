#include "traces/kineto/kineto_events.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "sim/base/json.h"
#include "tests/traces/io/temporary_file.h"
#include "traces/io/byte_sink.h"

namespace goodput {
namespace {

using Lines = std::vector<std::string>;

constexpr std::string_view kHeader =
    R"({"schemaVersion":1,"deviceProperties":[],"baseTimeNanoseconds":1000000000,"traceEvents":[)";

struct KinetoRead {
  KinetoEvents events;
  std::string error;  // without the path
};

KinetoRead read_file(const TemporaryFile& file, const JsonWindowLimits& limits = {}) {
  auto source = ByteSource::open(file.path());
  REQUIRE(source);
  KinetoRead read;
  auto events = read_kineto_events(*source, limits);
  if (events) {
    CHECK(events->path == file.path());
    read.events = *std::move(events);
  } else {
    read.error = without_path(events.error().message(), file);
  }
  return read;
}

KinetoRead read_text(std::string_view text, const JsonWindowLimits& limits = {}) {
  return read_file(TemporaryFile("trace.json", text), limits);
}

// Of a file with these events behind the header.
KinetoEvents events_of(const std::string& events) {
  KinetoRead read = read_text(std::string(kHeader) + events + "]}");
  REQUIRE(read.error == "");
  return std::move(read.events);
}

std::string error_of(const std::string& events) {
  return read_text(std::string(kHeader) + events + "]}").error;
}

// Of a file with these keys before its events, which are none.
KinetoRead read_header(const std::string& keys) {
  return read_text("{" + keys + R"(,"traceEvents":[]})");
}

// An event of thread 9 that lasts from 5.25 to 7.75 microseconds.
std::string event(std::string_view category, std::string_view name, std::string_view args = "") {
  return fmt::format(
      R"({{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":9,"ts":5.250,"dur":2.500,"args":{{{}}}}})", category,
      name, args);
}
constexpr std::int64_t kBeginNs = 1'000'005'250;  // of event() behind kHeader
constexpr std::int64_t kEndNs = 1'000'007'750;

// That event with one text in it replaced.
std::string event_with(std::string_view part, std::string_view replacement,
                       std::string text = event("cpu_op", "aten::add")) {
  const auto at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), replacement);
}

std::string describe(const KinetoEvents& events, std::int32_t comm) {
  if (comm < 0) return "-";
  const KinetoCommArgs& args = events.comm_args.at(static_cast<std::size_t>(comm));
  const auto name = [&](std::uint32_t index) { return events.names.at(index); };
  return fmt::format("{}|{}|{}|{}|{}|{}>{}|size {}|seq {}|{}>{}", name(args.collective), name(args.dtype),
                     name(args.group_name), name(args.group_description), name(args.group_ranks),
                     args.in_elements, args.out_elements, args.group_size, args.sequence, args.source,
                     args.destination);
}

Lines spans_of(const KinetoEvents& events) {
  Lines lines;
  for (const auto& span : events.spans) {
    lines.push_back(fmt::format("span {} {}-{} thread {} id {} peer {} shape {} comm {}",
                                events.names.at(span.name), span.begin_ns, span.end_ns, span.thread,
                                span.external_id, span.peer, span.shape, describe(events, span.comm)));
  }
  return lines;
}

// All columns, a line a row.
Lines lines_of(const KinetoEvents& events) {
  Lines lines = spans_of(events);
  for (const auto& step : events.steps) {
    lines.push_back(
        fmt::format("step {} {}-{} thread {}", step.number, step.begin_ns, step.end_ns, step.thread));
  }
  for (const auto& mark : events.marks) {
    lines.push_back(fmt::format("mark {} {}-{} thread {}", events.names.at(mark.name), mark.begin_ns,
                                mark.end_ns, mark.thread));
  }
  for (const auto& kernel : events.kernels) {
    lines.push_back(fmt::format("kernel {}-{} stream {} correlation {} collective {}", kernel.begin_ns,
                                kernel.end_ns, kernel.stream, kernel.correlation, kernel.collective));
  }
  for (const auto& kernel : events.collective_kernels) {
    lines.push_back(fmt::format("collective {} {}", kernel.external_id, describe(events, kernel.comm)));
  }
  for (const auto& launch : events.launches) {
    lines.push_back(
        fmt::format("launch {} {} thread {}", launch.begin_ns, launch.correlation, launch.thread));
  }
  for (const auto& wait : events.stream_waits) {
    lines.push_back(fmt::format("wait {} stream {} on {} record {} correlation {}", wait.begin_ns,
                                wait.stream, wait.wait_on_stream, wait.record_correlation, wait.correlation));
  }
  lines.push_back(fmt::format(
      "events {} cut {} graphs {} spinning {} groups {} rank {} world {} host {}", events.events,
      events.is_cut, events.has_graphs, fmt::join(events.spinning_kernels, "|"), events.header.groups.size(),
      events.header.rank.value_or(-1), events.header.world_size.value_or(-1), events.header.host_name));
  return lines;
}

const std::string kCollective =
    R"("External id":7,"Collective name":"allreduce","dtype":"Float","In msg nelems":16,"Out msg nelems":64,)"
    R"("Group size":2,"Process Group Name":"3","Process Group Description":"mesh_dp","Process Group Ranks":)"
    R"("[0, 1]","Seq":12,"Src Rank":4,"Dst Rank":5)";
constexpr std::string_view kCollectiveText = "allreduce|Float|3|mesh_dp|[0, 1]|16>64|size 2|seq 12|4>5";

// One event of every kind, of the forms that Kineto writes.
std::string one_of_each() {
  std::string text = event("user_annotation", "ProfilerStep#12") + ",";
  text += R"({"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"python"}},)";
  text += event("cpu_op", "aten::add", R"("Input Dims":[[1,"]}"]])") + ",";
  text += event("python_function", R"(a.py(1): f \" \\)") + ",";
  text +=
      event("cpu_op", "c10d::send", R"("Concrete Inputs":["","","3","0"],"Input Dims":[[[2,3]],[],[],[]])") +
      ",";
  text += event("cpu_op", "record_param_comms", kCollective) + ",";
  text += event("gpu_user_annotation", "FSDP::pre_forward") + ",";
  text += event("kernel", "ncclDevKernel_AllReduce", R"("stream":20,"correlation":6,)" + kCollective) + ",";
  text += event("kernel", "gemm", R"("stream":7,"correlation":5,"grid":[1,2,3])") + ",";
  text += event("cuda_runtime", "cudaLaunchKernel", R"("correlation":5)") + ",";
  text += R"({"ph":"s","id":5,"pid":1,"tid":9,"ts":5.25,"cat":"ac2g","name":"ac2g"},)";
  text += event("cuda_sync", "Stream Wait Event",
                R"("stream":20,"correlation":8,"wait_on_stream":7,"wait_on_cuda_event_record_corr_id":4)");
  return text;
}

const std::string kJob =
    R"("distributedInfo":{"backend":"nccl","rank":1,"world_size":2,"pg_config":[{"pg_name":"3","ranks":[0,1]}]},)"
    R"("host_name":"node 7")";

// The text with white space wherever JSON allows it.
std::string indented(std::string_view compact) {
  std::string text;
  bool in_string = false;
  bool is_escaped = false;
  for (const char c : compact) {
    if (c == '"' && !is_escaped) in_string = !in_string;
    is_escaped = c == '\\' && !is_escaped;
    const bool is_mark = !in_string && std::string_view("{}[]:,").find(c) != std::string_view::npos;
    text += is_mark ? fmt::format("\n    {} \r\n\t", c) : std::string(1, c);
  }
  return text;
}

TEST_CASE("kineto events: every kind of event becomes a row of its column") {
  const Lines lines = lines_of(events_of(one_of_each()));
  CHECK(lines[0] == fmt::format("span c10d::send {}-{} thread 9 id 0 peer 3 shape {} comm -", kBeginNs,
                                kEndNs, events_of(one_of_each()).spans[0].shape));
  const Lines expected = {fmt::format("span record_param_comms {}-{} thread 9 id 7 peer -1 shape 0 comm {}",
                                      kBeginNs, kEndNs, kCollectiveText),
                          fmt::format("step 12 {}-{} thread 9", kBeginNs, kEndNs),
                          fmt::format("kernel {}-{} stream 20 correlation 6 collective 0", kBeginNs, kEndNs),
                          fmt::format("kernel {}-{} stream 7 correlation 5 collective -1", kBeginNs, kEndNs),
                          fmt::format("collective 7 {}", kCollectiveText),
                          fmt::format("launch {} 5 thread 9", kBeginNs),
                          fmt::format("wait {} stream 20 on 7 record 4 correlation 8", kBeginNs),
                          "events 12 cut false graphs false spinning  groups 0 rank -1 world -1 host "};
  CHECK(Lines(lines.begin() + 1, lines.end()) == expected);
}

TEST_CASE("kineto events: indented, compact, compressed and small-windowed files have the same events") {
  const std::string compact = "{" + kJob + R"(,"traceEvents":[)" + one_of_each() + "]}";
  const Lines expected = lines_of(read_text(compact).events);
  REQUIRE(expected.size() == 9);
  CHECK(expected.back().ends_with("groups 1 rank 1 world 2 host node 7"));
  const std::string spacious = indented(compact);
  CHECK(lines_of(read_text(spacious).events) == expected);
  for (std::size_t window = 1; window < 600; window += window < 100 ? 1 : 37) {
    CAPTURE(window);
    CHECK(lines_of(read_text(compact, {.window_bytes = window, .event_bytes = 1000}).events) == expected);
    CHECK(lines_of(read_text(spacious, {.window_bytes = window, .event_bytes = 3000}).events) == expected);
  }
  const TemporaryFile zipped("trace.json.gz");
  auto sink = ByteSink::open(zipped.path(), zipped.path());
  REQUIRE(sink);
  REQUIRE(sink->write(spacious));
  REQUIRE(sink->close());
  CHECK(lines_of(read_file(zipped).events) == expected);
}

TEST_CASE("kineto events: the order of keys within an event does not matter") {
  const std::string members[] = {R"("ph":"X")",
                                 R"("cat":"kernel")",
                                 R"("name":"nccl")",
                                 R"("tid":9)",
                                 R"("ts":5.25)",
                                 R"("dur":2.5)",
                                 R"("args":{"stream":20,"correlation":6,)" + kCollective + "}"};
  const Lines expected =
      lines_of(events_of(event("kernel", "nccl", R"("stream":20,"correlation":6,)" + kCollective)));
  for (std::size_t first = 0; first < std::size(members); ++first) {
    std::string text;
    for (std::size_t i = 0; i < std::size(members); ++i) {
      text += (i == 0 ? "{" : ",") + members[(first + i) % std::size(members)];
    }
    CHECK(lines_of(events_of(text + "}")) == expected);
  }
}

TEST_CASE("kineto events: the header and its base time may come after the events") {
  const std::string text = R"({"traceEvents":[)" + event("cpu_op", "aten::add") + "]," + kJob +
                           R"(,"baseTimeNanoseconds":1000000000})";
  const KinetoRead read = read_text(text);
  CHECK(read.error == "");
  CHECK(read.events.header.base_ns == 1'000'000'000);
  CHECK(read.events.header.groups == std::vector<ProcessGroup>{{"3", "", {0, 1}}});
  CHECK(read.events.marks.at(0).begin_ns == kBeginNs);
}

TEST_CASE("kineto events: without a base time ts is absolute, and a file may be an array") {
  const KinetoRead read = read_text("[" + event("cpu_op", "aten::add") + "]");
  CHECK(read.error == "");
  CHECK(read.events.marks.at(0).begin_ns == 5'250);
  CHECK(read.events.marks.at(0).end_ns == 7'750);
}

TEST_CASE("kineto events: spans have the names that an analysis knows, all backward functions one") {
  std::string text;
  const auto add = [&](std::string_view category, std::string_view name) {
    text += (text.empty() ? "" : ",") + event(category, name);
  };
  for (const std::string_view name :
       {"c10d::allreduce_", "c10d::barrier", "c10d::recv_any_source_", "c10d::other",
        "_c10d_functional::all_reduce", "_c10d_functional::wait_tensor",
        "autograd::engine::evaluate_function: MulBackward0",
        "autograd::engine::evaluate_function: AddBackward0", "aten::add", "PP:0F1", "gloo:send"}) {
    add("cpu_op", name);
  }
  for (const std::string_view name :
       {"PP:0F1", "Forward 3", "Backward 3", "ForwardX", "Optimizer.step#AdamW.step", "Optimizer.zero_grad#A",
        "enumerate(DataLoader)#I.__next__", "DistributedDataParallel.forward", "FSDP::pre_forward (a)",
        "gloo:all_reduce", "nccl:all_reduce", "c10d::send"}) {
    add("user_annotation", name);
  }
  add("gpu_user_annotation", "nccl:all_reduce");
  const KinetoEvents events = events_of(text);
  Lines names;
  for (const auto& span : events.spans) names.push_back(events.names.at(span.name));
  CHECK(names == Lines{"c10d::allreduce_", "c10d::barrier", "c10d::recv_any_source_",
                       "_c10d_functional::wait_tensor", "autograd::engine::evaluate_function",
                       "autograd::engine::evaluate_function", "gloo:send", "PP:0F1", "Forward 3",
                       "Backward 3", "Optimizer.step#AdamW.step", "enumerate(DataLoader)#I.__next__",
                       "DistributedDataParallel.forward", "FSDP::pre_forward (a)", "gloo:all_reduce",
                       "nccl:all_reduce"});
  CHECK(events.marks.size() == 23);  // all but the gpu_user_annotation
  CHECK(events.names.front() == "");
  CHECK(std::set(events.names.begin(), events.names.end()).size() == events.names.size());
}

TEST_CASE(
    "kineto events: names are unescaped, keys and categories with other text in them are not mistaken") {
  const KinetoEvents events = events_of(event("user_annotation", R"(Forward \u00e9\"\\)"));
  CHECK(events.names.at(events.spans.at(0).name) == "Forward \xc3\xa9\"\\");
  CHECK(events_of(event_with("\"tid\"", R"("note":"\"tid\":77,","tid")")).marks.at(0).thread == 9);
  CHECK(events_of("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\tb\",\"tid\":1,\"ts\":1,\"dur\":1}")
            .marks.size() == 1);
}

TEST_CASE("kineto events: marks are dropped once there is a kernel, wherever it is") {
  const std::string mark = event("cpu_op", "aten::add");
  CHECK(events_of(mark + "," + mark).marks.size() == 2);
  CHECK(events_of(mark + "," + event("gpu_memset", "Memset") + "," + mark + "," +
                  event("cpu_op", "c10d::barrier"))
            .marks.empty());
}

TEST_CASE("kineto events: shapes differ if their texts without white space differ") {
  const auto shape = [](std::string_view dims) {
    const std::string args = dims.empty() ? "" : fmt::format(R"("Input Dims":{})", dims);
    return events_of(event("cpu_op", "c10d::allreduce_", args)).spans.at(0).shape;
  };
  CHECK(shape("") == 0);
  CHECK(shape("[[[1, 2]], []]") != 0);
  CHECK(shape("[[[1, 2]], []]") == shape("[[[1,2]],[]]"));
  CHECK(shape("[[[1,2]],[]]") != shape("[[[12]],[]]"));
}

TEST_CASE("kineto events: a message has a peer if the third of its inputs is a rank") {
  const auto peer = [](std::string_view name, std::string_view inputs) {
    return events_of(event("cpu_op", name, fmt::format(R"("Concrete Inputs":{})", inputs))).spans.at(0).peer;
  };
  CHECK(peer("c10d::send", R"(["", "", "0", "0"])") == 0);
  CHECK(peer("c10d::recv_", R"(["","","12","0"])") == 12);
  CHECK(peer("c10d::recv_any_source_", R"(["","","12","0"])") == -1);
  for (const std::string_view none : {R"(["",""])", R"(["","",""])", R"(["","","-1"])",
                                      R"(["","","9999999999"])", R"(["","",3])", R"("x")", "5"}) {
    CHECK(peer("c10d::send", none) == -1);
  }
}

TEST_CASE("kineto events: communication without some of its args, or with those of before 2024") {
  const auto comm = [](std::string_view args) {
    const KinetoEvents events = events_of(event("cpu_op", "record_param_comms", args));
    return describe(events, events.spans.at(0).comm);
  };
  CHECK(comm("") == "-");
  CHECK(comm(R"("Collective name":"wait")") == "wait|||||-1>-1|size -1|seq -1|-1>-1");
  CHECK(comm(R"("Process Group ID":5)") == "||5|||-1>-1|size -1|seq -1|-1>-1");
  CHECK(comm(R"("Collective name":"a","Process Group ID":5,"Process Group Name":"6")") ==
        "a||6|||-1>-1|size -1|seq -1|-1>-1");
  CHECK(comm(R"("Collective name":"a","Process Group Ranks":[0,1])") ==
        "a||||[0,1]|-1>-1|size -1|seq -1|-1>-1");
}

TEST_CASE("kineto events: nccl kernels of any case are collectives, without args too") {
  const KinetoEvents events =
      events_of(event("kernel", "NCCLKernel_AllReduce", R"("stream":1,"external id":4)") + "," +
                event("gpu_memcpy", "nccl copy", R"("stream":1)"));
  REQUIRE(events.collective_kernels.size() == 1);
  CHECK(events.collective_kernels[0].comm == -1);
  CHECK(events.collective_kernels[0].external_id == 4);
  CHECK(events.kernels.at(0).collective == 0);
  CHECK(events.kernels.at(1).collective == -1);
}

TEST_CASE("kineto events: the stream comes from args, else from the thread") {
  const auto stream = [](const std::string& text) { return events_of(text).kernels.at(0).stream; };
  CHECK(stream(event("kernel", "a", R"("stream":7)")) == 7);
  CHECK(stream(event("kernel", "a")) == 9);
  CHECK(stream(event_with("\"tid\":9", "\"tid\":\"stream 13\"", event("kernel", "a"))) == 13);
}

TEST_CASE("kineto events: negative ids count as 32-bit numbers") {
  const KinetoEvents events = events_of(event_with("\"tid\":9", "\"tid\":-2"));
  CHECK(events.marks.at(0).thread == 0xfffffffe);
  const auto wait =
      events_of(event("cuda_sync", "Stream Wait Event",
                      R"("stream":7,"wait_on_stream":-1,"wait_on_cuda_event_record_corr_id":-1)"))
          .stream_waits.at(0);
  CHECK(wait.wait_on_stream == 0xffffffff);
  CHECK(wait.record_correlation == 0);
  CHECK(wait.correlation == 0);
}

TEST_CASE("kineto events: other synchronizations and launches without a correlation are left out") {
  const KinetoEvents events = events_of(event("cuda_sync", "Stream Sync", R"("stream":7)") + "," +
                                        event("cuda_runtime", "cudaMalloc") + "," +
                                        event("cuda_driver", "cuLaunchKernel", R"("correlation":3)"));
  CHECK(events.stream_waits.empty());
  CHECK(events.launches.size() == 1);
}

TEST_CASE("kineto events: kernels of CUDA graphs are noticed") {
  const auto has_graphs = [](std::string_view args) {
    return events_of(event("kernel", "a", args)).has_graphs;
  };
  CHECK(!has_graphs(""));
  CHECK(!has_graphs(R"("graph id":0,"graph node id":0)"));
  CHECK(has_graphs(R"("graph id":3)"));
  CHECK(has_graphs(R"("graph node id":12)"));
}

TEST_CASE("kineto events: kernels outside NCCL that wait for ranks are listed once, shortened") {
  const std::string wide =
      "void deep_ep::internode::dispatch<" + std::string(43, 'x') + "\xc3\xa9" + ">(int)";
  std::string text;
  for (const std::string& name :
       {std::string("gemm"), wide, wide + "2", std::string("one_shot_all_reduce_kernel"),
        std::string("one_shot_all_reduce_kernel"), std::string("ncclDevKernel_low_latency"),
        std::string("kuserbuffers_pushrecv"), std::string("nvshmemi_transfer")}) {
    text += (text.empty() ? "" : ",") + event("kernel", name);
  }
  // 34 + 43 characters; the é of two bytes fits behind them, one '>' more makes 80.
  CHECK(events_of(text).spinning_kernels == Lines{wide.substr(0, 80), "one_shot_all_reduce_kernel",
                                                  "kuserbuffers_pushrecv", "nvshmemi_transfer"});
  const std::string cut = "multimem_" + std::string(70, 'x') + "\xc3\xa9";
  CHECK(events_of(event("kernel", cut)).spinning_kernels == Lines{cut.substr(0, 79)});
}

TEST_CASE("kineto events: a cut file is read to where it ends") {
  const std::string text = std::string(kHeader) + event("cpu_op", "aten::add") + "," +
                           event("cpu_op", "aten::mul") + "," + event("cpu_op", "aten::sub") + "]}";
  const std::size_t first_event = kHeader.size();
  const std::size_t length = event("cpu_op", "aten::add").size() + 1;
  for (std::size_t size = first_event; size < text.size(); ++size) {
    CAPTURE(size);
    const KinetoRead read = read_text(text.substr(0, size));
    REQUIRE(read.error == "");
    CHECK(read.events.is_cut);
    CHECK(read.events.events == std::min<std::size_t>((size - first_event + 1) / length, 3));
    CHECK(read.events.marks.size() == read.events.events);
    CHECK(read.events.header.base_ns == 1'000'000'000);
  }
  CHECK(!read_text(text).events.is_cut);
  CHECK(read_text(text.substr(0, first_event - 4)).error ==
        fmt::format(": byte {}: the file is truncated inside a key", first_event - 4));
}

TEST_CASE("kineto events: a cut .gz file is read to where its data ends") {
  const TemporaryFile whole("trace.json.gz");
  auto sink = ByteSink::open(whole.path(), whole.path());
  REQUIRE(sink);
  REQUIRE(sink->write(std::string(kHeader) + one_of_each() + "]}"));
  REQUIRE(sink->close());
  const std::string bytes = whole.content();
  const KinetoRead read = read_file(TemporaryFile("trace.json.gz", bytes.substr(0, bytes.size() - 6)));
  CHECK(read.error == "");
  CHECK(read.events.is_cut);
  CHECK(read.events.events == 12);
}

TEST_CASE("kineto events: an event that is not a JSON object is an error") {
  CHECK(error_of("7") == R"(: event 1: must be an object, not "7")");
  CHECK(error_of(event("kernel", "a") + ",\"x\"") == ": event 2: must be an object, not a string");
  CHECK(error_of("{}") == ": event 1: \"ph\" is missing");
  CHECK(error_of(R"({"ph" "X"})") == R"(: event 1: is not valid JSON from ""X"}" on)");
  CHECK(error_of(event_with("\"ts\":5.250,", "\"ts\":5.250")) ==
        R"(: event 1: is not valid JSON from ""dur":2.500,"args":{}}" on)");
  CHECK(error_of(event_with("\"args\":{}}", "\"args\":5}}", event("kernel", "a"))) ==
        ": event 1: is followed by a '}' without a matching '{'");
  CHECK(error_of(event("kernel", "a", R"("stream" 7)")) == R"(: event 1: is not valid JSON from "7}}" on)");
  CHECK(error_of(event_with("\"dur\"", "\"note\":[1},\"list\":[],\"dur\""))
            .starts_with(": event 1: is not valid JSON from"));
}

TEST_CASE("kineto events: an error names the missing member of an event") {
  CHECK(error_of(event_with("\"ph\":\"X\",", "")) == ": event 1: \"ph\" is missing");
  CHECK(error_of(event_with("\"name\":\"aten::add\",", "")) == ": event 1: \"name\" is missing");
  CHECK(error_of(event_with("\"ts\":5.250,", "")) == ": event 1: \"ts\" is missing");
  CHECK(error_of(event_with("\"dur\":2.500,", "")) == ": event 1: \"dur\" is missing");
  CHECK(error_of(event_with("\"tid\":9,", "")) == ": event 1: \"tid\" is missing");
  CHECK(error_of(event_with("\"tid\":9,", "", event("kernel", "a"))) ==
        ": event 1: \"args.stream\" is missing");
  CHECK(error_of(event_with("\"tid\":9,", "", event("cuda_runtime", "a", "\"correlation\":1"))) ==
        ": event 1: \"tid\" is missing");
  CHECK(error_of(event_with("\"cat\":\"cpu_op\",", "")) == "");  // of no category, of no use
}

TEST_CASE("kineto events: an error names a value of the wrong type") {
  const std::string wanted_time = " must be microseconds that fit into 64 bits of nanoseconds, not ";
  CHECK(error_of(event_with("\"X\"", "5")) == R"(: event 1: "ph" must be a string, not "5")");
  CHECK(error_of("{\"ph\":5}") == R"(: event 1: "ph" must be a string, not "5")");
  CHECK(error_of(event_with("\"cpu_op\"", "[]")) == R"(: event 1: "cat" must be a string, not an array)");
  CHECK(error_of(event_with("\"aten::add\"", "null")) == R"(: event 1: "name" must be a string, not null)");
  CHECK(error_of(event_with("aten::add", "\\q")) == R"(: event 1: "name" must be a JSON string, not "\q")");
  CHECK(error_of(event_with("5.250", "\"5\"")) == R"(: event 1: "ts")" + wanted_time + R"(a string)");
  CHECK(error_of(event_with("5.250", "NaN")) == R"(: event 1: "ts")" + wanted_time + R"("NaN")");
  CHECK(error_of(event_with("5.250", "1e30")) == R"(: event 1: "ts")" + wanted_time + R"("1e30")");
  CHECK(error_of(event_with("2.500", "{}")) == R"(: event 1: "dur")" + wanted_time + R"(an object)");
  CHECK(error_of(event_with("2.500", "-1")) == ": event 1: \"dur\" must be 0 or more, not -1");
  CHECK(error_of(event_with("5.250", "9223372036854774")) ==
        ": event 1: \"ts\" plus \"dur\" does not fit into 64 bits of nanoseconds");
  const std::string wanted_id = " must be an integer from -2147483648 to 4294967295, not ";
  CHECK(error_of(event_with(":9", ":4294967296")) == R"(: event 1: "tid")" + wanted_id + R"("4294967296")");
  CHECK(error_of(event_with(":9", ":\"main\"", event("kernel", "a"))) ==
        R"(: event 1: "tid")" + wanted_id + R"(a string)");
  CHECK(error_of(event("kernel", "a", "\"stream\":true")) ==
        R"(: event 1: "args.stream")" + wanted_id + R"(true or false)");
  CHECK(error_of(event("kernel", "a", "\"correlation\":1.5")) ==
        R"(: event 1: "args.correlation")" + wanted_id + R"("1.5")");
  CHECK(error_of(event("kernel", "a", "\"graph id\":\"\"")) ==
        R"(: event 1: "args.graph id")" + wanted_id + R"(a string)");
  CHECK(error_of(event_with("\"args\":{}", "\"args\":[]", event("kernel", "a"))) ==
        R"(: event 1: "args" must be an object, not an array)");
  CHECK(error_of(event("cpu_op", "c10d::send", "\"External id\":-1")) ==
        R"(: event 1: "args.External id" must be an integer from 0 to 9223372036854775807, not "-1")");
  CHECK(error_of(event("user_annotation", "ProfilerStep#x")) ==
        R"(: event 1: "name" is "ProfilerStep#x", but must have a number after "ProfilerStep#")");
}

TEST_CASE("kineto events: an error names a communication arg of the wrong type") {
  const auto comm_error = [](std::string_view text, std::string_view replacement) {
    return error_of(event_with(text, replacement, event("cpu_op", "record_param_comms", kCollective)));
  };
  CHECK(comm_error("\"allreduce\"", "5") ==
        R"(: event 1: "args.Collective name" must be a JSON string, not "5")");
  CHECK(comm_error("\"Float\"", "[]") == R"(: event 1: "args.dtype" must be a JSON string, not an array)");
  CHECK(comm_error("\"3\"", "{}") ==
        R"(: event 1: "args.Process Group Name" must be a JSON string, not an object)");
  CHECK(comm_error("\"[0, 1]\"", "2") ==
        R"(: event 1: "args.Process Group Ranks" must be a JSON string, not "2")");
  CHECK(comm_error(":16", ":\"16\"") ==
        R"(: event 1: "args.In msg nelems" must be an integer from -1 to 9223372036854775807, not a string)");
  CHECK(comm_error("\"Dst Rank\":5", "\"Dst Rank\":2147483648") ==
        R"(: event 1: "args.Dst Rank" must be an integer from -1 to 2147483647, not "2147483648")");
}

TEST_CASE("kineto events: the header is read") {
  const KinetoHeader header = read_header(kJob + R"(,"baseTimeNanoseconds":5)").events.header;
  CHECK(header.rank == 1);
  CHECK(header.world_size == 2);
  CHECK(header.backend == "nccl");
  CHECK(header.host_name == "node 7");
  CHECK(header.base_ns == 5);
  CHECK(!header.has_cut_groups);
  const KinetoHeader none = read_header(R"("schemaVersion":1)").events.header;
  CHECK(!none.rank);
  CHECK(!none.world_size);
  CHECK(none.groups.empty());
}

TEST_CASE("kineto events: groups have names, descriptions and ranks; those without ranks are left out") {
  const auto groups = [](std::string_view list) {
    return read_header(fmt::format(R"("distributedInfo":{{"pg_config":{},"world_size":3}})", list))
        .events.header;
  };
  CHECK(groups(R"([{"pg_name":"0","pg_desc":"default_pg","pg_size":3,"ranks":[0,1,2]},{"pg_name":"1"},)"
               R"({"pg_name":"2","ranks":"0-2"}])")
            .groups == std::vector<ProcessGroup>{{"0", "default_pg", {0, 1, 2}}});
  // Before 2024: a number for a name, and no ranks where they are all.
  CHECK(groups(R"([{"pg_id":4,"group_size":3,"ranks":[]},{"pg_id":5,"group_size":2,"ranks":[]}])").groups ==
        std::vector<ProcessGroup>{{"4", "", {0, 1, 2}}});
  CHECK(groups(R"("[{\"pg_name\": \"0\", \"pg_desc\": \"defa")").has_cut_groups);
  CHECK(groups("[]").groups.empty());
  CHECK(!groups("[]").has_cut_groups);
}

TEST_CASE("kineto events: an error names a wrong value in the header and its place") {
  const auto job_error = [](std::string_view info) {
    return read_header(fmt::format(R"("distributedInfo":{})", info)).error;
  };
  const std::string place = ": byte 19: \"distributedInfo\": ";
  CHECK(job_error("[]") == place + "is not valid JSON from \"[]\" on");
  CHECK(job_error(R"({"rank":"0"})") ==
        place + R"("rank" must be an integer from 0 to 16777215, not a string)");
  CHECK(job_error(R"({"world_size":0})") ==
        place + R"("world_size" must be an integer from 1 to 16777216, not "0")");
  CHECK(job_error(R"({"backend":{}})") == place + R"("backend" must be a string, not an object)");
  CHECK(job_error(R"({"pg_config":[{"pg_name":true}]})") ==
        place + R"("pg_name" must be a string, not true or false)");
  CHECK(job_error(R"({"pg_config":[{"pg_desc":3}]})") == place + R"("pg_desc" must be a string, not "3")");
  CHECK(job_error(R"({"pg_config":[{"ranks":[0,-1]}]})") ==
        place + R"("ranks" must be an integer from 0 to 16777215, not "-1")");
  CHECK(job_error(R"({"pg_config":[{"pg_size":-1}]})") ==
        place + R"("pg_size" must be an integer from 0 to 16777216, not "-1")");
  CHECK(job_error(R"({"pg_config":[7]})") == place + "is not valid JSON from \"7\" on");
  CHECK(read_header(R"("host_name":5)").error ==
        R"(: byte 13: "host_name": "host_name" must be a string, not "5")");
  CHECK(read_header(R"("baseTimeNanoseconds":1.5)").error ==
        R"(: byte 23: "baseTimeNanoseconds": "baseTimeNanoseconds" must be an integer from 0 to )"
        R"(9223372036854775807, not "1.5")");
  CHECK(
      read_text(R"({"baseTimeNanoseconds":9223372036854775807,"traceEvents":[)" + event("cpu_op", "a") + "]}")
          .error == ": \"baseTimeNanoseconds\" plus \"ts\" does not fit into 64 bits of nanoseconds");
}

// Slow and obvious: the whole file by another parser, names by a regular expression.
Lines reference_of(const Json& file) {
  const std::regex known(
      "record_param_comms|c10d::(allreduce_|_allgather_base_|_reduce_scatter_base_|broadcast_|barrier|send|"
      "recv_)|"
      "_c10d_functional::wait_tensor|gloo:.*|nccl:.*|PP:.*|Forward .*|Backward .*|Optimizer.step#.*|"
      "enumerate\\(DataLoader\\)#.*|DistributedDataParallel.forward|FSDP::.*");
  const std::string backward = "autograd::engine::evaluate_function";
  const auto base_ns = file["baseTimeNanoseconds"].get<std::int64_t>();
  const auto ns = [](const Json& us) { return std::llround(1000.0L * us.get<double>()); };
  Lines spans;
  Lines others;
  bool has_kernels = false;
  for (const Json& event : file["traceEvents"])
    has_kernels = has_kernels || event.value("cat", "") == "kernel";
  for (const Json& event : file["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const auto category = event["cat"].get<std::string>();
    auto name = event["name"].get<std::string>();
    const std::int64_t begin = base_ns + ns(event["ts"]);
    const std::string times = fmt::format("{}-{}", begin, begin + ns(event["dur"]));
    if (name.starts_with(backward + ": ")) name = backward;
    if (name.starts_with("ProfilerStep#")) {
      others.push_back(fmt::format("step {} {} thread {}", name.substr(13), times, event["tid"].get<int>()));
    } else if (category == "cpu_op" || category == "user_annotation") {
      const bool is_known = name == backward || std::regex_match(name, known);
      if (is_known) spans.push_back(fmt::format("{} {} {}", name, times, event["tid"].get<int>()));
      if (!has_kernels) {
        others.push_back(
            fmt::format("mark {} {} thread {}", is_known ? name : "", times, event["tid"].get<int>()));
      }
    } else if (category == "kernel") {
      others.push_back(fmt::format("kernel {} stream {} correlation {}", times,
                                   event["args"]["stream"].get<int>(),
                                   event["args"]["correlation"].get<int>()));
    }
  }
  others.insert(others.end(), spans.begin(), spans.end());
  return others;
}

TEST_CASE("kineto events: recorded files have the rows that a slow and obvious reader finds") {
  const auto folder = std::filesystem::path(GOODPUT_SHARED_DATA) / "kineto";
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: no shared data");
    return;
  }
  for (const std::string name :
       {"mcore-pp2dp2-1f1b-slow-rank/rank-0.json.gz", "ddp4-slow-rank-cudaform/rank1_trace.json.gz"}) {
    CAPTURE(name);
    auto source = ByteSource::open((folder / name).string());
    auto again = ByteSource::open((folder / name).string());
    REQUIRE((source && again));
    const auto events = read_kineto_events(*source);
    REQUIRE(events);
    const auto text = read_all(*again, 100'000'000);
    REQUIRE(text);
    Lines found;
    for (std::string& line : lines_of(*events)) {
      if (line.starts_with("kernel")) line.resize(line.find(" collective"));
      const bool is_compared =
          line.starts_with("kernel") || line.starts_with("mark") || line.starts_with("step");
      if (is_compared) found.push_back(std::move(line));
    }
    for (const auto& span : events->spans) {
      found.push_back(
          fmt::format("{} {}-{} {}", events->names.at(span.name), span.begin_ns, span.end_ns, span.thread));
    }
    Lines expected = reference_of(Json::parse(*text));
    std::ranges::sort(found);
    std::ranges::sort(expected);
    CHECK(expected.size() > 150);
    CHECK(found == expected);
  }
}

}  // namespace
}  // namespace goodput
