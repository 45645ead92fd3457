#include "traces/kineto/kineto_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "sim/base/text.h"
#include "traces/kineto/event_fields.h"
#include "traces/kineto/kineto_header.h"
#include "traces/kineto/kineto_names.h"

namespace goodput {
namespace {

constexpr std::string_view kStepPrefix = "ProfilerStep#";

enum class EventKind : std::uint8_t { kUnneeded, kCpuOp, kAnnotation, kKernel, kCopy, kLaunch, kSync };

// `category`: with its quotes.
EventKind kind_of_event(std::string_view category) {
  struct Row {
    std::string_view category;
    EventKind kind;
  };
  constexpr Row kRows[] = {{R"("cpu_op")", EventKind::kCpuOp},
                           {R"("kernel")", EventKind::kKernel},
                           {R"("cuda_runtime")", EventKind::kLaunch},
                           {R"("cuda_driver")", EventKind::kLaunch},
                           {R"("user_annotation")", EventKind::kAnnotation},
                           {R"("gpu_memcpy")", EventKind::kCopy},
                           {R"("gpu_memset")", EventKind::kCopy},
                           {R"("cuda_sync")", EventKind::kSync}};
  const auto* const row = std::ranges::find(kRows, category, &Row::category);
  return row == std::end(kRows) ? EventKind::kUnneeded : row->kind;
}

// The members of an event that the reader uses. The first three decide whether the event is needed.
enum class Member : std::uint8_t { kPhase, kCategory, kName, kTs, kDur, kTid, kArgs, kOther };

Member member_of(std::string_view key) {
  if (key.size() == 2) return key == "ph" ? Member::kPhase : key == "ts" ? Member::kTs : Member::kOther;
  if (key.size() == 4) return key == "name" ? Member::kName : key == "args" ? Member::kArgs : Member::kOther;
  if (key.size() != 3) return Member::kOther;
  return key == "cat"   ? Member::kCategory
         : key == "dur" ? Member::kDur
         : key == "tid" ? Member::kTid
                        : Member::kOther;
}

enum class Decision : std::uint8_t {
  kOpen,      // phase, category or name are not known yet
  kSkipped,   // not needed
  kMark,      // needed without its args
  kWithArgs,  // needed with them
  kFaulty,    // phase, category or name is not a string
};

// The unparsed members of an event; empty if absent.
struct EventText {
  std::array<std::string_view, 7> values{};
  EventKind kind = EventKind::kUnneeded;
  Decision decision = Decision::kOpen;
  std::string_view plain_name{};                // the name without quotes and escapes
  std::optional<std::string_view> span_name{};  // if it is one of KinetoEvents::spans

  std::string_view& operator[](Member member) { return values[static_cast<std::size_t>(member)]; }
  std::string_view operator[](Member member) const { return values[static_cast<std::size_t>(member)]; }
};

struct ArgsText {
  std::string_view stream;
  std::string_view correlation;
  std::string_view external_id;
  std::string_view graph_id;
  std::string_view graph_node_id;
  std::string_view wait_on_stream;
  std::string_view record_correlation;
  std::string_view concrete_inputs;
  std::string_view input_dims;
  std::string_view collective;
  std::string_view dtype;
  std::string_view group_name;
  std::string_view group_id;
  std::string_view group_description;
  std::string_view group_ranks;
  std::string_view in_elements;
  std::string_view out_elements;
  std::string_view group_size;
  std::string_view sequence;
  std::string_view source;
  std::string_view destination;
};

// A key of args, and where its value goes.
struct ArgKey {
  std::string_view key;
  std::string_view ArgsText::*text;
};
constexpr auto kArgKeys =
    std::to_array<ArgKey>({// by length
                           {"Seq", &ArgsText::sequence},
                           {"dtype", &ArgsText::dtype},
                           {"stream", &ArgsText::stream},
                           {"graph id", &ArgsText::graph_id},
                           {"Src Rank", &ArgsText::source},
                           {"Dst Rank", &ArgsText::destination},
                           {"Input Dims", &ArgsText::input_dims},
                           {"Group size", &ArgsText::group_size},
                           {"External id", &ArgsText::external_id},
                           {"external id", &ArgsText::external_id},
                           {"correlation", &ArgsText::correlation},
                           {"In msg nelems", &ArgsText::in_elements},
                           {"graph node id", &ArgsText::graph_node_id},
                           {"Out msg nelems", &ArgsText::out_elements},
                           {"wait_on_stream", &ArgsText::wait_on_stream},
                           {"Concrete Inputs", &ArgsText::concrete_inputs},
                           {"Collective name", &ArgsText::collective},
                           {"Process Group ID", &ArgsText::group_id},
                           {"Process Group Name", &ArgsText::group_name},
                           {"Process Group Ranks", &ArgsText::group_ranks},
                           {"Process Group Description", &ArgsText::group_description},
                           {"wait_on_cuda_event_record_corr_id", &ArgsText::record_correlation}});

// For every length, where its keys begin in kArgKeys.
constexpr auto kArgKeysOfLength = [] {
  std::array<std::uint8_t, kArgKeys.back().key.size() + 2> first{};
  for (std::size_t length = 0; length < first.size(); ++length) {
    while (first[length] < kArgKeys.size() && kArgKeys[first[length]].key.size() < length) ++first[length];
  }
  return first;
}();

std::string_view* text_of_arg(ArgsText& args, std::string_view key) {
  if (key.size() + 1 >= kArgKeysOfLength.size()) return nullptr;
  for (std::size_t i = kArgKeysOfLength[key.size()]; i < kArgKeysOfLength[key.size() + 1]; ++i) {
    if (kArgKeys[i].key == key) return &(args.*kArgKeys[i].text);
  }
  return nullptr;
}

std::string wrong_value(std::string_view key, std::string_view text, std::string_view wanted) {
  if (text.empty()) return fmt::format("\"{}\" is missing", key);
  return fmt::format("\"{}\" must be {}, not {}", key, wanted, describe_json(text));
}

// FNV-1a of the text without white space; never 0.
std::uint64_t hash_of_shape(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') continue;
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash == 0 ? 1 : hash;
}

// The first bytes of a name, without cutting a character in half.
std::string_view short_name(std::string_view name) {
  constexpr std::size_t kMostBytes = 80;
  if (name.size() <= kMostBytes) return name;
  std::size_t size = kMostBytes;
  while (size > 0 && (static_cast<unsigned char>(name[size]) & 0xc0) == 0x80) --size;
  return name.substr(0, size);
}

// Unique names by number.
class NameTable {
 public:
  explicit NameTable(std::vector<std::string>& names) : names_(names) { names_.emplace_back(); }

  std::uint32_t number_of(std::string_view name) {
    if (name.empty()) return 0;
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return found->second;
    const auto number = static_cast<std::uint32_t>(names_.size());
    names_.emplace_back(name);
    numbers_.emplace(name, number);
    return number;
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };

  std::vector<std::string>& names_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
};

std::string damage_of(const EventFields& fields) {
  constexpr std::size_t kShownBytes = 24;
  const std::string_view rest = fields.rest().substr(0, kShownBytes);
  return rest.empty() ? std::string("is not valid JSON: it ends early")
                      : fmt::format("is not valid JSON from {} on", in_quotes(rest));
}

// Reads one file.
class KinetoReader {
 public:
  KinetoReader(ByteSource& source, const JsonWindowLimits& limits)
      : source_(source), windows_(source, limits), names_(events_.names) {}

  Result<KinetoEvents> read() {
    events_.path = source_.path();
    while (true) {
      GOODPUT_TRY(const std::optional<JsonWindow> window, windows_.next());
      if (!window) break;
      std::uint64_t number = window->first;
      for (const std::string_view event : window->events) {
        take(event);
        if (!fault_.empty()) {
          return Error{fault_, {.file = source_.path(), .position = Position::event(number)}};
        }
        ++number;
      }
    }
    events_.events = windows_.next_event() - 1;
    events_.is_cut = windows_.is_unclosed() || !source_.truncation().empty();
    GOODPUT_TRY(events_.header, read_kineto_header(source_.path(), windows_.kept()));
    GOODPUT_TRY_STATUS(add_base_time());
    return std::move(events_);
  }

 private:
  struct Times {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
  };

  // Keeps only the first fault of an event.
  void note_fault(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
  }

  void take(std::string_view text) {
    if (!text.starts_with('{'))
      return note_fault(fmt::format("must be an object, not {}", describe_json(text)));
    EventText event;
    EventFields fields(text);
    bool has_args = false;
    while (const auto key = fields.next()) {
      const Member member = member_of(*key);
      if (member == Member::kOther) continue;
      if (member == Member::kArgs && event.decision == Decision::kWithArgs && fields.enter()) {
        read_args(fields);
        has_args = true;
        continue;
      }
      event[member] = fields.value();
      if (member <= Member::kName) decide(event);
      if (event.decision == Decision::kSkipped) return;
      if (event.decision == Decision::kMark && !event[Member::kTs].empty() && !event[Member::kDur].empty() &&
          !event[Member::kTid].empty()) {
        break;
      }
    }
    if (fields.is_damaged()) return note_fault(damage_of(fields));
    if (event.decision == Decision::kOpen || event.decision == Decision::kFaulty) return note_fault_of(event);
    if (!has_args && event.decision == Decision::kWithArgs) read_late_args(event);
    use(event);
  }

  // Called when one more of phase, category and name is known.
  void decide(EventText& event) {
    const std::string_view phase = event[Member::kPhase];
    const std::string_view category = event[Member::kCategory];
    const std::string_view name = event[Member::kName];
    const auto is_string = [](std::string_view text) { return text.starts_with('"'); };
    const auto is_other = [&](std::string_view text) { return !text.empty() && !is_string(text); };
    if (event.kind == EventKind::kUnneeded && is_string(category)) event.kind = kind_of_event(category);
    const bool is_unneeded = is_string(category) && event.kind == EventKind::kUnneeded;
    if (is_unneeded || (is_string(phase) && phase != R"("X")")) {
      event.decision = Decision::kSkipped;
      return;
    }
    if (is_other(phase) || is_other(category) || is_other(name)) {
      event.decision = Decision::kFaulty;
      return;
    }
    if (phase.empty() || category.empty() || name.empty()) return;
    const auto plain = name_strings_.read(name);
    event.plain_name = plain.value_or(std::string_view());
    event.decision = plain ? decision_on_name(event) : Decision::kFaulty;
  }

  Decision decision_on_name(EventText& event) {
    if (event.kind == EventKind::kSync) {
      return event.plain_name == "Stream Wait Event" ? Decision::kWithArgs : Decision::kSkipped;
    }
    const bool is_annotation = event.kind == EventKind::kAnnotation;
    if (!is_annotation && event.kind != EventKind::kCpuOp) return Decision::kWithArgs;
    if (is_annotation && event.plain_name.starts_with(kStepPrefix)) return Decision::kMark;
    event.span_name = kineto_span_name(event.plain_name, is_annotation);
    if (event.span_name) return Decision::kWithArgs;
    return events_.kernels.empty() ? Decision::kMark : Decision::kSkipped;
  }

  // Why an event could not be decided on. An event without a category is never needed.
  void note_fault_of(const EventText& event) {
    const auto check = [&](Member member, std::string_view key) {
      const std::string_view text = event[member];
      if (text.empty() || text.front() != '"') note_fault(wrong_value(key, text, "a string"));
    };
    check(Member::kPhase, "ph");
    if (!event[Member::kCategory].empty()) {
      check(Member::kCategory, "cat");
      check(Member::kName, "name");
    }
    if (event.decision == Decision::kFaulty && fault_.empty()) {
      const std::string_view name = event[Member::kName];
      note_fault(
          fmt::format("\"name\" must be a JSON string, not {}", in_quotes(name.substr(1, name.size() - 2))));
    }
  }

  // REQUIRES: `fields` has entered the args.
  void read_args(EventFields& fields) {
    args_ = {};
    while (const auto key = fields.next()) {
      if (std::string_view* const text = text_of_arg(args_, *key)) *text = fields.value();
    }
  }

  // For an event whose args come before its category or name.
  void read_late_args(const EventText& event) {
    const std::string_view text = event[Member::kArgs];
    args_ = {};
    if (text.empty()) return;
    if (!text.starts_with('{')) return note_fault(wrong_value("args", text, "an object"));
    EventFields fields(text);
    read_args(fields);
    if (fields.is_damaged()) note_fault(damage_of(fields));
  }

  void use(const EventText& event) {
    switch (event.kind) {
      case EventKind::kCpuOp:
      case EventKind::kAnnotation:
        return use_host_event(event);
      case EventKind::kKernel:
      case EventKind::kCopy:
        return use_kernel(event);
      case EventKind::kLaunch:
        return use_launch(event);
      case EventKind::kSync:
        return use_stream_wait(event);
      case EventKind::kUnneeded:
        break;
    }
  }

  void use_host_event(const EventText& event) {
    const Times times = times_of(event);
    const std::uint32_t thread = thread_of(event);
    if (!event.span_name && event.plain_name.starts_with(kStepPrefix) &&
        event.kind == EventKind::kAnnotation) {
      const auto number = json_integer(event.plain_name.substr(kStepPrefix.size()));
      if (!number)
        return note_fault(fmt::format("\"name\" is {}, but must have a number after \"{}\"",
                                      in_quotes(event.plain_name), kStepPrefix));
      events_.steps.push_back({*number, times.begin_ns, times.end_ns, thread});
      return;
    }
    std::uint32_t name = 0;
    if (event.span_name) {
      name = names_.number_of(*event.span_name);
      events_.spans.push_back(span_of(event, times, name, thread));
    }
    if (events_.kernels.empty()) events_.marks.push_back({times.begin_ns, times.end_ns, thread, name});
  }

  KinetoEvents::Span span_of(const EventText& event, const Times& times, std::uint32_t name,
                             std::uint32_t thread) {
    KinetoEvents::Span span{
        .begin_ns = times.begin_ns, .end_ns = times.end_ns, .name = name, .thread = thread};
    span.external_id = external_id();
    if (event.plain_name == "record_param_comms") {
      const bool has_any = !args_.collective.empty() || !args_.group_name.empty() || !args_.group_id.empty();
      if (has_any) span.comm = add_comm_args();
    }
    if (!event.plain_name.starts_with("c10d::")) return span;
    if (!args_.input_dims.empty()) span.shape = hash_of_shape(args_.input_dims);
    if (event.plain_name == "c10d::send" || event.plain_name == "c10d::recv_") span.peer = peer();
    return span;
  }

  // The third of "Concrete Inputs", a string with a number; -1 where there is none.
  std::int32_t peer() {
    const auto inputs = json_items(args_.concrete_inputs);
    if (!inputs || inputs->size() < 3) return -1;
    const auto text = arg_strings_.read((*inputs)[2]);
    const auto number = text ? json_integer(*text) : std::nullopt;
    const bool is_rank = number && *number >= 0 && *number <= std::numeric_limits<std::int32_t>::max();
    return is_rank ? static_cast<std::int32_t>(*number) : -1;
  }

  void use_kernel(const EventText& event) {
    if (events_.kernels.empty()) events_.marks = {};
    const Times times = times_of(event);
    KinetoEvents::Kernel kernel{.begin_ns = times.begin_ns, .end_ns = times.end_ns};
    kernel.stream = stream_of(event);
    kernel.correlation = id("args.correlation", args_.correlation);
    events_.has_graphs = events_.has_graphs || id("args.graph id", args_.graph_id) != 0 ||
                         id("args.graph node id", args_.graph_node_id) != 0;
    if (event.kind == EventKind::kKernel) {
      if (is_nccl_kernel(event.plain_name)) {
        kernel.collective = static_cast<std::int32_t>(events_.collective_kernels.size());
        events_.collective_kernels.push_back({external_id(), args_.collective.empty() ? -1 : add_comm_args(),
                                              event.plain_name.find("SendRecv") != std::string_view::npos});
      } else {
        note_kernel_name(event.plain_name);
      }
    }
    events_.kernels.push_back(kernel);
  }

  void note_kernel_name(std::string_view name) {
    constexpr std::size_t kMostNames = 1 << 16;  // bounds the memory
    const std::size_t hash = std::hash<std::string_view>()(name);
    if (seen_kernels_.size() >= kMostNames) seen_kernels_.clear();
    if (!seen_kernels_.insert(hash).second || !is_spinning_kernel(name)) return;
    const std::string_view shortened = short_name(name);
    if (std::ranges::find(events_.spinning_kernels, shortened) == events_.spinning_kernels.end()) {
      events_.spinning_kernels.emplace_back(shortened);
    }
  }

  void use_launch(const EventText& event) {
    const std::uint32_t correlation = id("args.correlation", args_.correlation);
    if (correlation == 0) return;
    events_.launches.push_back({begin_of(event), correlation, thread_of(event)});
  }

  void use_stream_wait(const EventText& event) {
    KinetoEvents::StreamWait wait;
    wait.stream = stream_of(event);
    wait.wait_on_stream = id("args.wait_on_stream", args_.wait_on_stream);
    const std::int64_t recorded =
        integer("args.wait_on_cuda_event_record_corr_id", args_.record_correlation, 0, kLeastId, kMostId);
    wait.record_correlation = recorded < 0 ? 0 : static_cast<std::uint32_t>(recorded);
    wait.correlation = id("args.correlation", args_.correlation);
    wait.begin_ns = begin_of(event);
    events_.stream_waits.push_back(wait);
  }

  std::int32_t add_comm_args() {
    constexpr std::int64_t kMostCount = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t kMostRank = std::numeric_limits<std::int32_t>::max();
    const auto count = [&](std::string_view key, std::string_view text) {
      return integer(key, text, -1, -1, kMostCount);
    };
    const auto rank = [&](std::string_view key, std::string_view text) {
      return static_cast<std::int32_t>(integer(key, text, -1, -1, kMostRank));
    };
    KinetoCommArgs comm;
    comm.collective = name("args.Collective name", args_.collective);
    comm.dtype = name("args.dtype", args_.dtype);
    comm.group_name = args_.group_name.empty() ? name_or_number("args.Process Group ID", args_.group_id)
                                               : name_or_number("args.Process Group Name", args_.group_name);
    comm.group_description = name("args.Process Group Description", args_.group_description);
    comm.group_ranks = args_.group_ranks.starts_with('[')
                           ? names_.number_of(args_.group_ranks)
                           : name("args.Process Group Ranks", args_.group_ranks);
    comm.in_elements = count("args.In msg nelems", args_.in_elements);
    comm.out_elements = count("args.Out msg nelems", args_.out_elements);
    comm.group_size = count("args.Group size", args_.group_size);
    comm.sequence = count("args.Seq", args_.sequence);
    comm.source = rank("args.Src Rank", args_.source);
    comm.destination = rank("args.Dst Rank", args_.destination);
    events_.comm_args.push_back(comm);
    return static_cast<std::int32_t>(events_.comm_args.size() - 1);
  }

  // Readers of values. On a fault they note it and return an arbitrary value.

  std::int64_t begin_of(const EventText& event) {
    const auto ns = nanoseconds_of_microseconds(event[Member::kTs]);
    if (!ns) note_fault(wrong_value("ts", event[Member::kTs], kWantedTime));
    return ns.value_or(0);
  }

  Times times_of(const EventText& event) {
    Times times;
    times.begin_ns = begin_of(event);
    const auto duration_ns = nanoseconds_of_microseconds(event[Member::kDur]);
    if (!duration_ns) note_fault(wrong_value("dur", event[Member::kDur], kWantedTime));
    if (duration_ns.value_or(0) < 0)
      note_fault(fmt::format("\"dur\" must be 0 or more, not {}", event[Member::kDur]));
    if (__builtin_add_overflow(times.begin_ns, duration_ns.value_or(0), &times.end_ns)) {
      note_fault("\"ts\" plus \"dur\" does not fit into 64 bits of nanoseconds");
    }
    return times;
  }

  std::int64_t integer(std::string_view key, std::string_view text, std::int64_t absent, std::int64_t least,
                       std::int64_t most) {
    if (text.empty()) return absent;
    const auto value = json_integer(text);
    if (value && *value >= least && *value <= most) return *value;
    note_fault(wrong_value(key, text, fmt::format("an integer from {} to {}", least, most)));
    return absent;
  }

  // A 32-bit number, which some versions write with a sign (-1 for "none"); 0 if absent.
  std::uint32_t id(std::string_view key, std::string_view text) {
    return static_cast<std::uint32_t>(integer(key, text, 0, kLeastId, kMostId));
  }

  std::uint32_t thread_of(const EventText& event) {
    if (event[Member::kTid].empty()) note_fault("\"tid\" is missing");
    return id("tid", event[Member::kTid]);
  }

  // Old versions write the stream only as the thread, some of them as "stream 7".
  std::uint32_t stream_of(const EventText& event) {
    constexpr std::string_view kPrefix = "\"stream ";
    if (!args_.stream.empty()) return id("args.stream", args_.stream);
    std::string_view text = event[Member::kTid];
    if (text.starts_with(kPrefix) && text.ends_with('"')) {
      text = text.substr(kPrefix.size(), text.size() - kPrefix.size() - 1);
    }
    if (text.empty()) note_fault("\"args.stream\" is missing");
    return id("tid", text);
  }

  std::uint64_t external_id() {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::uint64_t>(integer("args.External id", args_.external_id, 0, 0, kMost));
  }

  std::uint32_t name(std::string_view key, std::string_view text) {
    if (text.empty()) return 0;
    const auto plain = arg_strings_.read(text);
    if (!plain) note_fault(wrong_value(key, text, "a JSON string"));
    return plain ? names_.number_of(*plain) : 0;
  }

  std::uint32_t name_or_number(std::string_view key, std::string_view text) {
    return json_integer(text) ? names_.number_of(text) : name(key, text);
  }

  Status add_base_time() {
    const std::int64_t base_ns = events_.header.base_ns;
    bool fits = true;
    const auto add = [&](std::int64_t& at_ns) {
      fits = !__builtin_add_overflow(at_ns, base_ns, &at_ns) && fits;
    };
    const auto add_to_all = [&](auto& rows) {
      for (auto& row : rows) {
        add(row.begin_ns);
        if constexpr (requires { row.end_ns; }) add(row.end_ns);
      }
    };
    add_to_all(events_.steps);
    add_to_all(events_.spans);
    add_to_all(events_.marks);
    add_to_all(events_.kernels);
    add_to_all(events_.launches);
    add_to_all(events_.stream_waits);
    if (fits) return Ok{};
    return Error{"\"baseTimeNanoseconds\" plus \"ts\" does not fit into 64 bits of nanoseconds",
                 {.file = source_.path()}};
  }

  static constexpr std::string_view kWantedTime = "microseconds that fit into 64 bits of nanoseconds";
  static constexpr std::int64_t kLeastId = std::numeric_limits<std::int32_t>::min();
  static constexpr std::int64_t kMostId = std::numeric_limits<std::uint32_t>::max();

  ByteSource& source_;
  JsonEventWindows windows_;
  KinetoEvents events_;
  NameTable names_;
  JsonStrings name_strings_;                      // of the event's name
  JsonStrings arg_strings_;                       // of one argument at a time
  ArgsText args_;                                 // of the event at hand
  std::unordered_set<std::size_t> seen_kernels_;  // hashes of names
  std::string fault_;
};

}  // namespace

Result<KinetoEvents> read_kineto_events(ByteSource& source, JsonWindowLimits limits) {
  source.accept_truncation();
  limits.accept_unclosed = true;
  limits.kept_keys = kineto_header_keys();
  return KinetoReader(source, limits).read();
}

Result<KinetoEvents> read_kineto_events(ByteSource& source) {
  JsonWindowLimits limits;
  limits.window_bytes = std::size_t{1} << 18;  // stays in the cache
  return read_kineto_events(source, limits);
}

}  // namespace goodput
