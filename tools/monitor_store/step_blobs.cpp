#include "tools/monitor_store/step_blobs.h"

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/analysis/verdict_json.h"
#include "tools/monitor_store/blob_archive.h"
#include "tools/monitor_store/packed_bytes.h"

namespace goodput {

// Found by BlobWriter and BlobReader through the types.
template <typename Archive, BlobOf<WorkerPlace> Place>
void blob_fields(Archive& archive, Place& place) {
  archive(place.dp_rank, place.stage, place.rank, place.host);
}
template <typename Archive, BlobOf<JobLayout> Layout>
void blob_fields(Archive& archive, Layout& layout) {
  archive(layout.dp_size, layout.pp_size, layout.vpp_size, layout.gpus_per_worker, layout.ranks,
          layout.hosts);
}
template <typename Archive, BlobOf<LabelledSlowdown> Labelled>
void blob_fields(Archive& archive, Labelled& labelled) {
  archive(labelled.label, labelled.slowdown);
}
template <typename Archive, BlobOf<StepCause> Cause>
void blob_fields(Archive& archive, Cause& cause) {
  archive(cause.name, cause.is_likely, cause.gain, cause.workers, cause.stage, cause.fix, cause.evidence,
          cause.next_check);
}
void blob_fields(BlobWriter& archive, const Verdict& verdict) {
  archive(verdict_text(verdict));
}
void blob_fields(BlobReader& archive, Verdict& verdict) {
  std::string text;
  archive(text);
  if (auto read = read_verdict(text); read && *read)
    verdict = **std::move(read);
  else
    archive.refuse();
}
// But for what has its own column, blob or table.
template <typename Archive, BlobOf<StepResult> Details>
void blob_fields(Archive& archive, Details& result) {
  archive(result.by_stage, result.by_dp_rank, result.by_optype, result.m_w, result.m_s, result.correlation,
          result.causes, result.verdict, result.problem, result.missing, result.notes);
}

namespace {

constexpr int kBlobLevel = 3;                                 // of zstd: higher ones find little more
constexpr std::size_t kMostBlobBytes = std::size_t{1} << 28;  // read back

template <typename Object>
std::string blob_of(const Object& object) {
  BlobWriter writer;
  writer(object);
  return compressed(writer.bytes(), kBlobLevel);
}

template <typename Object>
Status read_blob(std::string_view blob, Object& object) {
  GOODPUT_TRY(const std::string bytes, decompressed(blob, kMostBlobBytes));
  BlobReader reader(bytes);
  reader(object);
  if (!reader.is_good()) return Error{"contains a damaged step"};
  return Ok{};
}

std::vector<std::uint64_t> bits_of(const std::vector<double>& values) {
  std::vector<std::uint64_t> bits;
  bits.reserve(values.size());
  for (const double value : values) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

}  // namespace

std::string layout_bytes(const JobLayout& layout) {
  BlobWriter writer;
  writer(layout);
  return writer.bytes();
}

std::string layout_blob(std::string_view layout_bytes) {
  return compressed(layout_bytes, kBlobLevel);
}

Result<JobLayout> read_layout_blob(std::string_view blob) {
  JobLayout layout;
  GOODPUT_TRY_STATUS(read_blob(blob, layout));
  return layout;
}

std::string details_blob(const StepResult& result) {
  static const std::string nothing = blob_of(StepResult{});
  std::string blob = blob_of(result);
  return blob == nothing ? std::string() : blob;
}

Status read_details_blob(std::string_view blob, StepResult& result) {
  if (blob.empty()) return Ok{};
  return read_blob(blob, result);
}

std::string workers_blob(const StepResult& result) {
  std::vector<std::uint64_t> bits = bits_of(result.worker_slowdown);
  const std::vector<std::uint64_t> pace = bits_of(result.worker_pace);
  bits.insert(bits.begin(), bits.size());
  bits.insert(bits.end(), pace.begin(), pace.end());
  return compressed(planes_of(std::span<const std::uint64_t>(bits)), 1);
}

Status read_workers_blob(std::string_view blob, StepResult& result) {
  GOODPUT_TRY(const std::string planes, decompressed(blob, kMostBlobBytes));
  const std::vector<std::uint64_t> bits = words_of<std::uint64_t>(planes);
  if (bits.empty() || bits.front() >= bits.size()) return Error{"contains damaged worker values"};
  const auto slowdowns = static_cast<std::size_t>(bits.front());
  for (std::size_t i = 1; i < bits.size(); ++i) {
    (i <= slowdowns ? result.worker_slowdown : result.worker_pace).push_back(std::bit_cast<double>(bits[i]));
  }
  return Ok{};
}

}  // namespace goodput
