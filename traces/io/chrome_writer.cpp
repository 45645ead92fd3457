#include "traces/io/chrome_writer.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "sim/base/append.h"
#include "sim/base/json_text.h"

namespace goodput {
namespace {

constexpr std::size_t kFlushBytes = 1 << 18;

// In quotes, with escapes; bytes that are no UTF-8 are replaced.
std::string json_text(std::string_view text) {
  std::string json;
  append_json_string(text, json);
  return json;
}

}  // namespace

Result<ChromeWriter> ChromeWriter::open(const std::string& path, std::string_view final_path,
                                        Precision precision) {
  GOODPUT_TRY(ByteSink sink, ByteSink::open(path, final_path, ByteSink::Compression::kFast));
  return ChromeWriter(std::move(sink), precision);
}

ChromeWriter::ChromeWriter(ByteSink sink, Precision precision)
    : sink_(std::move(sink)), precision_(precision), text_("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[") {}

ChromeWriter::Label ChromeWriter::label(std::string_view name, std::string_view category) {
  std::string text = fmt::format(R"({{"name":{},)", json_text(name));
  if (!category.empty()) text += fmt::format(R"("cat":{},)", json_text(category));
  return {text + R"("ph":"X","pid":)"};
}

void ChromeWriter::name_process(std::size_t process, std::string_view name) {
  begin_event();
  append(text_, R"({{"name":"process_name","ph":"M","pid":{},"args":{{"name":{}}}}})", process,
         json_text(name));
  begin_event();
  append(text_, R"({{"name":"process_sort_index","ph":"M","pid":{0},"args":{{"sort_index":{0}}}}})", process);
}

ChromeWriter::Thread ChromeWriter::name_thread(std::size_t process, std::size_t thread, std::string_view name,
                                               std::size_t sort_index) {
  std::string place = fmt::format(R"({},"tid":{})", process, thread);
  begin_event();
  append(text_, R"({{"name":"thread_name","ph":"M","pid":{},"args":{{"name":{}}}}})", place, json_text(name));
  begin_event();
  append(text_, R"({{"name":"thread_sort_index","ph":"M","pid":{},"args":{{"sort_index":{}}}}})", place,
         sort_index);
  return {std::move(place)};
}

void ChromeWriter::slice(const Thread& thread, const Label& label, std::int64_t start_ns, std::int64_t end_ns,
                         std::string_view args, std::string_view more_args) {
  if (precision_ == Precision::kMicroseconds) {
    start_ns -= start_ns % 1000;
    end_ns -= end_ns % 1000;
  }
  begin_event();
  text_ += label.text;
  text_ += thread.text;
  text_ += ",\"ts\":";
  append_time(start_ns);
  text_ += ",\"dur\":";
  append_time(end_ns - start_ns);
  append_args(args, more_args);
}

void ChromeWriter::instant(const Thread& thread, std::string_view name, std::int64_t at_ns,
                           std::string_view args, Scope scope) {
  begin_event();
  append(text_, R"({{"name":{},"ph":"i","s":"{}","pid":{},"ts":)", json_text(name),
         scope == Scope::kAll ? 'g' : 't', thread.text);
  append_time(at_ns);
  append_args(args, {});
}

void ChromeWriter::flow(const Thread& thread, FlowPhase phase, std::string_view name, std::int64_t id,
                        std::int64_t at_ns) {
  const char letter = phase == FlowPhase::kStart ? 's' : phase == FlowPhase::kStep ? 't' : 'f';
  begin_event();
  // bp e: binds to the slice around it, not to the next one.
  append(text_, R"({{"name":{0},"cat":{0},"ph":"{1}","id":{2},"bp":"e","pid":{3},"ts":)", json_text(name),
         letter, id, thread.text);
  append_time(at_ns);
  text_ += '}';
}

Status ChromeWriter::flush_if_full() {
  return sink_.write_if_full(text_, kFlushBytes);
}

Status ChromeWriter::close() {
  text_ += "\n]}\n";
  GOODPUT_TRY_STATUS(sink_.write(text_));
  return sink_.close();
}

void ChromeWriter::begin_event() {
  text_ += is_first_event_ ? "\n" : ",\n";
  is_first_event_ = false;
}

void ChromeWriter::append_time(std::int64_t ns) {
  const fmt::format_int whole(ns / 1000);
  text_.append(whole.data(), whole.size());
  if (precision_ == Precision::kMicroseconds) return;
  const auto fraction = static_cast<int>(ns % 1000);
  const char digits[] = {'.', static_cast<char>('0' + fraction / 100),
                         static_cast<char>('0' + fraction / 10 % 10), static_cast<char>('0' + fraction % 10)};
  text_.append(digits, sizeof digits);
}

void ChromeWriter::append_args(std::string_view args, std::string_view more_args) {
  text_ += ",\"args\":{";
  text_ += args;
  text_ += more_args;
  text_ += "}}";
}

}  // namespace goodput
