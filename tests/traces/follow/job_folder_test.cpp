#include "traces/follow/job_folder.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/traces/follow/watched_folder.h"

namespace goodput {
namespace {

using Names = std::vector<std::string>;

const std::string kTable = "dp_rank,stage,rank,step,optype,start_ts,duration\n0,0,0,1,gc,0.5,0.5\n";

JobFolder files_of(const WatchedFolder& folder, bool takes_any_text = false) {
  auto found = find_job_files(folder.path(), takes_any_text);
  REQUIRE(found);
  for (Names* paths : {&found->traces, &found->metadata, &found->others, &found->warnings}) {
    for (std::string& path : *paths) path.erase(0, folder.path().size() + 1);
  }
  return *std::move(found);
}

}  // namespace

TEST_CASE("job folders: op traces of all sub-folders are found, the oldest part of a log first") {
  const WatchedFolder folder;
  std::filesystem::create_directories(folder.at("node1/logs"));
  folder.write("node1/logs/b.csv", kTable);
  folder.write("node1/logs/b.csv.2", kTable);
  folder.write("node1/logs/b.csv.10", kTable);
  folder.compress("node1/logs/b.csv.2");
  folder.write("a.json", R"([{"ph": "X"}])");
  folder.write("without_a_suffix", kTable);
  CHECK(files_of(folder).traces == Names{"a.json", "node1/logs/b.csv.10", "node1/logs/b.csv.2.gz",
                                         "node1/logs/b.csv", "without_a_suffix"});
}

TEST_CASE("job folders: hidden and temporary files do not count, others are told apart") {
  const WatchedFolder folder;
  folder.write("a.csv", kTable);
  folder.write(".a.csv", kTable);
  folder.write("b.csv.tmp", kTable);
  std::filesystem::create_directory(folder.at(".hidden"));
  folder.write(".hidden/a.csv", kTable);
  folder.write("README.md", "# What this is\n");
  folder.write("truth.json", R"({"job": "a"})");
  folder.write("losses.csv", "step,loss\n1,0.5\n");
  folder.write("notes.csv", "# step,loss\nstep,loss\n");
  const JobFolder found = files_of(folder);
  CHECK(found.traces == Names{"a.csv"});
  CHECK(found.others == Names{"README.md", "losses.csv", "notes.csv", "truth.json"});
  CHECK(found.warnings.empty());
  CHECK(files_of(folder, true).traces == Names{"a.csv", "losses.csv", "notes.csv"});
}

TEST_CASE("job folders: empty files count, and so do tables that only need to be saved in another way") {
  const WatchedFolder folder;
  folder.append("empty", "");
  folder.write("blank.txt", " \n\n");
  folder.write("empty.csv.gz", WatchedFolder::gzipped_text(""));
  folder.write("wide.csv", "\xff\xfe\x64");
  folder.write("wide.txt", "\xff\xfe\x64");
  folder.write("commented.csv", "# by hand\n" + kTable);
  const JobFolder found = files_of(folder);
  CHECK(found.traces == Names{"blank.txt", "commented.csv", "empty", "empty.csv.gz", "wide.csv"});
  CHECK(found.others == Names{"wide.txt"});
}

TEST_CASE("job folders: the metadata is the folder's own, else all that sub-folders have") {
  const WatchedFolder folder;
  for (const char* const sub_folder : {"a", "b"}) {
    std::filesystem::create_directory(folder.at(sub_folder));
    folder.write(std::string(sub_folder) + "/meta.yaml", "dp_size: 2\n");
  }
  CHECK(files_of(folder).metadata == Names{"a/meta.yaml", "b/meta.yaml"});
  CHECK(files_of(folder).others.empty());
  CHECK(metadata_in(folder.path()).empty());
  folder.write("meta.yaml", "dp_size: 2\n");
  CHECK(files_of(folder).metadata == Names{"meta.yaml"});
  CHECK(files_of(folder).others == Names{"a/meta.yaml", "b/meta.yaml"});
  CHECK(metadata_in(folder.path()) == folder.at("meta.yaml"));
}

TEST_CASE("job folders: links that lead out are warned of, a folder that is not there is an error") {
  const WatchedFolder outside;
  outside.write("a.csv", kTable);
  const WatchedFolder folder;
  std::filesystem::create_symlink(outside.at("a.csv"), folder.at("a.csv"));
  CHECK(files_of(folder).traces.empty());
  CHECK(files_of(folder).warnings ==
        Names{"a.csv: is a link that points outside the folder " + folder.path() +
              " and is not followed; give the folder that it points to"});
  const auto none = find_job_files(folder.at("none"), false);
  REQUIRE_FALSE(none);
  CHECK(none.error().message() == folder.at("none") + ": cannot read the folder: No such file or directory");
}

}  // namespace goodput
