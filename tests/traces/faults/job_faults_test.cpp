// Lost nodes in the output of sacct.
#include "traces/faults/job_faults.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/base/index.h"
#include "tests/traces/faults/log_text.h"

namespace goodput::testing {
namespace {

constexpr const char* kHead = "JobID|JobName|State|NNodes|NodeList|Start|End|ExitCode\n";

JobFaults faults_in(const std::string& rows, const JobFaultOptions& options = {}) {
  const auto found = job_faults(read_log(kHead + rows), options);
  REQUIRE_MESSAGE(found, (found ? "" : found.error().message()));
  return *found;
}

std::vector<std::string> lost_nodes(const JobFaults& found) {
  std::vector<std::string> names;
  for (const NodeFault& fault : found.history.faults)
    names.push_back(fault.node == kUnnamedNode ? "?" : found.history.nodes[index(fault.node)]);
  return names;
}
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("sacct: a lost node is the only one that the next job of the name lacks") {
  const std::string lost = "1|train|NODE_FAIL|4|n[1-4]|2026-10-01T00:00:00|2026-10-02T00:00:00|1:0\n";
  CHECK(lost_nodes(faults_in(
            lost + "2|train|COMPLETED|4|n[1-2,4-5]|2026-10-02T00:10:00|2026-10-03T00:00:00|0:0\n")) ==
        Names{"n3"});
  // Of another name; the same nodes; two nodes less; nothing after it.
  CHECK(lost_nodes(faults_in(
            lost + "2|other|COMPLETED|4|n[1-2,4-5]|2026-10-02T00:10:00|2026-10-03T00:00:00|0:0\n")) ==
        Names{"?"});
  CHECK(lost_nodes(
            faults_in(lost + "2|train|COMPLETED|4|n[1-4]|2026-10-02T00:10:00|2026-10-03T00:00:00|0:0\n")) ==
        Names{"?"});
  CHECK(lost_nodes(faults_in(
            lost + "2|train|COMPLETED|4|n[1-2,5-6]|2026-10-02T00:10:00|2026-10-03T00:00:00|0:0\n")) ==
        Names{"?"});
  CHECK(lost_nodes(faults_in(lost)) == Names{"?"});
}

TEST_CASE("sacct: exposure is the time that jobs held nodes, and steps do not count twice") {
  const JobFaults found = faults_in(
      "1|a|COMPLETED|4|n[1-4]|2026-10-01T00:00:00|2026-10-02T00:00:00|0:0\n"
      "1.batch|batch|COMPLETED|1|n1|2026-10-01T00:00:00|2026-10-02T00:00:00|0:0\n"
      "2|a|PENDING|8|None assigned|Unknown|Unknown|0:0\n"
      "3|a|RUNNING|2|n[1-2]|2026-10-02T00:00:00|Unknown|0:0\n"
      "4|a|NODE_FAIL|1|n9|2026-10-02T12:00:00|2026-10-03T00:00:00|1:0\n");
  // 4 days of nodes, then 2 nodes for the day until the last time in the list, then half a day.
  CHECK(node_seconds(found.history.up_time) == doctest::Approx(86400 * (4 + 2 + 0.5)));
  CHECK(found.history.faults.size() == 1);
  CHECK(found.history.cluster_nodes == 5);
  CHECK_FALSE(found.history.has_repairs);
}

TEST_CASE("sacct: jobs that are in several lists count once") {
  const std::string running = "1|a|RUNNING|4|n[1-4]|2026-10-01T00:00:00|Unknown|0:0\n";
  const std::string ended = "1|a|NODE_FAIL|4|n[1-4]|2026-10-01T00:00:00|2026-10-02T00:00:00|1:0\n";
  const JobFaults found = faults_in(running + ended + ended);
  CHECK(found.history.faults.size() == 1);
  CHECK(found.history.merged == 2);
  CHECK(node_seconds(found.history.up_time) == 4 * 86400);
  // Requeued after the loss: the same id, but another start.
  CHECK(faults_in(ended + "1|a|NODE_FAIL|4|n[1-4]|2026-10-03T00:00:00|2026-10-04T00:00:00|1:0\n")
            .history.faults.size() == 2);
}

TEST_CASE(
    "sacct: the next job must be of the same user and begin within a day; a job on one node lost that node") {
  const std::string lost = "1|a|NODE_FAIL|2|n[1-2]|2026-10-01T00:00:00|2026-10-02T00:00:00|1:0\n";
  CHECK(lost_nodes(faults_in(
            lost + "2|a|COMPLETED|2|n[1,3]|2026-10-09T00:00:00|2026-10-10T00:00:00|0:0\n")) == Names{"?"});
  CHECK(lost_nodes(faults_in("1|a|NODE_FAIL|1|n7|2026-10-01T00:00:00|2026-10-02T00:00:00|1:0\n")) ==
        Names{"n7"});
  const FailureLog users = read_log(
      "JobID|JobName|User|State|NNodes|NodeList|Start|End\n"
      "1|a|x|NODE_FAIL|2|n[1-2]|2026-10-01T00:00:00|2026-10-02T00:00:00\n"
      "2|a|y|COMPLETED|2|n[1,3]|2026-10-02T00:00:00|2026-10-03T00:00:00\n");
  CHECK(lost_nodes(*job_faults(users, {})) == Names{"?"});
}

TEST_CASE("sacct: fewer nodes than jobs used are refused") {
  const auto found = job_faults(
      read_log(std::string(kHead) + "1|a|NODE_FAIL|4|n[1-4]|2026-10-01T00:00:00|2026-10-02T00:00:00|1:0\n"),
      {.history = {.nodes = 3}});
  REQUIRE_FALSE(found);
  CHECK(found.error().what.ends_with(" 3 is less than the 4 nodes that jobs used; correct it"));
}

TEST_CASE("sacct: jobs in state FAILED count only if asked for") {
  const std::string rows =
      "1|a|FAILED|4|n[1-4]|2026-10-01T00:00:00|2026-10-02T00:00:00|1:0\n"
      "2|a|CANCELLED by 1000|4|n[1-4]|2026-10-02T00:00:00|2026-10-03T00:00:00|0:0\n";
  CHECK(faults_in(rows).history.faults.empty());
  CHECK(faults_in(rows).failed_jobs == 1);
  CHECK(faults_in(rows, {.counts_failed = true}).history.faults.size() == 1);
}

TEST_CASE("sacct: the layout of fixed width cuts long lists of nodes, which then name nobody") {
  const FailureLog log = read_log(
      "JobID           JobName      State   NNodes        NodeList               Start                 End \n"
      "------------ ---------- ---------- -------- --------------- ------------------- ------------------- \n"
      "1001          train_70b  NODE_FAIL       64 n[001-057,059-+ 2026-03-01T10:00:00 2026-03-01T22:00:00 \n"
      "1002          train_70b  COMPLETED       64      n[001-064] 2026-03-01T22:00:00 2026-03-02T10:00:00 "
      "\n");
  REQUIRE(log.jobs.size() == 2);
  CHECK(log.jobs[0].nodes == 64);
  CHECK(log.jobs[0].node_list.empty());
  CHECK(log.jobs[1].node_list == "n[001-064]");
}

TEST_CASE("sacct: a comma may separate columns, although lists of nodes have commas") {
  const FailureLog log = read_log(
      "JobID,State,NNodes,NodeList,Start,End\n7,NODE_FAIL,3,n[1-2,4],2026-03-01T10:00:00,2026-03-01T22:00:"
      "00\n");
  REQUIRE(log.jobs.size() == 1);
  CHECK(log.jobs[0].node_list == "n[1-2,4]");
}

TEST_CASE("sacct: --json and the column FailedNode") {
  const FailureLog log = read_log(R"({"meta": {}, "warnings": [{"code": 1}], "jobs": [
      {"job_id": 7, "name": "a", "state": {"current": ["NODE_FAIL"], "reason": "None"}, "nodes": "n[1-4]",
       "allocation_nodes": 4, "failed_node": "n2",
       "time": {"start": {"set": true, "infinite": false, "number": 1790812800}, "end": 1790899200}},
      {"job_id": 8, "name": "a", "state": {"current": ["RUNNING"]}, "nodes": "n[1-4]", "allocation_nodes": 4,
       "failed_node": "", "time": {"start": 1790899300, "end": 0}}]})");
  const auto found = job_faults(log, {});
  REQUIRE(found);
  CHECK(lost_nodes(*found) == Names{"n2"});
  CHECK(node_seconds(found->history.up_time) == 4 * 86400);
}

TEST_CASE("sacct: missing columns and senseless rows are refused") {
  CHECK(log_error("JobID|JobName|State\n1|a|NODE_FAIL\n") ==
        "log: is a list of jobs without the column start; list them with: sacct -P -o "
        "JobID,JobName,State,NNodes,NodeList,Start,End");
  const std::string head = kHead;
  CHECK(
      log_error(head + "1|a|FAILED|4|n[1-4]|2026-10-02T00:00:00|2026-10-01T00:00:00|1:0\n") ==
      "log:2: ends (2026-10-01T00:00:00) before it starts (2026-10-02T00:00:00); correct or remove the row");
  CHECK(log_error(head + "1|a|FAILED|many|n1|2026-10-01T00:00:00|2026-10-02T00:00:00|1:0\n") ==
        "log:2: NNodes must be a number of nodes, not \"many\"");
  CHECK(log_error("JobID|State|NodeList|Start|End\n1|FAILED|None "
                  "assigned|2026-10-01T00:00:00|2026-10-02T00:00:00\n") ==
        "log:2: NodeList does not name the nodes; add the column NNodes");
  const auto none =
      job_faults(read_log(head + "1|a|FAILED|0||2026-10-01T00:00:00|2026-10-02T00:00:00|1:0\n"), {});
  REQUIRE_FALSE(none);
  CHECK(none.error().what == "has no job that held nodes between the start and the end of the observation");
}

}  // namespace goodput::testing
