#include "traces/follow/job_folder.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "traces/follow/content_head.h"
#include "traces/follow/log_name.h"
#include "traces/follow/watched_folders.h"
#include "traces/io/formats.h"
#include "traces/op/op_trace_format.h"

namespace goodput {
namespace {

constexpr std::string_view kMetadataName = "meta.yaml";

Result<bool> is_trace(const WatchedFolders& folders, const FoundFile& file, bool takes_any_text) {
  if (file.status.size == 0) return true;
  const std::string& path = file.path.text;
  GOODPUT_TRY(const FileHandle handle, folders.open_file(file.path));
  if (handle.get() < 0) return false;  // it is gone
  const bool is_text = parse_log_name(path).is_text;
  GOODPUT_TRY(const ContentHead head, read_content_head(handle, path, is_text && takes_any_text));
  const bool is_blank = head.text.find_first_not_of(" \t\r\n\v\f") == std::string::npos;
  return head.kind != ContentKind::kUnknown || is_blank ||
         (is_text && !fault_of_text(op_trace_formats(), head.text).empty());
}

}  // namespace

std::string metadata_in(const std::string& folder) {
  const std::filesystem::path path = std::filesystem::path(folder) / kMetadataName;
  std::error_code failed;
  return std::filesystem::is_regular_file(path, failed) ? path.string() : std::string();
}

Result<JobFolder> find_job_files(const std::string& folder, bool takes_any_text) {
  WatchedFoldersOptions options;
  options.folders = {folder};
  options.uses_inotify = false;
  GOODPUT_TRY(WatchedFolders folders, WatchedFolders::open(std::move(options)));
  std::vector<FoundFile> found = folders.take_news(std::chrono::steady_clock::now()).found;
  std::ranges::sort(found, {}, [](const FoundFile& file) { return file.path.text; });
  std::ranges::stable_sort(found, comes_before,
                           [](const FoundFile& file) { return parse_log_name(file.path.text); });
  JobFolder job;
  const std::string own = metadata_in(folder);
  if (!own.empty()) job.metadata.push_back(own);
  for (const FoundFile& file : found) {
    const std::string& path = file.path.text;
    if (path == own) continue;
    const bool is_metadata = own.empty() && std::filesystem::path(path).filename() == kMetadataName;
    GOODPUT_TRY(const bool is_read, is_trace(folders, file, takes_any_text));
    (is_metadata ? job.metadata : is_read ? job.traces : job.others).push_back(path);
  }
  job.warnings = folders.take_warnings();
  return job;
}

}  // namespace goodput
