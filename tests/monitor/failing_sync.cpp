// A disk that fails, or a power cut, at the moment when something is to be kept: a library for LD_PRELOAD.
// GOODPUT_TEST_SYNC is "fail:PATTERN" or "kill:PATTERN": syncing a file or folder whose path matches the
// pattern (fnmatch) fails with EIO, or kills the process before anything is synced.
#include <fnmatch.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>

namespace {

std::string path_of(int file) {
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  std::string path(4096, '\0');
  const ssize_t bytes = readlink(link.c_str(), path.data(), path.size());
  path.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
  return path;
}

bool fails(int file) {
  const char* const wanted = std::getenv("GOODPUT_TEST_SYNC");
  if (wanted == nullptr) return false;
  const std::string text = wanted;
  const std::size_t colon = text.find(':');
  if (fnmatch(text.substr(colon + 1).c_str(), path_of(file).c_str(), 0) != 0) return false;
  if (text.substr(0, colon) == "kill") kill(getpid(), SIGKILL);
  return true;
}

int sync_with(long call, int file) {
  if (!fails(file)) return static_cast<int>(syscall(call, file));
  errno = EIO;
  return -1;
}

}  // namespace

extern "C" int fsync(int file) {
  return sync_with(SYS_fsync, file);
}

extern "C" int fdatasync(int file) {
  return sync_with(SYS_fdatasync, file);
}
