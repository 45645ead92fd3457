// `goodput report RESULT.json... --out FILE.html`.
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "tools/cli/command.h"
#include "tools/cli/json_result.h"
#include "tools/cli/output_file.h"
#include "tools/page/page_html.h"
#include "tools/page/page_result.h"

namespace goodput {
namespace {

// ---- Results of commands (docs/formats/json-results.md), read back for a page.

// The largest results that a page can show: of 2^18 workers, say. What is larger is no result.
constexpr std::uintmax_t kLargestResult = std::uintmax_t{256} << 20;

struct CloseResultFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

Result<std::string> read_text(const std::string& file) {
  const auto unreadable = [&file] {
    return Error{fmt::format("cannot be read: {}", std::strerror(errno)), {.file = file}};
  };
  std::error_code failed;
  if (std::filesystem::is_directory(file, failed))
    return Error{"is a directory; name a file", {.file = file}};
  const Error too_large{
      fmt::format("is larger than {} MiB, too large for an HTML page", kLargestResult >> 20), {.file = file}};
  const std::uintmax_t size = std::filesystem::file_size(file, failed);  // a pipe has none
  if (!failed && size > kLargestResult) return too_large;
  const std::unique_ptr<std::FILE, CloseResultFile> stream(std::fopen(file.c_str(), "rb"));
  if (!stream) return unreadable();
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), stream.get())) {
    text.append(buffer.data(), got);
    if (text.size() > kLargestResult) return too_large;
  }
  if (std::ferror(stream.get())) return unreadable();
  return text;
}

// Fails if the file cannot be read, is larger than any result, is not JSON, or has a schema that this version
// does not know (it knows `goodput.NAME/1`). The page shows the result under `name`.
Result<PageResult> read_result_file(const std::string& file, std::string name) {
  GOODPUT_TRY(const std::string text, read_text(file));
  Result<PageResult> result = page_result(std::move(name), text);
  if (!result) return std::move(result).error().in_file(file);
  return result;
}

// ---- The command.

// A browser holds all of it in memory, as text and as data.
constexpr std::size_t kLargestPage = std::size_t{512} << 20;

class ReportCommand final : public Command {
 public:
  void configure(Options& options) override {
    options
        .add("results", paths_, "RESULT.json...",
             "JSON results that commands wrote with --json; each becomes a section of the page, and results "
             "of the same kind are compared")
        .input()
        .required();
    options.add("--out", out_path_, "FILE.html", "HTML page to write (- for stdout)").output().required();
  }

  Result<ExitCode> run(const CommandContext& context) override {
    if (!context.options.report_path.empty())
      return Error{"--report does not apply to `goodput report`; name the HTML page to write with --out"};
    if (out_path_ == "-" && context.options.json_on_stdout())
      return Error{"is given for both --out and --json; name two different files", {.file = "stdout"}};
    GOODPUT_TRY_STATUS(check_file_roles(paths_, {{"--out", out_path_}}, context));
    GOODPUT_TRY(const std::vector<PageResult> results, read_results());
    const std::string page = page_html(results);
    if (out_path_ == "-")
      context.out << page;
    else
      GOODPUT_TRY_STATUS(write_text_atomically(out_path_, page));
    if (out_path_ != "-") context.print(fmt::format("Wrote {}: {}\n", out_path_, size_text(results, page)));
    if (!context.options.json_path.empty()) GOODPUT_TRY_STATUS(write_json(results, page, context));
    return ExitCode::kOk;
  }

 private:
  [[nodiscard]] Result<std::vector<PageResult>> read_results() const {
    std::vector<PageResult> results;
    std::size_t size = 0;
    for (const std::string& path : paths_) {
      GOODPUT_TRY(PageResult result, read_result_file(path, paths_.size() > 1 ? path : ""));
      size += result.json.size();
      if (size > kLargestPage)
        return Error{fmt::format("the results up to and including this file are larger than {} MiB in total, "
                                 "too much for one HTML page; make several pages",
                                 kLargestPage >> 20),
                     {.file = path}};
      results.push_back(std::move(result));
    }
    return results;
  }

  static std::string size_text(const std::vector<PageResult>& results, const std::string& page) {
    return fmt::format("{} {}, {} kB", results.size(), results.size() == 1 ? "result" : "results",
                       (page.size() + 999) / 1000);
  }

  [[nodiscard]] Status write_json(const std::vector<PageResult>& results, const std::string& page,
                                  const CommandContext& context) const {
    Hash hash;
    for (const PageResult& result : results) hash.add(result.json);
    OrderedJson json = begin_json_result("report", context, {hash.value(), {}, {}});
    json["output"] = {{"path", out_path_}, {"bytes", page.size()}};
    json["results"] = OrderedJson::array();
    for (std::size_t i = 0; i < results.size(); ++i)
      json["results"].push_back({{"file", paths_[i]}, {"schema", results[i].schema}});
    return write_json_result(json, context);
  }

  std::vector<std::string> paths_;
  std::string out_path_;
};

}  // namespace

CommandInfo command_report() {
  return {.name = "report",
          .summary = "Make one HTML page from the results of other commands",
          .example =
              "goodput report result.json --out page.html\n"
              "goodput report before.json after.json --out compared.html",
          .make = make_command<ReportCommand>};
}

}  // namespace goodput
