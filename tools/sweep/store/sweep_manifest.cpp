#include "tools/sweep/store/sweep_manifest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <random>
#include <string_view>
#include <utility>

#include "sim/base/json.h"
#include "sim/base/text.h"
#include "tools/sweep/store/sweep_paths.h"
#include "traces/io/byte_source.h"
#include "traces/io/file_descriptor.h"

namespace goodput {
namespace {

constexpr std::string_view kManifestSchema = "goodput.sweep-manifest/1";
constexpr std::size_t kLargestManifest = std::size_t{1} << 30;

// JSON in the one form in which it is compared and shown.
OrderedJson json_value(const std::string& text) {
  std::optional<OrderedJson> value = OrderedJson::try_parse(text);
  GOODPUT_CHECK(value, "a value of the sweep is not JSON: " + text);
  return *std::move(value);
}

std::string dumped(const OrderedJson& json, int indent = -1) {
  return json.dump(indent);
}

// A line a point.
std::string manifest_text(const SweepManifest& manifest) {
  const OrderedJson head = {{"schema", kManifestSchema},         {"version", manifest.version},
                            {"grid_hash", manifest.grid_hash},   {"seed", manifest.seed},
                            {"scenario", manifest.scenario},     {"points", manifest.values.size()},
                            {"parameters", manifest.parameters}, {"request", json_value(manifest.request)}};
  std::string text = dumped(head, 2);
  text.resize(text.size() - 2);  // "\n}"
  text += ",\n  \"values\": [";
  bool is_first = true;
  for (const std::vector<std::string>& point : manifest.values) {
    GOODPUT_CHECK(point.size() == manifest.parameters.size(),
                  "a point does not have one value per parameter");
    OrderedJson values = OrderedJson::array();
    for (const std::string& value : point) values.push_back(value.empty() ? nullptr : json_value(value));
    text += (is_first ? "\n    " : ",\n    ") + dumped(values);
    is_first = false;
  }
  return text + "\n  ]\n}\n";
}

SweepManifest manifest_of(const OrderedJson& json) {
  SweepManifest manifest;
  manifest.version = json.at("version").get<std::string>();
  manifest.grid_hash = json.at("grid_hash").get<std::string>();
  manifest.seed = json.at("seed").get<std::uint64_t>();
  manifest.scenario = json.at("scenario").get<std::string>();
  manifest.parameters = json.at("parameters").get<std::vector<std::string>>();
  manifest.request = dumped(json.at("request"));
  for (const OrderedJson& point : json.at("values")) {
    std::vector<std::string>& values = manifest.values.emplace_back();
    for (const OrderedJson& value : point) values.push_back(value.is_null() ? "" : dumped(value));
    if (values.size() != manifest.parameters.size())
      throw std::runtime_error("a point does not have one value per parameter");
  }
  return manifest;
}

// The first thing that differs in what people wrote, as far as the manifest has it.
std::string difference(const SweepManifest& there, const SweepManifest& here) {
  if (there.scenario != here.scenario)
    return fmt::format("its scenario is {}, but the scenario of this run is {}", there.scenario,
                       here.scenario);
  if (there.seed != here.seed)
    return fmt::format("its seed is {}, but the seed of this run is {}", there.seed, here.seed);
  if (there.parameters != here.parameters) {
    return fmt::format("it varies {}, but this run varies {}", fmt::join(there.parameters, ", "),
                       fmt::join(here.parameters, ", "));
  }
  if (there.values.size() != here.values.size())
    return fmt::format("it has {} points, but this run has {}", there.values.size(), here.values.size());
  return "its values, trials or scenario files differ";
}

Status check_same_sweep(const std::string& dir, const SweepManifest& there, const SweepManifest& here) {
  if (there.grid_hash != here.grid_hash) {
    return Error{fmt::format("contains a different sweep ({}); choose another folder with --out",
                             on_one_line(difference(there, here))),
                 {.file = dir}};
  }
  if (there.version != here.version) {
    return Error{
        fmt::format(
            "contains a sweep by goodput {}, but this is goodput {}; continue it with that version, or "
            "choose another folder with --out",
            on_one_line(there.version), on_one_line(here.version)),
        {.file = dir}};
  }
  return Ok{};
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// Files that other processes are just making ours with do not count.
Status check_empty(const std::string& dir) {
  GOODPUT_TRY(const std::vector<std::string> names, names_in(dir));
  for (const std::string& name : names) {
    if (!name.starts_with("sweep.json") && name != "shards" && name != "merge.lock")
      return Error{"contains other files but no sweep; choose a new folder with --out", {.file = dir}};
  }
  return Ok{};
}

Status make_folder(const std::string& dir) {
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::status(dir, failed);
  if (std::filesystem::is_directory(status)) return Ok{};
  if (std::filesystem::exists(status)) return Error{"is a file; choose a folder with --out", {.file = dir}};
  std::filesystem::create_directories(dir, failed);
  if (failed) return Error{fmt::format("cannot create this folder: {}", failed.message()), {.file = dir}};
  return Ok{};
}

// Whether no sweep has begun there; an error where something else is in it. Files of one that another process
// begins meanwhile come after its manifest.
Result<bool> is_free(const std::string& dir) {
  const std::string path = manifest_path(dir);
  if (is_there(path)) return false;
  Status empty = check_empty(dir);
  if (!empty && !is_there(path)) return std::move(empty).error();
  return bool{empty};
}

// A new file in the folder, with this text; of a name that no process of another machine can have either.
Result<std::string> write_beside(const std::string& path, std::string_view text) {
  std::random_device random;
  const std::string name = fmt::format("{}.tmp{:08x}{:08x}", path, random(), random());
  GOODPUT_TRY(const FileDescriptor file, open_file(name, O_WRONLY | O_CREAT | O_EXCL));
  if (Status written = write_all(file, path, text); !written) {
    unlink(name.c_str());
    return std::move(written).error();
  }
  return name;
}

// Gives the file at `from` the name `to` unless that is taken. False: it is.
Result<bool> name_if_free(const std::string& from, const std::string& to) {
  if (link(from.c_str(), to.c_str()) == 0) return true;
  if (errno == EEXIST) return false;
  // File systems without links.
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno == EEXIST) return false;
  return cannot("write", to);
}

}  // namespace

Result<bool> claim_folder(const std::string& dir, const SweepManifest& manifest) {
  const std::string path = manifest_path(dir);
  GOODPUT_TRY_STATUS(make_folder(dir));
  bool is_ours = false;
  GOODPUT_TRY(const bool free, is_free(dir));
  if (free) {
    GOODPUT_TRY(const std::string written, write_beside(path, manifest_text(manifest)));
    const Result<bool> named = name_if_free(written, path);
    unlink(written.c_str());
    if (!named) return named.error();
    is_ours = *named;
  }
  GOODPUT_TRY(const SweepManifest there, read_sweep_manifest(dir));
  GOODPUT_TRY_STATUS(check_same_sweep(dir, there, manifest));
  return is_ours;
}

Result<SweepManifest> read_sweep_manifest(const std::string& dir) {
  const std::string path = manifest_path(dir);
  if (!is_there(path)) return Error{"does not contain a sweep (no sweep.json)", {.file = dir}};
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  GOODPUT_TRY(const std::string text, read_all(source, kLargestManifest));
  try {
    const OrderedJson json = OrderedJson::parse(text);
    if (json.at("schema") == kManifestSchema) return manifest_of(json);
  } catch (const std::exception&) {  // the same answer
  }
  return Error{"is damaged or not a sweep manifest; use a new folder for the sweep", {.file = path}};
}

}  // namespace goodput
