// Config files by name: a model "x" is the file x.json of models/ in the first folder that has one.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"

namespace goodput::config {

// What a name stands for: a file of this sub-folder of a library's folders.
struct Kind {
  std::string_view folder;  // models
  std::string_view noun;    // model
};

class ParsedFiles;  // sim/config/json_file.h
struct Library;

// Reads files of other programs as configs of ours: a launch script as a plan. For any number of threads.
class ForeignFiles {
 public:
  virtual ~ForeignFiles() = default;
  // None: it is no file of another program. `library` is told what to note.
  virtual std::optional<Result<Json>> read(const std::string& file, const Kind& kind,
                                           const Library& library) = 0;
};

struct Library {
  std::vector<std::string> folders{};       // each with models/, clusters/, plans/, ...; the first ones first
  ParsedFiles* parsed = nullptr;            // keeps the files that are read; none: they are read every time
  std::shared_ptr<ForeignFiles> foreign{};  // none: all files must be ours
  std::function<void(const std::string& text)> note = {};  // takes notes for the user; none: they are dropped
};

// A config file that was read.
struct Source {
  std::string file{};
  std::vector<std::string> shadowed{};  // of the same name in later folders of the library, and not the same
};

// The file that stands for stdin: it stands in no folder.
inline constexpr const char* kStdinFile = "/dev/stdin";

// What relative paths in the config `file` are seen from: its folder; for stdin, the current one.
[[nodiscard]] std::filesystem::path folder_of(const std::string& file);

// Has the form of a name: no "/", no ending of a file (".json", ".sh", ".yaml", ".toml", ...), not "-".
[[nodiscard]] bool is_name(std::string_view text);

// All names that the library has: of files, not of folders or pipes, that do not begin with a dot.
[[nodiscard]] std::set<std::string> names_of(const Library& library, const Kind& kind);

inline constexpr std::string_view kAliasesKey = "aliases";  // in a config: a list of its other names

// By the name of a file, else by an alias: the first in the order of folders and names. Fails with the
// nearest names and where it looked, or if the first match is not a file.
[[nodiscard]] Result<Source> find(const Library& library, const Kind& kind, std::string_view name);

// As seen from the config file `from`: the folder it stands in, as in FOLDER/plans/mine.json, comes first,
// unless it is one of the library's.
[[nodiscard]] Result<Source> find_from(const std::string& from, const Library& library, const Kind& kind,
                                       std::string_view name);

}  // namespace goodput::config
