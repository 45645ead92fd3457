#include "traces/follow/folder_events.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

namespace goodput {
namespace {

constexpr std::size_t kMostReads = 64;  // at once, of those that never end
constexpr std::uint32_t kEntryEvents = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB |
                                       IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;
constexpr std::uint32_t kWatched =
    (kEntryEvents & ~std::uint32_t{IN_UNMOUNT | IN_IGNORED}) | IN_MODIFY | IN_CLOSE_WRITE | IN_ONLYDIR;

void append_events(const char* from, const char* end, FolderEvents::News& news) {
  while (from < end) {
    inotify_event event{};
    std::memcpy(&event, from, sizeof(event));
    const std::string name(from + sizeof(event), strnlen(from + sizeof(event), event.len));
    from += sizeof(event) + event.len;
    if ((event.mask & IN_Q_OVERFLOW) != 0) news.has_gaps = true;
    const int folder = event.wd;
    const auto add = [&](FolderEvent::Kind kind) { news.events.push_back({kind, folder, name}); };
    if ((event.mask & kEntryEvents) != 0) add(FolderEvent::Kind::kEntries);
    if ((event.mask & IN_MODIFY) != 0) add(FolderEvent::Kind::kWritten);
    if ((event.mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) != 0) add(FolderEvent::Kind::kClosed);
  }
}

}  // namespace

Result<FolderEvents> FolderEvents::open(bool with_inotify) {
  FolderEvents events;
  events.wake_ = FileHandle(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (events.wake_.get() < 0) {
    return Error{fmt::format("cannot make an event descriptor: {}", std::strerror(errno))};
  }
  if (with_inotify) events.inotify_ = FileHandle(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  return events;
}

// By its descriptor: the name could be another folder's by now.
std::optional<int> FolderEvents::watch(const FileHandle& folder) {
  if (inotify_.get() < 0) return std::nullopt;
  const std::string path = fmt::format("/proc/self/fd/{}", folder.get());
  const int number = inotify_add_watch(inotify_.get(), path.c_str(), kWatched);
  return number < 0 ? std::nullopt : std::optional(number);
}

void FolderEvents::unwatch(int folder) {
  inotify_rm_watch(inotify_.get(), folder);
}

FolderEvents::News FolderEvents::take() {
  News news;
  if (inotify_.get() < 0) return news;
  alignas(inotify_event) std::array<char, std::size_t{64} << 10> buffer;
  for (std::size_t reads = 0; reads < kMostReads; ++reads) {
    const ssize_t count = read(inotify_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return news;
    append_events(buffer.data(), buffer.data() + count, news);
  }
  return news;
}

void FolderEvents::wait(std::chrono::milliseconds at_most) {
  std::array<pollfd, 2> files = {pollfd{wake_.get(), POLLIN, 0}, pollfd{inotify_.get(), POLLIN, 0}};
  const auto longest = std::chrono::milliseconds(std::numeric_limits<int>::max());
  poll(files.data(), files.size(), static_cast<int>(std::min(std::max(at_most, {}), longest).count()));
  std::uint64_t calls = 0;
  [[maybe_unused]] const ssize_t count = read(wake_.get(), &calls, sizeof(calls));
}

void FolderEvents::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t count = write(wake_.get(), &one, sizeof(one));
}

}  // namespace goodput
