#include "traces/op/job_metadata_file.h"

#include <fmt/format.h>
#include <simdjson.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>

#include "sim/base/text.h"
#include "sim/config/yaml_nesting.h"
#include "traces/io/byte_source.h"

namespace goodput {
namespace {

constexpr std::size_t kLargestFile = std::size_t{1} << 20;
constexpr std::int64_t kLargestSize = std::numeric_limits<std::int32_t>::max();

struct SizeField {
  const char* key;
  std::optional<std::int64_t> JobMetadataFields::*field;
  std::int64_t least;
};
constexpr SizeField kSizeFields[] = {
    {"run_id", &JobMetadataFields::run_id, 0},         {"dp_size", &JobMetadataFields::dp_size, 1},
    {"dsp_size", &JobMetadataFields::dsp_size, 1},     {"pp_size", &JobMetadataFields::pp_size, 1},
    {"tp_size", &JobMetadataFields::tp_size, 1},       {"vpp_size", &JobMetadataFields::vpp_size, 1},
    {"world_size", &JobMetadataFields::world_size, 1},
};

// Names go into text, JSON and pictures: control characters, and all that is no ASCII in a name that is no
// UTF-8, become '?'.
std::string printable(std::string name) {
  const bool is_utf8 = simdjson::validate_utf8(name);
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !is_utf8)) c = '?';
  }
  return name;
}

// `{0: node-a, 8: node-b}` under `key`. take(name of the entry, its value) says what is wrong with the first.
template <typename Take>
Status read_names(const YAML::Node& root, const char* key, const std::string& path, const Take& take) {
  const YAML::Node node = root[key];
  if (!node || node.IsNull()) return Ok{};
  const Where at{.file = path, .pointer = fmt::format("/{}", key)};
  if (!node.IsMap()) return Error{"must be a mapping to names, such as {0: node-a, 8: node-b}", at};
  for (const auto& entry : node) {
    const bool is_named = entry.first.IsScalar() && entry.second.IsScalar() && !entry.second.Scalar().empty();
    if (is_named && take(entry.first, printable(entry.second.Scalar()))) continue;
    return Error{
        fmt::format("has {}: {}; expected {}",
                    entry.first.IsScalar() ? printable(entry.first.Scalar()) : "a list",
                    entry.second.IsScalar() ? in_quotes(entry.second.Scalar()) : "no name",
                    key == std::string_view("hosts") ? "a rank and the name of its host, such as 0: node-a"
                                                     : "a host and a name, such as node-a: leaf-1"),
        at};
  }
  return Ok{};
}

Status read_places(const YAML::Node& root, const std::string& path, JobMetadataFields& fields) {
  GOODPUT_TRY_STATUS(read_names(root, "hosts", path, [&](const YAML::Node& key, std::string name) {
    std::int64_t rank = 0;
    if (!YAML::convert<std::int64_t>::decode(key, rank) || rank < 0 || rank > kLargestSize) return false;
    fields.hosts[rank] = std::move(name);
    return true;
  }));
  const auto read_of_hosts = [&](const char* key, std::map<std::string, std::string>& names) {
    return read_names(root, key, path, [&names](const YAML::Node& host, std::string name) {
      names[printable(host.Scalar())] = std::move(name);
      return true;
    });
  };
  GOODPUT_TRY_STATUS(read_of_hosts("switches", fields.switches));
  GOODPUT_TRY_STATUS(read_of_hosts("racks", fields.racks));
  return Ok{};
}

bool has_known_key(const YAML::Node& root) {
  return root["trial_name"] || root["hosts"] || root["switches"] || root["racks"] ||
         std::any_of(std::begin(kSizeFields), std::end(kSizeFields),
                     [&](const SizeField& size) { return static_cast<bool>(root[size.key]); });
}

Result<JobMetadataFields> fields_of(const YAML::Node& root, const std::string& path) {
  if (!root.IsMap()) return Error{"must be a mapping of keys to values, such as dp_size: 4", {.file = path}};
  JobMetadataFields fields;
  if (!has_known_key(root)) {
    return Error{
        "has none of the keys trial_name, run_id, dp_size, dsp_size, pp_size, tp_size, vpp_size, world_size",
        {.file = path}};
  }
  if (const YAML::Node name = root["trial_name"]; name && name.IsScalar())
    fields.trial_name = printable(name.Scalar());
  for (const SizeField& size : kSizeFields) {
    const YAML::Node node = root[size.key];
    if (!node || node.IsNull()) continue;
    std::int64_t value = 0;
    if (!node.IsScalar() || !YAML::convert<std::int64_t>::decode(node, value) || value < size.least ||
        value > kLargestSize) {
      return Error{fmt::format("must be an integer from {} to {}, not {}", size.least, kLargestSize,
                               node.IsScalar() ? in_quotes(node.Scalar()) : "a list or mapping"),
                   {.file = path, .pointer = fmt::format("/{}", size.key)}};
    }
    fields.*size.field = value;
  }
  GOODPUT_TRY_STATUS(read_places(root, path, fields));
  return fields;
}

}  // namespace

Result<JobMetadataFields> read_job_metadata(const std::string& path) {
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  GOODPUT_TRY(const std::string text, read_all(source, kLargestFile));
  if (is_nested_too_deeply(text)) return Error{"is too deeply nested for job metadata", {.file = path}};
  try {
    return fields_of(YAML::Load(text), path);
  } catch (const YAML::Exception& error) {
    return Error{fmt::format("is neither YAML nor JSON: {}", error.msg),
                 {.file = path, .position = Position::line(static_cast<std::uint64_t>(error.mark.line) + 1)}};
  }
}

std::string file_stem(const std::string& path) {
  std::filesystem::path name = std::filesystem::path(path).filename();
  if (name.extension() == ".gz") name = name.stem();
  return printable(name.stem().string());
}

std::string job_name(const std::vector<std::string>& paths) {
  std::filesystem::path common;
  for (const std::string& path : paths) {
    std::error_code failed;
    const bool is_folder = std::filesystem::is_directory(path, failed);
    if (!is_folder && paths.size() == 1) break;
    const std::filesystem::path folder =
        is_folder ? std::filesystem::path(path) : std::filesystem::path(path).parent_path() / ".";
    const std::filesystem::path whole = std::filesystem::canonical(folder, failed);
    std::filesystem::path shared;
    if (&path == &paths.front()) common = whole;
    const auto end = std::ranges::mismatch(common, whole).in1;
    for (auto part = common.begin(); part != end; ++part) shared /= *part;
    common = shared;
  }
  const std::string name = common.filename().string();
  return name.empty() ? file_stem(paths.front()) : printable(name);
}

}  // namespace goodput
