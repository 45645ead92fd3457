// Where the file of a monitor lies, and who may use it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "traces/io/file_descriptor.h"

namespace goodput {

// `nfs` and the like, by the number that statfs(2) has for it; empty: a file system of this machine.
[[nodiscard]] std::string_view network_file_system(std::int64_t magic);

// Readers and writer of a database share memory and locks, which works on one machine alone. On a network
// file system two machines could write the same file and damage it without noticing.
Status refuse_network_folder(const std::string& path);

// Holds `PATH-lock`: it goes with the process, however that ends.
Result<FileDescriptor> lock_for_writing(const std::string& path);

// A file that is there and may be read.
Status find_readable(const std::string& path);

// Whether the files that readers need besides the database are there or can be made. Where not, and nobody is
// writing, the database can be read alone.
[[nodiscard]] bool can_have_readers(const std::string& path);

// As SQLite takes it: `file:PATH?PARAMETERS`.
[[nodiscard]] std::string database_uri(std::string_view path, std::string_view parameters);

}  // namespace goodput
