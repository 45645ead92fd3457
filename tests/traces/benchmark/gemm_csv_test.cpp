// CSVs of GEMM times: which column is what, units, and damage.
#include "traces/benchmark/gemm_csv.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/traces/io/temporary_file.h"
#include "traces/benchmark/gemm_columns.h"

namespace goodput {
namespace {

using doctest::Approx;

Result<GemmCsv> read_csv(const TemporaryFile& file) {
  ByteSource source = ByteSource::open(file.path()).value();
  REQUIRE(is_gemm_csv(source.peek().value()));
  return read_gemm_csv(source);
}
GemmCsv csv_of(const std::string& text) {
  return read_csv(TemporaryFile("gemm.csv", text)).value();
}
std::string error_of_csv(const std::string& text) {
  const TemporaryFile file("gemm.csv", text);
  const auto read = read_csv(file);
  REQUIRE_FALSE(read);
  return without_path(read.error().message(), file);
}

}  // namespace

TEST_CASE("gemm csv: the words of a name do not depend on how it is written") {
  using Words = std::vector<std::string>;
  CHECK(name_words("GPU Time (sec)") == Words{"gpu", "time", "sec"});
  CHECK(name_words("gpuTime_us") == Words{"gpu", "time", "us"});
  CHECK(name_words("TimeMs") == Words{"time", "ms"});
  CHECK(name_words("latency(\xc2\xb5s)") == Words{"latency", "us"});
  CHECK(name_words("TFLOP/s") == Words{"tflop", "s"});
}

TEST_CASE("gemm csv: times and rates of all units become microseconds") {
  const auto time_of = [](const std::string& name, const std::string& value) {
    return csv_of("k,m,n," + name + "\n1000,100,10," + value + "\n").rows.at(0).microseconds;
  };
  for (const char* name : {"time_us", "latency(us)", "median_us", "us", "Time [usec]"})
    CHECK(time_of(name, "25") == Approx(25));
  CHECK(time_of("gpu_time_ms", "0.025") == Approx(25));
  CHECK(time_of("time_s", "2.5e-5") == Approx(25));
  CHECK(time_of("duration_ns", "25000") == Approx(25));
  // 2 x 100 x 10 x 1000 = 2e6 FLOP, at 80 GFLOP/s 25 us.
  CHECK(time_of("tflops", "0.08") == Approx(25));
  CHECK(time_of("GFLOP/s", "80") == Approx(25));
}

TEST_CASE("gemm csv: any separator, quoted fields, comments and other columns") {
  const GemmCsv csv = csv_of(
      "# made by a script\n\"kernel\";\"M\";\"N\";\"K\";\"dtype\";\"layout\";\"time_us\"\n"
      "\"a;b\";128;256;512;\"bf16\";dgrad;7.5\n\n128x;64;32;16;fp16;;2\n");
  CHECK(csv.header_line == 2);
  REQUIRE(csv.rows.size() == 2);
  CHECK(csv.rows[0].line == 3);
  CHECK(csv.rows[0].m == 128);
  CHECK(csv.rows[0].n == 256);
  CHECK(csv.rows[0].k == 512);
  CHECK(csv.rows[0].dtype == "bf16");
  CHECK(csv.rows[0].layout == "dgrad");
  CHECK(csv.rows[1].line == 5);
  CHECK(csv.has_dtype);
  CHECK(csv_of("m\tn\tk\ttime_us\n1\t2\t3\t4\n").rows.at(0).k == 3);
  CHECK_FALSE(is_gemm_csv("batch_size,N,K,tflops\n"));
  CHECK_FALSE(is_gemm_csv("# nThread 1 nGpus 8\n"));
}

TEST_CASE("gemm csv: a CSV of nvbench, with the cold time, its device, samples and skipped rows") {
  const GemmCsv csv = csv_of(
      "Benchmark,Device,Device Name,T,m (pow2),m,n,k,Skipped,Samples,CPU Time (sec),Noise,GPU Time "
      "(sec),Noise,Elem/s "
      "(elem/sec),Samples,Batch GPU (sec)\n"
      "gemm,0,NVIDIA H200,BF16,2^10,1024,4096,4096,No,500,6e-5,0.01,5.5e-5,0.02,1e12,900,5.0e-5\n"
      "gemm,0,NVIDIA H200,BF16,2^11,2048,4096,4096,Yes,,,,,,,,\n");
  REQUIRE(csv.rows.size() == 1);
  CHECK(csv.rows[0].microseconds == Approx(55));
  CHECK(csv.rows[0].samples == 500);
  CHECK(csv.rows[0].gpu == "NVIDIA H200");
  CHECK(csv.rows[0].dtype == "BF16");
  CHECK(csv.skipped == 1);
}

TEST_CASE("gemm csv: of several times the median counts, then that of the GPU; other times do not") {
  const auto time_of = [](const std::string& names) {
    return csv_of("m,n,k," + names + "\n1,1,1,2,3\n").rows.at(0).microseconds;
  };
  CHECK(time_of("min_us,median_us") == Approx(3));
  CHECK(time_of("cpu_time_us,time_us") == Approx(3));
  CHECK(time_of("time_us,gpu_time_us") == Approx(3));
  CHECK(time_of("ops_per_sec,time_us") == Approx(3));
  CHECK(time_of("GFLOP,time_us") == Approx(3));
  CHECK(time_of("setup_us,time_us") == Approx(3));
  // 2 x 1000^3 operations in 1000 us are 2 TFLOP/s.
  CHECK(csv_of("m,n,k,tflops,time_us\n1000,1000,1000,2.01,1000\n").rows.at(0).microseconds == Approx(1000));
  CHECK(error_of_csv("m,n,k,tflops,time_ms\n1000,1000,1000,2,1000\n") ==
        ":2: the time means 0.002 TFLOP/s, but the rate beside it is 2 TFLOP/s; remove the wrong column");
  CHECK(error_of_csv("m,n,k,time_us\n8192,8192,8192,1.5\n") ==
        ":2: the GEMM runs at 733008 TFLOP/s, more than any GPU does; correct the unit in the header");
  CHECK(error_of_csv("m,n,k,kernel,time_us\n8,8,8,cublas,2\n8,8,8,naive,9\n") ==
        ":3: is of naive, but line 2 has the same shape of cublas; keep the rows of one of them");
  CHECK(csv_of("m,n,k,kernel,time_us\n8,8,8,cublas,2\n8,8,9,naive,9\n").rows.size() == 2);
  CHECK(error_of_csv("m,n,k,num_groups,time_us\n8,8,8,4,2\n").starts_with(":2: batch is \"4\""));
  CHECK(error_of_csv("m,n,k,fp16_us,fp32_us\n1,1,1,2,3\n") ==
        ":1: has several columns of times or rates (\"fp16_us\", \"fp32_us\"); keep only one of them");
}

TEST_CASE("gemm csv: a header that leaves a question open is refused") {
  CHECK(error_of_csv("m,n,k,time\n1,1,1,2\n") ==
        ":1: the column \"time\" has no unit; rename it, for example to time_us");
  CHECK(error_of_csv("m,n,k,size\n1,1,1,2\n") ==
        ":1: has no column of times or rates; add one, for example time_us or tflops");
  CHECK(error_of_csv("m,n,k,time_us\n") == ": has no rows with times");
}

TEST_CASE("gemm csv: wrong rows are errors with their line; a cut last row is left out") {
  const std::string header = "m,n,k,batch,time_us\n";
  CHECK(error_of_csv(header + "1,2.5,3,1,2\n") ==
        ":2: n is \"2.5\", but must be a whole number from 1 to 2^32");
  CHECK(error_of_csv(header + "1,2,3,1,OOM\n") ==
        ":2: the time or rate is \"OOM\", but must be a number above 0; remove the row");
  CHECK(error_of_csv(header + "1,2,3,16,2\n") ==
        ":2: batch is \"16\", but only single GEMMs have tables; remove the rows of batched ones");
  CHECK(error_of_csv(header + "1,2,3\n1,2,3,1,2\n") ==
        ":2: does not have as many fields as the header; correct or remove the row");
  CHECK(error_of_csv(header + "1,2,3,1,2\n1,2,3\n") ==
        ":3: does not have as many fields as the header; correct or remove the row");
  const GemmCsv cut = csv_of(header + "1,2,3,1,2\n1,2");
  CHECK(cut.rows.size() == 1);
  CHECK(cut.cut_line == 3);
}

}  // namespace goodput
