// What the kernel tells of watched folders (inotify), and a way to wait for that and to be woken.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/process/file_handle.h"

namespace goodput {

struct FolderEvent {
  enum class Kind : std::uint8_t {
    kEntries,  // entries came, went or got other names or rights
    kWritten,  // the file `name` was written to or cut
    kClosed,   // the file `name` was closed by someone who could write
  };
  Kind kind = Kind::kEntries;
  int folder = -1;  // as watch() called it
  std::string name;
};

class FolderEvents {
 public:
  // Without inotify there are never any events.
  static Result<FolderEvents> open(bool with_inotify);

  // A number for the folder, the same for one that is watched already. Nothing: inotify cannot watch it.
  std::optional<int> watch(const FileHandle& folder);
  void unwatch(int folder);

  struct News {
    std::vector<FolderEvent> events;
    bool has_gaps = false;  // more happened than the kernel keeps
  };
  // All that is there now. Never blocks.
  News take();

  // Until there is something to take, wake() was called or the time is over.
  void wait(std::chrono::milliseconds at_most);
  void wake() const;  // from any thread

 private:
  FolderEvents() = default;

  FileHandle inotify_;
  FileHandle wake_;
};

}  // namespace goodput
