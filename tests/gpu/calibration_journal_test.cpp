#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "gpu/calibrate/journal.h"

namespace goodput::gpu::calibrate {
namespace {

std::string thrown_by(const std::function<void()>& call) {
  try {
    call();
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

VisitRecord full_visit() {
  VisitRecord record;
  record.sweep = "gemm";
  record.key = {
      {"gemm", {{"n", std::int64_t{4096}}, {"dtype", std::string("bf16")}, {"sustained", true}}}, "m", 16};
  record.ceiling = CeilingWork{"gemm_bf16_tflops", 1e12};
  record.tier = "measured";
  record.round = 2;
  record.again = true;
  record.visit.us = {100, 12.5, 12.25, 13, 12, 12.625, 0.015625};
  record.visit.sm_mhz = 1980;
  record.visit.nwrong = 0;
  record.visit.power_w = 650.5;
  record.visit.source = "cublasLtMatmul";
  return record;
}

TEST_CASE("calibration record: a line holds all of it, and reads back to the same line") {
  const std::string line = line_of(full_visit());
  CHECK(
      line ==
      R"({"visit": {"sweep": "gemm","op": "gemm","params": {"n": 4096,"dtype": "bf16","sustained": true},"m": 16,)"
      R"("ceiling": "gemm_bf16_tflops","amount": 1000000000000,"tier": "measured","round": 2,"again": true,)"
      R"("median_us": 12.5,"p05_us": 12.25,"p95_us": 13,"min_us": 12,"mean_us": 12.625,"cv": 0.015625,"n": 100,)"
      R"("sm_mhz": 1980,"nwrong": 0,"power_w": 650.5,"source": "cublasLtMatmul"}})"
      "\n");
  CHECK(line_of(parse_record(line)) == line);
  const auto back = std::get<VisitRecord>(parse_record(line));
  CHECK(back.key == full_visit().key);
  CHECK(text_of(back.key) == "gemm n=4096 dtype=bf16 sustained m=16");

  const std::string sentinels = line_of(SentinelRecord{{{"copy bytes=65536", 3.5}, {"gemm m=16", 7}}});
  CHECK(sentinels == "{\"sentinels\": {\"copy bytes=65536\": 3.5,\"gemm m=16\": 7}}\n");
  CHECK(line_of(parse_record(sentinels)) == sentinels);
  const std::string note = line_of(NoteRecord{"MIG is on"});
  CHECK(line_of(parse_record(note)) == note);
}

TEST_CASE("calibration record: a block's line holds its parts and the rows of its experts") {
  VisitRecord record = full_visit();
  record.ceiling.reset();
  record.visit.expert_rows = {7, 0};
  record.visit.parts = {{"scatter", false, 2.5}, {"scatter", true, 0}};
  const std::string line = line_of(record);
  const std::string end =
      R"("source": "cublasLtMatmul","expert_rows": [7,0],"parts": [{"part": "scatter","median_us": 2.5},)"
      R"({"part": "scatter","backward": true,"median_us": 0}]}})"
      "\n";
  CHECK(line.substr(line.size() - end.size()) == end);
  CHECK(line_of(parse_record(line)) == line);
}

TEST_CASE("calibration record: what is no record is refused, member by name") {
  const auto error_of = [](const std::string& line) {
    return thrown_by([&] { static_cast<void>(parse_record(line)); });
  };
  const auto visit = [](const std::string& more) {
    return R"({"visit": {"sweep": "s","op": "copy","tier": "measured","median_us": 1,"n": 50)" + more + "}}";
  };
  CHECK(error_of(visit("")).empty());
  CHECK(error_of("{}") == "expected a visit, sentinels or a note");
  CHECK(error_of("[]") == "expected an object");
  CHECK(error_of(R"({"visit": {"sweep": "s"}})") == "'op' is missing");
  CHECK(error_of(R"({"visit": {"sweep": "s","op": "copy","median_us": 1,"n": 50}})") == "'tier' is missing");
  CHECK(error_of(R"({"visit": {"sweep": "s","op": "copy","tier": "measured","n": 50}})") ==
        "'median_us' is missing");
  CHECK(error_of(R"({"visit": {"sweep": "s","op": "copy","tier": "measured","median_us": 1}})") ==
        "'n' is missing");
  CHECK(error_of(visit(R"(,"median": 2)")) == "'median': unknown member");
  CHECK(error_of(visit(R"(,"median_us": 0)")) == "'median_us': expected a number above 0");
  CHECK(error_of(visit(R"(,"round": 0)")) == "'round': expected a whole number");
  CHECK(error_of(visit(R"(,"n": 1.5)")) == "'n': expected a whole number");
  CHECK(error_of(visit(R"(,"again": 1)")) == "'again': expected true or false");
  CHECK(error_of(visit(R"(,"bytes": 16,"tokens": 4)")) == "'tokens': there is already a size");
  CHECK(error_of(visit(R"(,"params": {"n": -4})")) == "'params': expected a whole number");
  CHECK(error_of(visit(R"(,"source": 3)")) == "'source': expected a string");
  CHECK(error_of(visit(R"(,"expert_rows": [-1])")) == "'expert_rows': expected a whole number");
  CHECK(error_of(visit(R"(,"parts": [{"median_us": 1}])")) == "'parts': 'part' is missing");
  CHECK(error_of(visit(R"(,"parts": [{"part": "qkv"}])")) == "'parts': 'median_us' is missing");
  CHECK(error_of(visit(R"(,"parts": [{"part": "qkv","median_us": -1}])")) ==
        "'parts': expected a number of at least 0");
  CHECK(error_of(visit(R"(,"parts": [{"name": "qkv"}])")) == "'parts': unknown member 'name' of a part");
  CHECK(error_of(R"({"sentinels": {"copy": 0}})") == "expected a number above 0");
}

// A folder of its own, and a journal in it.
class JournalCase {
 public:
  JournalCase()
      : folder_(std::filesystem::temp_directory_path() / ("goodput_journal_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  ~JournalCase() { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path() const { return folder_ / "h.json.journal"; }
  [[nodiscard]] std::string content() const {
    std::ifstream file(path());
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void put(const std::string& text) const { std::ofstream(path()) << text; }
  // The error of opening it, without the folder.
  [[nodiscard]] std::string error(JournalStart start, const JsonValue& header) const {
    std::string text = thrown_by([&] { const Journal journal(path(), start, header); });
    const std::string folder = folder_.string() + "/";
    for (std::size_t at = 0; (at = text.find(folder)) != std::string::npos;) text.erase(at, folder.size());
    return text;
  }

 private:
  std::filesystem::path folder_;
};

JsonValue header_of(const std::string& gpu, const std::string& utc = "2026-01-01") {
  return parse_json(R"({"schema": "goodput.calibration_journal/1","machine": {"gpu": ")" + gpu +
                    R"(","power_w": 700},"revision": "abc","argv": ["--rounds","2"],"utc": ")" + utc + "\"}");
}

// The error of what `call` does where no file may be longer than so many bytes.
std::string error_with_files_of(std::uintmax_t bytes, const std::function<void()>& call) {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{bytes, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::string error = thrown_by(call);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  return error;
}

TEST_CASE("calibration journal: a line a record, kept when it is resumed with its own date") {
  const JournalCase files;
  {
    Journal journal(files.path(), JournalStart::kNew, header_of("H200"));
    journal.append(full_visit());
    journal.append(NoteRecord{"one"});
  }
  const std::string before = files.content();
  CHECK(before == json_text(header_of("H200")) + "\n" + line_of(full_visit()) + line_of(NoteRecord{"one"}));
  Journal journal(files.path(), JournalStart::kResume, header_of("H200", "2027-07-07"));
  CHECK(journal.kept().size() == 2);
  CHECK(journal.header().at("utc").text() == "2026-01-01");
  journal.append(NoteRecord{"two"});
  CHECK(files.content() == before + line_of(NoteRecord{"two"}));
}

TEST_CASE("calibration journal: a torn last line is dropped, wherever it is torn") {
  const std::string whole =
      json_text(header_of("H200")) + "\n" + line_of(full_visit()) + line_of(NoteRecord{"last"});
  for (std::size_t size = 0; size <= whole.size(); size += 13) {
    CAPTURE(size);
    const JournalCase files;
    files.put(whole.substr(0, size));
    {
      Journal journal(files.path(), JournalStart::kResume, header_of("H200"));
      journal.append(NoteRecord{"more"});
    }
    const std::size_t end = whole.rfind('\n', size == 0 ? 0 : size - 1);
    const std::string kept = size == 0 || end == std::string::npos || whole.find('\n') >= size
                                 ? json_text(header_of("H200")) + "\n"
                                 : whole.substr(0, end + 1);
    CHECK(files.content() == kept + line_of(NoteRecord{"more"}));
  }
}

TEST_CASE(
    "calibration journal: another machine, other arguments, a journal that is there, and damage are "
    "refused") {
  const JournalCase files;
  { const Journal journal(files.path(), JournalStart::kNew, header_of("NVIDIA H200")); }
  CHECK(files.error(JournalStart::kNew, header_of("NVIDIA H200")) ==
        "h.json.journal: already exists; continue it with --resume, or remove it to start over");
  CHECK(files.error(JournalStart::kResume, header_of("NVIDIA H100")) ==
        "h.json.journal:1: belongs to a different calibration: machine gpu: 'NVIDIA H200' there, 'NVIDIA "
        "H100' here; remove it to start over, or use a different --out");
  CHECK(
      differences(parse_json(R"({"a": 1,"machine": {"ecc": true,"mig": false},"argv": ["--quick"]})"),
                  parse_json(R"({"machine": {"mig": true,"power_w": 700},"argv": []})")) ==
      "a: 1 there, nothing here; machine ecc: true there, nothing here; machine mig: false there, true here; "
      "machine power_w: nothing there, 700 here; argv: [\"--quick\"] there, [] here");

  files.put(json_text(header_of("H200")) + "\n{\"visit\": {}}\n" + line_of(NoteRecord{"x"}));
  CHECK(files.error(JournalStart::kResume, header_of("H200")) == "h.json.journal:2: 'sweep' is missing");
  files.put("hello\n");
  CHECK(files.error(JournalStart::kResume, header_of("H200")) ==
        "h.json.journal:1: byte 0: expected a value");
}

TEST_CASE(
    "calibration journal: two programs do not write one, and where none can be written nothing is left") {
  const JournalCase files;
  {
    const Journal journal(files.path(), JournalStart::kNew, header_of("H200"));
    CHECK(files.error(JournalStart::kResume, header_of("H200")) ==
          "h.json.journal: another goodput-calibrate is writing it");
  }
  CHECK(thrown_by([] {
          const Journal journal("/proc/none/x.journal", JournalStart::kNew, header_of("H200"));
        }) == "cannot write /proc/none/x.journal: No such file or directory");
}

// A quarter of a second: it waits for one.
TEST_CASE("calibration journal: one that a program which was killed still holds is waited for") {
  const JournalCase files;
  { const Journal journal(files.path(), JournalStart::kNew, header_of("H200")); }
  const int held = open(files.path().c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(flock(held, LOCK_EX) == 0);
  std::thread killed([held] {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    close(held);
  });
  CHECK(files.error(JournalStart::kResume, header_of("H200")).empty());
  killed.join();
}

TEST_CASE(
    "calibration journal: what is no file is refused, and a full disk is an error, not a line that is lost") {
  CHECK(thrown_by([] { const Journal journal("/dev/full", JournalStart::kNew, header_of("H200")); }) ==
        "/dev/full: is not a regular file");

  const JournalCase files;
  Journal journal(files.path(), JournalStart::kNew, header_of("H200"));
  const std::string error = error_with_files_of(std::filesystem::file_size(files.path()) + 10,
                                                [&] { journal.append(NoteRecord{"a line that is longer"}); });
  CHECK(error == "cannot write " + files.path() + ": File too large");
}

TEST_CASE("calibration journal: one that could not be begun is not left behind, one that was there is") {
  const JournalCase files;
  const auto begin = [&](JournalStart start) {
    return error_with_files_of(10, [&] { const Journal journal(files.path(), start, header_of("H200")); });
  };
  CHECK(begin(JournalStart::kNew) == "cannot write " + files.path() + ": File too large");
  CHECK_FALSE(std::filesystem::exists(files.path()));
  files.put("torn");  // no line: it begins anew
  CHECK(begin(JournalStart::kResume) == "cannot write " + files.path() + ": File too large");
  CHECK(std::filesystem::exists(files.path()));
}

}  // namespace
}  // namespace goodput::gpu::calibrate
