// Lists of faults in all forms: CSV, JSON, events of Slurm.
#include "traces/faults/fault_reader.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/index.h"
#include "tests/traces/faults/log_text.h"
#include "traces/faults/job_faults.h"

namespace goodput::testing {
namespace {

// "n1 0-60 gpu" of every fault, in seconds from the first time.
std::vector<std::string> faults_of(const FailureLog& log) {
  std::vector<std::string> texts;
  for (const LoggedFault& fault : log.faults.faults) {
    const auto seconds = [&log](SimTime time) { return fmt::format("{:g}", to_seconds(time - log.first)); };
    texts.push_back(fmt::format("{} {}-{} {}", log.faults.nodes[index(fault.node)], seconds(fault.begin),
                                fault.end ? seconds(*fault.end) : "?",
                                fault.cause < 0 ? "" : log.faults.causes[index(fault.cause)]));
  }
  return texts;
}
using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("failure logs: columns may have any order and any usual name") {
  const Texts expected = {"n1 0-60 gpu", "n2 30-90 nic"};
  CHECK(faults_of(read_log("node,start,end,cause\nn1,100,160,gpu\nn2,130,190,nic\n")) == expected);
  CHECK(faults_of(read_log("Reason;Host Name;Up At;Down At\ngpu;n1;160;100\nnic;n2;190;130\n")) == expected);
  CHECK(faults_of(read_log(
            "hostname\tdown_time_min\tfailed_at\tcause\nn1\t1\t100\tgpu\nn2\t1\t130\tnic\n")) == expected);
  CHECK(faults_of(read_log("node,start,Down Time (minutes),cause\nn1,100,1,gpu\nn2,130,1,nic\n")) ==
        expected);
  CHECK(faults_of(read_log("node,start,down_min,cause\nn1,100,1,gpu\nn2,130,1,nic\n")) == expected);
  CHECK(faults_of(read_log("fqdn,down_s,up_s,type\nn1,100,160,gpu\nn2,130,190,nic\n")) == expected);
  CHECK(faults_of(read_log("cause,ttr_s,machine_id,t_s\ngpu,60,n1,100\nnic,60,n2,130\n")) == expected);
}

TEST_CASE("failure logs: dates, quotes, comments, blank lines and CRLF") {
  const std::string text =
      "\xef\xbb\xbf# written by the operators\r\nnode,start,end,cause\r\n"
      "n1,2026-10-02T00:00:00,2026-10-02T00:01:00,\"GPU \"\"Xid\"\", 79\"\r\n\r\nn2,2026-10-02 "
      "00:00:30,,\r\n";
  const FailureLog log = read_log(text);
  CHECK(log.has_dates);
  CHECK(faults_of(log) == Texts{"n1 0-60 GPU \"Xid\", 79", "n2 30-? "});
}

TEST_CASE("failure logs: JSON as a list, in an object, or an object per line") {
  const Texts expected = {"n1 0-60 gpu", "n2 30-? "};
  CHECK(faults_of(read_log(
            R"([{"node": "n1", "start": 100, "end": 160, "cause": "gpu"}, {"node": "n2", "start": 130}])")) ==
        expected);
  CHECK(faults_of(
            read_log(R"({"cluster": "a", "faults": [{"node": "n1", "start": 100, "end": 160, "cause": "gpu"},
                               {"end": null, "start": 130, "node": "n2"}]})")) == expected);
  CHECK(faults_of(read_log("{\"node\": \"n1\", \"start\": 100, \"end\": 160, \"cause\": \"gpu\"}\n"
                           "{\"node\": \"n2\", \"start\": 130}\n")) == expected);
  CHECK(
      faults_of(read_log(R"([{"where": {"node": "n1"}, "time": {"start": 100, "end": 160}, "cause": "gpu"}])",
                         {.columns = {{"node", "where.node"}}})) == Texts{"n1 0-60 gpu"});
}

TEST_CASE("failure logs: events of Slurm are faults unless they are planned") {
  const std::string head = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User|\n";
  const FailureLog log =
      read_log(head +
               "hpc|n001|2025-03-01T10:00:00|2025-03-01T10:01:00|DOWN*|Not responding|slurm(0)|\n"
               "hpc|n007|2025-03-01T10:00:30|Unknown|DRAIN|gpu xid 79|root(0)|\n"
               "hpc|n008|2025-03-01T10:00:30|2025-03-01T10:01:00|MAINT|upgrade|root(0)|\n"
               "hpc|n009|2025-03-01T10:00:30|2025-03-01T10:01:00|DOWN$|upgrade|root(0)|\n"
               "hpc||2025-03-01T00:00:00|Unknown||Cluster Registered TRES|slurm(0)|\n");
  CHECK(faults_of(log) == Texts{"n001 0-60 Not responding", "n007 30-? gpu xid 79"});
  CHECK(log.left_out == std::map<std::string, std::int64_t>{
                            {"state MAINT", 1}, {"state DOWN$", 1}, {"about the whole cluster", 1}});
}

TEST_CASE("failure logs: columns of fixed width as Slurm prints them") {
  const FailureLog log = read_log(
      "   Cluster NodeName                  TimeStart             TimeEnd  State                         "
      "Reason \n"
      "---------- --------------- ------------------- ------------------- ------ "
      "------------------------------ \n"
      "      prod n058            2026-03-01T18:22:41 2026-03-01T18:23:41  DOWN*                 Not "
      "responding \n"
      "      prod                 2026-03-01T00:00:00             Unknown               Cluster Registered "
      "TRES \n");
  CHECK(faults_of(log) == Texts{"n058 0-60 Not responding"});
}

TEST_CASE("failure logs: the row about the cluster states its number of nodes") {
  const FailureLog log = read_log(
      "NodeName|TimeStart|TimeEnd|State|TRES\n|2025-03-01T00:00:00|Unknown||billing=9,cpu=8192,node=128\n"
      "n1|2025-03-01T10:00:00|Unknown|DOWN|\n");
  CHECK(log.faults.cluster_nodes == 128);
}

TEST_CASE("failure logs: separate rows for the start and the end of a fault are paired") {
  const Texts expected = {"a 0-60 ", "b 10-90 ", "a 100-? "};
  CHECK(faults_of(read_log("time,node,state\n1,a,DOWN\n11,b,DOWN\n61,a,UP\n91,b,UP\n101,a,DOWN\n")) ==
        expected);
  CHECK(
      faults_of(read_log("event_type,node_id,event_time\nfault_end,b,91\nfault_start,a,1\nfault_start,a,101\n"
                         "fault_start,b,11\nfault_end,a,61\n")) == Texts{"a 0-60 ", "a 100-? ", "b 10-90 "});
  const FailureLog log = read_log("time,node,event\n1,a,resolved\n2,a,firing\n5,a,resolved\n");
  CHECK(faults_of(log) == Texts{"a 1-4 "});
  CHECK(log.left_out.at("ends of faults that began before the log") == 1);
  // A repeated start ends with the fault.
  CHECK(faults_of(read_log("time,node,state\n1,a,down\n5,a,down\n9,a,up\n")) == Texts{"a 0-8 ", "a 4-8 "});
  CHECK(log_error("time,node,state\n1,a,down\n5,a,slow\n9,a,up\n") ==
        "log:3: state is \"slow\", but other rows start or end faults; remove rows that do neither");
}

TEST_CASE("failure logs: a column that only describes faults pairs nothing") {
  CHECK(faults_of(read_log("node,start,status\na,1,closed\nb,2,closed\n")) == Texts{"a 0-? ", "b 1-? "});
}

TEST_CASE("failure logs: nested keys, units and time zones in names of columns") {
  CHECK(faults_of(read_log(
            R"([{"fields": {"host": "a", "created": 3}, "startDate": 100, "resolutiondate": 160}])")) ==
        Texts{"a 0-60 "});
  CHECK(faults_of(read_log("Node;Start Time (UTC);duration_us\na;100;60000000\n")) == Texts{"a 0-60 "});
}

TEST_CASE("failure logs: down times count where ends are missing, and must agree with the ends") {
  CHECK(faults_of(read_log("node,start,end,downtime_min\na,100,160,1\nb,100,,2\n")) ==
        Texts{"a 0-60 ", "b 0-120 "});
  CHECK(read_log("node,start,end,downtime\na,100,7300,120\n").columns ==
        Texts{"node: node", "start: start", "end: end"});
  CHECK(log_error("node,start,end,downtime\na,100,7300,120\nb,100,,120\n") ==
        "log:2: downtime does not agree with start and end; give its name a unit, for example downtime_min, "
        "or remove "
        "the column");
}

TEST_CASE("failure logs: what people paste along is passed over") {
  CHECK(faults_of(read_log("sep=;\nnode;start;end\na;100;160\n")) == Texts{"a 0-60 "});
  CHECK(faults_of(read_log("$ sacctmgr -P list event\nNodeName|TimeStart|TimeEnd|State|Reason|User\n"
                           "a|100|160|DOWN*|disk | full|root(0)\n")) == Texts{"a 0-60 disk|full"});
}

TEST_CASE("failure logs: a row may name several nodes") {
  CHECK(faults_of(read_log("node|start|end\nn[1-2]|0|60\n")) == Texts{"n1 0-60 ", "n2 0-60 "});
}

TEST_CASE("failure logs: --column says which column is which") {
  const FailureLog log =
      read_log("x,start,end,y\nn1,100,160,130\n", {.columns = {{"node", "x"}, {"end", "y"}}});
  CHECK(faults_of(log) == Texts{"n1 0-30 "});
  CHECK(log.columns == Texts{"node: x", "start: start", "end: y"});
  CHECK(log.unused_columns == Texts{"end"});
  // In any case; an empty name: none.
  CHECK(faults_of(read_log("node,start,end\nn1,100,160\n", {.columns = {{"start", "START"}, {"end", ""}}})) ==
        Texts{"n1 0-? "});
}

TEST_CASE("failure logs: what does not make sense is refused with its place") {
  CHECK(log_error("node,when,end\nn1,0,5\n") ==
        "log: has no column for the start of a fault; say which one it is with column start=NAME; its "
        "columns are: "
        "node, when, end");
  CHECK(log_error("x,start\nn1,0\n") ==
        "log: has no column for the node; say which one it is with column node=NAME; its columns are: x, "
        "start");
  CHECK(log_error("node,start\nn1,0\n", {.columns = {{"start", "strat"}}}) ==
        "log: has no column \"strat\" for the start; did you mean \"start\"?; its columns are: node, start");
  CHECK(log_error("node,start,end\nn1,10,5\n") ==
        "log:2: end (5) is before start (10); correct or remove the row");
  CHECK(log_error("node,start,end\nn1,10\n") == "log:2: has 2 fields, but must have 3, as line 1");
  CHECK(log_error("node,start\n\"n1,10\n") == "log:2: a field has an opening quote without a closing quote");
  CHECK(log_error("node,start\nn1,2026-10-02\nn2,90\n") ==
        "log:3: start is \"90\", but times before it are dates; use one form of time in all files");
  CHECK(log_error("node,start\nn1,2026-10-02T00:00:00\nn2,2026-10-02T00:00:00Z\n") ==
        "log:3: start is \"2026-10-02T00:00:00Z\", but other times of the file lack a time zone; give all or "
        "none a "
        "time zone");
  CHECK(log_error("node,start,downtime\na,1000000000,8100000000\n") ==
        "log:2: downtime is 8100000000, which ends after the year 2250; check its unit");
  CHECK(log_error("nodes,start,end\n1,10,50\n") ==
        "log:2: nodes is 1, which looks like a number of nodes; say which column has the name of the node");
  CHECK(log_error("NodeName        TimeStart TimeEnd \n--------------- --------- ------- \ngpu-a100-node-+ "
                  "100       160     "
                  "\n") ==
        "log:3: NodeName is cut (\"gpu-a100-node-+\"), so that nodes cannot be told apart; print the list "
        "with -P");
  CHECK(log_error("node,start\n,5\n") ==
        "log:2: node must be a name of 1 to 256 characters without quotes, not \"\"");
  CHECK(log_error("") == "log: has no header and no rows");
  CHECK(log_error("[1]") == "log /0: must be an object that describes a fault");
  CHECK(log_error("{\"a\": 1}") ==
        "log: must be a list of faults, or an object with exactly one list of objects");
  CHECK(log_error("Cluster   NodeName   TimeStart\nhpc  n1  x\n") ==
        "log:1: has columns of fixed width without the line of dashes below their names; print it with -P");
  CHECK(log_error(R"([{"node": "n1", "start": "soon"}])") ==
        "log /0: start must be a date like 2026-10-02T03:11:09 or a number of seconds, not \"soon\"");
}

TEST_CASE("failure logs: the content tells lists of faults from lists of jobs and from other CSV") {
  CHECK(is_fault_list("node,start,end\n"));
  CHECK(is_fault_list("[{\"node\": \"n1\", \"start\": 1, \"end\": 2}]"));
  CHECK_FALSE(is_fault_list("t_s,event,node\n"));
  CHECK_FALSE(is_fault_list("dp_rank,stage,rank,step,optype,start_ts,duration\n"));
  // The beginning of a file comes without its leading blanks.
  CHECK(
      is_fault_list("Cluster NodeName                  TimeStart             TimeEnd  State \n"
                    "---------- --------------- ------------------- ------------------- ------ \n"));
  CHECK(is_job_list("JobID|State|Start|End\n"));
  CHECK_FALSE(is_fault_list("JobID|State|Start|End|NodeList\n"));
}

TEST_CASE("failure logs: those that users have are read") {
  const std::string folder = GOODPUT_SHARED_DATA "/inputs/";
  if (!std::filesystem::exists(folder + "faults.csv")) {
    MESSAGE("skipped: no shared data");
    return;
  }
  const auto read = [&folder](const std::string& name) {
    FailureLog log;
    const Status status = read_failure_log(folder + name, {}, log);
    INFO((status ? "" : status.error().message()));
    REQUIRE(status);
    return log;
  };
  // By hand: 2025-03-01 10:00 to 18:30, and a day later 10:00 to 11:30.
  CHECK(faults_of(read("faults.csv")) == Texts{"n1 0-30600 gpu", "n2 86400-91800 nic"});
  CHECK(read("failures.csv").faults.faults.size() == 3);
  const FailureLog events = read("slurm_events.txt");
  CHECK(events.faults.faults.size() == 2);
  CHECK(events.left_out.at("about the whole cluster") == 1);
  const auto lost = job_faults(read("sacct.txt"), {});
  REQUIRE(lost);
  // Jobs 1001 and 1003; the next allocations lack n058 and n129.
  CHECK(lost->history.nodes == Texts{"n058", "n129"});
  CHECK(lost->failed_jobs == 1);
  // 128 nodes for 97,869 + 114,300 + 136,080 + 341,400 s.
  CHECK(node_seconds(lost->history.up_time) == 128.0 * (97869 + 114300 + 136080 + 341400));
}

}  // namespace goodput::testing
