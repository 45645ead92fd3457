#include "tools/monitor_store/store_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

namespace goodput {
namespace {

struct NetworkFileSystem {
  std::int64_t magic;
  std::string_view name;
};
// statfs(2), and for those it does not list the sources of the file systems.
constexpr NetworkFileSystem kNetworkFileSystems[] = {
    {0x6969, "nfs"},        {0xff534d42, "cifs"},  {0xfe534d42, "smb2"},   {0x517b, "smb"},
    {0x0bd00bd0, "lustre"}, {0x47504653, "gpfs"},  {0x19830326, "beegfs"}, {0x00c36400, "ceph"},
    {0x5346414f, "afs"},    {0xaad7aaea, "panfs"}, {0x7461636f, "ocfs2"},  {0x01161970, "gfs2"},
    {0x73757245, "coda"}};

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

std::string_view network_file_system(std::int64_t magic) {
  const auto* found = std::find_if(std::begin(kNetworkFileSystems), std::end(kNetworkFileSystems),
                                   [magic](const NetworkFileSystem& known) { return known.magic == magic; });
  return found == std::end(kNetworkFileSystems) ? std::string_view() : found->name;
}

Status refuse_network_folder(const std::string& path) {
  struct statfs about {};
  if (statfs(folder_of(path).c_str(), &about) != 0) return cannot("use", path);
  // Some magic numbers have their highest bit set, and __fsword_t its sign.
  const std::string_view name = network_file_system(static_cast<std::int64_t>(about.f_type) & 0xffffffff);
  if (name.empty()) return Ok{};
  return Error{
      fmt::format(
          "is on a network file system ({}), where two machines could corrupt it; use a file on a local disk",
          name),
      {.file = path}};
}

Result<FileDescriptor> lock_for_writing(const std::string& path) {
  GOODPUT_TRY(std::optional<FileDescriptor> lock, lock_file(path + "-lock", Lock::kTry));
  if (lock) return std::move(*lock);
  return Error{"another process is writing to this file; stop that process, or use another file",
               {.file = path}};
}

Status find_readable(const std::string& path) {
  GOODPUT_TRY([[maybe_unused]] const FileDescriptor file, open_file(path, O_RDONLY));
  return Ok{};
}

bool can_have_readers(const std::string& path) {
  std::error_code ignored;
  const auto wal_bytes = std::filesystem::file_size(path + "-wal", ignored);
  if (!ignored && wal_bytes > 0) return true;
  return faccessat(AT_FDCWD, folder_of(path).c_str(), W_OK, AT_EACCESS) == 0;
}

std::string database_uri(std::string_view path, std::string_view parameters) {
  std::string uri = "file:";
  for (const char c : path) {
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' || c == '-' || c == '_';
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  // A path that begins with two slashes would name another machine.
  if (path.substr(0, 2) == "//") uri.insert(5, "//");
  if (!parameters.empty()) uri.append("?").append(parameters);
  return uri;
}

}  // namespace goodput
