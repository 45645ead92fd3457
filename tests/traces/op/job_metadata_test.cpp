#include "traces/op/job_metadata_file.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

// Of what the file at `content` holds, without the path in front.
std::string metadata_error(const std::string& content) {
  const TemporaryFile file("meta.yaml", content);
  const auto fields = read_job_metadata(file.path());
  REQUIRE_FALSE(fields);
  const std::string message = fields.error().message();
  REQUIRE(message.starts_with(file.path()));
  return message.substr(file.path().size());
}

TraceIndex index_of_ranks(std::vector<std::int32_t> ranks, int dp, int pp) {
  TraceIndex index;
  index.dp_size = dp;
  index.lane.pp_size = pp;
  index.ranks = std::move(ranks);
  return index;
}

}  // namespace

TEST_CASE("job metadata: YAML and JSON mean the same, unknown keys beside known ones are fine") {
  for (const char* text : {"trial_name: night\nrun_id: 3\ndp_size: 4\nowner: [a, b]\n",
                           R"({"trial_name": "night", "run_id": 3, "dp_size": 4, "owner": ["a"]})"}) {
    const TemporaryFile file("meta", text);
    const auto fields = read_job_metadata(file.path());
    REQUIRE(fields);
    CHECK(fields->trial_name == "night");
    CHECK(fields->run_id == 3);
    CHECK(fields->dp_size == 4);
    CHECK_FALSE(fields->pp_size);
  }
}

TEST_CASE("job metadata: what is left out comes from the rows") {
  // 2 dp ranks x 2 stages at ranks 0 4 8 12: four tensor-parallel peers a worker
  const JobMetadata job = complete_metadata({}, index_of_ranks({0, 8, 4, 12}, 2, 2), "trace");
  CHECK(job.trial_name == "trace");
  CHECK(job.tp_size == 4);
  CHECK(job.world_size == 16);
  CHECK(complete_metadata({}, index_of_ranks({0}, 1, 1), "trace").tp_size == 1);
}

TEST_CASE("job metadata: contradictions with the rows are named, both sides") {
  JobMetadataFields fields;
  fields.pp_size = 8;
  fields.world_size = 10;
  const TraceIndex index = index_of_ranks({0, 1}, 1, 2);
  CHECK(metadata_warnings(complete_metadata(fields, index, "t"), index) ==
        std::vector<std::string>{
            "the metadata has pp_size 8, but the trace has 2; using the value from the trace",
            "the metadata has world_size 10, but dp_size x dsp_size x pp_size x tp_size is 8"});
}

TEST_CASE("job metadata: replicas and stages that were not recorded are refused, fewer are not") {
  // A size of 0 is unknown.
  CHECK(check_recorded_sizes(0, 0, 2, 2));
  CHECK(check_recorded_sizes(1, 2, 2, 2));
  CHECK(check_recorded_sizes(0, 3, 2, 2).error().message() ==
        "/pp_size: is 3, but the trace contains only 2: stage 2 is missing; give all files of the job, or "
        "correct the metadata");
  CHECK(check_recorded_sizes(8, 3, 2, 2).error().message() ==
        "/dp_size: is 8, but the trace contains only 2: dp_ranks 2 to 7 are missing; give all files of the "
        "job, or correct the metadata");
}

TEST_CASE("job metadata: ranks have hosts, hosts have switches and racks") {
  for (const char* text : {"hosts: {0: a, 8: b}\nswitches:\n  a: leaf-1\n  b: leaf-1\nracks: {b: r7}\n",
                           R"({"hosts": {"0": "a", "8": "b"}, "switches": {"a": "leaf-1", "b": "leaf-1"},
                               "racks": {"b": "r7"}})"}) {
    const TemporaryFile file("meta", text);
    const auto fields = read_job_metadata(file.path());
    REQUIRE(fields);
    CHECK(fields->hosts == std::map<std::int64_t, std::string>{{0, "a"}, {8, "b"}});
    CHECK(fields->switches == std::map<std::string, std::string>{{"a", "leaf-1"}, {"b", "leaf-1"}});
    CHECK(fields->racks == std::map<std::string, std::string>{{"b", "r7"}});
  }
}

TEST_CASE("job metadata: hosts that are no names of ranks are refused") {
  const std::string want = "; expected a rank and the name of its host, such as 0: node-a";
  CHECK(metadata_error("hosts: [a, b]") ==
        " /hosts: must be a mapping to names, such as {0: node-a, 8: node-b}");
  CHECK(metadata_error("hosts: {node-a: 0}") == " /hosts: has node-a: \"0\"" + want);
  CHECK(metadata_error("hosts: {-1: a}") == " /hosts: has -1: \"a\"" + want);
  CHECK(metadata_error("hosts: {0: [a, b]}") == " /hosts: has 0: no name" + want);
  CHECK(metadata_error("hosts: {0: ''}") == " /hosts: has 0: \"\"" + want);
  CHECK(metadata_error("racks: {a: {}}") ==
        " /racks: has a: no name; expected a host and a name, such as node-a: leaf-1");
}

TEST_CASE("job metadata: mistakes are named with the place") {
  CHECK(metadata_error("dp_size: 0") == " /dp_size: must be an integer from 1 to 2147483647, not \"0\"");
  CHECK(metadata_error("dp_size: [4]") ==
        " /dp_size: must be an integer from 1 to 2147483647, not a list or mapping");
  CHECK(metadata_error("tp_size: 99999999999999999999") ==
        " /tp_size: must be an integer from 1 to 2147483647, not \"99999999999999999999\"");
  CHECK(metadata_error("- a\n- b") == ": must be a mapping of keys to values, such as dp_size: 4");
  CHECK(
      metadata_error("gpus: 8") ==
      ": has none of the keys trial_name, run_id, dp_size, dsp_size, pp_size, tp_size, vpp_size, world_size");
  CHECK(metadata_error("a: [1") == ":1: is neither YAML nor JSON: end of sequence flow not found");
  CHECK(metadata_error(std::string(1000, '[')) == ": is too deeply nested for job metadata");
  CHECK(metadata_error(std::string(2 << 20, 'x')) == ": is larger than 1048576 bytes; is it the right file?");
}

TEST_CASE("job metadata: absurd sizes do not overflow, comment rules do not nest") {
  const TemporaryFile file("meta", "# " + std::string(200, '-') + "\ndp_size: 2147483647\n");
  REQUIRE(read_job_metadata(file.path()));
  JobMetadataFields fields;
  fields.dp_size = fields.dsp_size = fields.pp_size = fields.tp_size = 2147483647;
  CHECK(complete_metadata(fields, index_of_ranks({0}, 1, 1), "").world_size == 9223372036854775807);
  std::string nested;
  for (int i = 0; i < 1000; ++i) nested += "- ";
  CHECK(metadata_error(nested) == ": is too deeply nested for job metadata");
}

TEST_CASE("job metadata: names that are no text become text") {
  const auto name = [](const std::string& given) { return file_stem(given + ".csv"); };
  CHECK(name("caf\xc3\xa9") == "caf\xc3\xa9");
  CHECK(name("a\x1b[2Jb\n") == "a?[2Jb?");
  CHECK(name("\xff\xc3\xa9") == "???");
}

TEST_CASE("job metadata: the stem of a file is its name without .gz and the extension") {
  CHECK(file_stem("runs/llama.3.70b.parquet") == "llama.3.70b");
  CHECK(file_stem("trace.csv.gz") == "trace");
  CHECK(file_stem("trace") == "trace");
}

TEST_CASE("job metadata: a job of several files is named after the folder that holds all of them") {
  const TemporaryFile file("run.7/t.csv");
  const std::filesystem::path run = std::filesystem::path(file.path()).parent_path();
  std::filesystem::create_directories(run / "node1");
  const std::string one = run / "node0.csv";
  const std::string deeper = run / "node1" / "a.csv";
  CHECK(job_name({one}) == "node0");
  CHECK(job_name({run}) == "run.7");
  CHECK(job_name({run.string() + "/"}) == "run.7");
  CHECK(job_name({run / "node1" / ".."}) == "run.7");
  CHECK(job_name({one, run / "node1.csv"}) == "run.7");
  CHECK(job_name({deeper, one}) == "run.7");
  CHECK(job_name({deeper, run / "node1" / "b.csv"}) == "node1");
  CHECK(job_name({run, deeper}) == "run.7");
  CHECK(job_name({one, "/t.csv"}) == "node0");
  CHECK(job_name({"a.csv", "b.csv"}) == std::filesystem::current_path().filename());
}

}  // namespace goodput
