#include "tools/cli/output_file.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const TemporaryFile& file) {
  return fs::path(file.path()).parent_path();
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST_CASE("output file: appears whole under its name and leaves nothing else") {
  const TemporaryFile target("out.txt", "old");
  REQUIRE(write_text_atomically(target.path(), "new"));
  CHECK(target.content() == "new");
  CHECK(files_in(folder_of(target)) == 1);
}

TEST_CASE("output file: the temporary is hidden, so that a folder of logs may be watched meanwhile") {
  const TemporaryFile target("rank0.log");
  std::string name;
  REQUIRE(write_file_atomically(target.path(), [&](const std::string& path) -> Status {
    name = fs::path(path).filename();
    CHECK(fs::path(path).parent_path() == folder_of(target));
    return Ok{};
  }));
  CHECK(name.starts_with(".rank0.log.tmp"));
}

TEST_CASE("output file: a folder that is not there cannot be synced") {
  const TemporaryFile file("out.txt");
  CHECK(sync_folder(folder_of(file).string()));
  const std::string nowhere = (folder_of(file) / "none").string();
  CHECK(sync_folder(nowhere).error().message() == nowhere + ": cannot write: No such file or directory");
}

TEST_CASE("output file: a failed writer leaves the old file and no temporary") {
  const TemporaryFile target("out.txt", "old");
  const Status status = write_file_atomically(target.path(), [](const std::string& path) -> Status {
    std::ofstream(path) << "half";
    return Error{"disk full", {.file = path}};
  });
  REQUIRE_FALSE(status);
  CHECK(status.error().message() == target.path() + ": disk full");  // not the temporary's name
  CHECK(target.content() == "old");
  CHECK(files_in(folder_of(target)) == 1);
}

TEST_CASE("output file: an exception passes and leaves no temporary") {
  const TemporaryFile target("out.txt", "old");
  const auto throwing = [](const std::string&) -> Status { throw std::runtime_error("bug"); };
  CHECK_THROWS_WITH((void)write_file_atomically(target.path(), throwing), "bug");
  CHECK(target.content() == "old");
  CHECK(files_in(folder_of(target)) == 1);
}

TEST_CASE(
    "output file: an output that is an input, or that two options name, is refused, through links too") {
  const TemporaryFile in("in.csv", "rows");
  const std::string link = in.path() + ".link";
  fs::create_symlink(in.path(), link);
  const auto message = [](const Status& status) { return status ? "accepted" : status.error().message(); };
  CHECK(message(check_file_roles({in.path()}, {{"--json", link}})) ==
        link + ": is both input and output (--json); name another output file");
  CHECK(message(check_file_roles({in.path()}, {{"--json", "a.json"}, {"--heatmap", "./a.json"}})) ==
        "./a.json: is given for both --json and --heatmap; name two different files");
  CHECK(message(check_file_roles({}, {{"--json", "-"}, {"--compat-json", "-"}})) ==
        "stdout: is given for both --json and --compat-json; name two different files");
  CHECK(message(check_file_roles({in.path()}, {{"--json", "/dev/null"}, {"--compat-json", "/dev/null"}})) ==
        "accepted");
  CHECK(message(check_file_roles({in.path()}, {{"--json", ""}, {"--compat-json", ""}})) == "accepted");
}

TEST_CASE("output file: a folder in its place or none around it is an error") {
  const TemporaryFile target("out.txt", "old");
  const std::string folder = folder_of(target).string();
  const Status is_folder = write_text_atomically(folder, "x");
  REQUIRE_FALSE(is_folder);
  CHECK(is_folder.error().message() == folder + ": is a directory; name a file");
  const std::string nowhere = folder + "/none/out.txt";
  const Status no_folder = write_text_atomically(nowhere, "x");
  REQUIRE_FALSE(no_folder);
  CHECK(no_folder.error().message() == nowhere + ": cannot write: No such file or directory");
}

TEST_CASE("output file: a symbolic link stays, what it points to is replaced") {
  const TemporaryFile target("out.txt", "old");
  const fs::path link = folder_of(target) / "link";
  fs::create_symlink(target.path(), link);
  REQUIRE(write_text_atomically(link.string(), "new"));
  CHECK(fs::is_symlink(link));
  CHECK(target.content() == "new");
}

TEST_CASE("output file: a symbolic link that leads nowhere is refused, before and when it is written") {
  const TemporaryFile beside("out.txt", "old");
  const fs::path folder = folder_of(beside);
  const std::string dangling = folder / "dangling";
  fs::create_symlink("nowhere.json", dangling);
  const std::string loop = folder / "loop";
  fs::create_symlink("loop", loop);
  const auto message = [](const Status& status) { return status ? "accepted" : status.error().message(); };
  const std::string refused =
      dangling + ": is a symbolic link to nowhere.json, which does not exist; name another file";
  CHECK(message(write_text_atomically(dangling, "x")) == refused);
  CHECK(message(check_file_roles({}, {{"--json", dangling}})) == refused);
  const std::string endless = loop + ": cannot write: Too many levels of symbolic links";
  CHECK(message(write_text_atomically(loop, "x")) == endless);
  CHECK(message(check_file_roles({}, {{"--json", loop}})) == endless);
  CHECK(fs::is_symlink(dangling));
  CHECK(files_in(folder) == 3);
}

TEST_CASE("output file: a device is written in place") {
  REQUIRE(write_text_atomically("/dev/null", "x"));
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("output file: a signal removes the temporary and ends the process with 130") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const TemporaryFile target("out.txt", "old");
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      remove_unfinished_files_on_interrupt();
      (void)write_file_atomically(target.path(), [signal](const std::string&) -> Status {
        raise(signal);
        return Ok{};
      });
      _exit(99);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 130);
    CHECK(target.content() == "old");
    CHECK(files_in(folder_of(target)) == 1);
  }
}

}  // namespace
}  // namespace goodput
