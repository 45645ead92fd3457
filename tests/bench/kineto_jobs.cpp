// kineto_jobs FIRST_SEED COUNT OUT_DIR [healthy|faulty]: writes simulated training jobs as Kineto traces,
// each to OUT_DIR/<seed>-<kind>/rankN.json, with truth.json. Without the last argument, jobs of even seeds
// are faulty.
//
// kineto_jobs sample OUT_DIR: writes the job of traces/samples/fsdp_slow_rank, as rankN.json.gz in OUT_DIR.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/support/cuda_job.h"
#include "tests/support/kineto_writer.h"
#include "traces/io/byte_sink.h"

namespace {

namespace testing = goodput::testing;

bool write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) fmt::print(stderr, "{}: cannot be written\n", path.string());
  return static_cast<bool>(file);
}

std::string truth_text(const testing::CudaJob& job) {
  const testing::CudaJobTruth& truth = job.truth;
  return fmt::format(
      "{{\n \"kind\": \"{}\",\n \"ranks\": {},\n \"slow_rank\": {},\n \"extra_s\": {:.9f},\n \"steps\": {},\n"
      " \"step_s\": [{:.9f}],\n \"healthy_steps_s\": [{:.9f}],\n \"healthy_step_s\": {:.9f},\n"
      " \"true_slowdown\": {:.6f},\n \"description\": \"{}\"\n}}\n",
      testing::cuda_job_kind_name(job.spec.kind), job.ranks.size(), truth.slow_rank, truth.extra_s,
      truth.step_s.size(), fmt::join(truth.step_s, ", "), fmt::join(truth.healthy_steps_s, ", "),
      truth.healthy_step_s, truth.true_slowdown, testing::describe(job.spec));
}

bool write_job(std::uint64_t seed, bool is_faulty, const std::filesystem::path& out) {
  const testing::CudaJob job = testing::simulate_cuda_job(testing::random_cuda_job(seed, is_faulty));
  const auto folder = out / fmt::format("{}-{}", seed, testing::cuda_job_kind_name(job.spec.kind));
  std::filesystem::create_directories(folder);
  for (int rank = 0; rank < job.spec.ranks; ++rank) {
    if (!write_file(folder / fmt::format("rank{}.json", rank), testing::kineto_text(job, rank))) return false;
  }
  return write_file(folder / "truth.json", truth_text(job));
}

// FSDP2 on 8 ranks of one host. The backward passes of rank 2 take longer, by 20 % of a healthy step.
testing::CudaJobSpec sample_job() {
  testing::CudaJobSpec spec;
  spec.kind = testing::CudaJobKind::kFsdp;
  spec.ranks = 8;
  spec.layers = 2;
  spec.kernels = 2;
  spec.steps = 5;
  spec.compute_s = 0.2;
  spec.comm = 0.5;
  spec.has_mesh_group = true;
  spec.fault = {testing::CudaFaultKind::kBackward, 2, 0.2};
  spec.trace.form = testing::KinetoForm::kIndented;
  return spec;
}

bool write_compressed(const std::string& path, const std::string& text) {
  goodput::Result<goodput::ByteSink> sink = goodput::ByteSink::open(path, path);
  goodput::Status written = sink ? sink->write(text) : goodput::Status(sink.error());
  if (written) written = sink->close();
  if (!written) fmt::print(stderr, "{}\n", written.error().message());
  return static_cast<bool>(written);
}

bool write_sample(const std::filesystem::path& out) {
  const testing::CudaJob job = testing::simulate_cuda_job(sample_job());
  std::filesystem::create_directories(out);
  for (int rank = 0; rank < job.spec.ranks; ++rank) {
    const auto path = out / fmt::format("rank{}.json.gz", rank);
    if (!write_compressed(path.string(), testing::kineto_text(job, rank))) return false;
  }
  fmt::print("{}", truth_text(job));
  return true;
}

int run(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "sample")
    return write_sample(argv[2]) ? EXIT_SUCCESS : EXIT_FAILURE;
  const std::string_view which = argc > 4 ? argv[4] : "";
  if (argc < 4 || argc > 5 || (argc == 5 && which != "healthy" && which != "faulty")) {
    fmt::print(stderr,
               "usage: kineto_jobs FIRST_SEED COUNT OUT_DIR [healthy|faulty]\n"
               "       kineto_jobs sample OUT_DIR\n");
    return EXIT_FAILURE;
  }
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const bool is_faulty = which.empty() ? seed % 2 == 0 : which == "faulty";
    if (!write_job(seed, is_faulty, argv[3])) return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return EXIT_FAILURE;
  }
}
