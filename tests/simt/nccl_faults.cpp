#include "tests/simt/nccl_faults.h"

#include <csignal>
#include <cstdlib>
#include <sstream>
#include <thread>

namespace simt {

namespace {

constexpr const char* kFaultsVariable = "SIMT_NCCL_FAULTS";

struct FaultState {
  ParsedNcclFaults ordered;
  int calls = 0;
};

ParsedNcclFaults faults_of_environment() {
  const char* const text = std::getenv(kFaultsVariable);
  return text == nullptr ? ParsedNcclFaults{} : parse_nccl_faults(text);
}

FaultState& fault_state() {
  static FaultState state{faults_of_environment(), 0};
  return state;
}

bool set_member(ParsedNcclFaults& parsed, const std::string& key, int value) {
  NcclFaults& faults = parsed.faults;
  if (key == "rank") {
    parsed.rank = value;
  } else if (key == "fail_call") {
    faults.fail_call = value;
  } else if (key == "fail_with") {
    faults.fail_with = static_cast<ncclResult_t>(value);
  } else if (key == "die_at_call") {
    faults.die_at_call = value;
  } else if (key == "delay_at_call") {
    faults.delay_at_call = value;
  } else if (key == "delay") {
    faults.delay = std::chrono::milliseconds(value);
  } else if (key == "corrupt_at_call") {
    faults.corrupt_at_call = value;
  } else if (key == "version") {
    faults.version = value;
  } else {
    return false;
  }
  return true;
}

}  // namespace

ParsedNcclFaults parse_nccl_faults(const std::string& text) {
  ParsedNcclFaults parsed;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const std::string number = equals == std::string::npos ? "" : word.substr(equals + 1);
    const bool is_number =
        !number.empty() && number.size() < 10 && number.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number || !set_member(parsed, word.substr(0, equals), std::atoi(number.c_str())))
      parsed.error = std::string(kFaultsVariable) + ": \"" + word +
                     "\" is none of rank, fail_call, fail_with, die_at_call, delay_at_call, delay, "
                     "corrupt_at_call, version=NUMBER";
  }
  return parsed;
}

void set_nccl_faults(const NcclFaults& faults) {
  fault_state() = {};
  fault_state().ordered.faults = faults;
}

void set_nccl_faults_of_environment() {
  fault_state() = {faults_of_environment(), 0};
}

int faulty_nccl_version() {
  return fault_state().ordered.faults.version;
}

std::string note_nccl_rank(int rank) {
  ParsedNcclFaults& ordered = fault_state().ordered;
  if (ordered.rank >= 0 && ordered.rank != rank) {
    NcclFaults others;
    others.version = ordered.faults.version;
    ordered.faults = others;
  }
  return ordered.error;
}

ncclResult_t count_nccl_call() {
  const NcclFaults& faults = fault_state().ordered.faults;
  const int call = ++fault_state().calls;
  if (call == faults.delay_at_call) std::this_thread::sleep_for(faults.delay);
  if (call == faults.die_at_call) std::raise(SIGKILL);
  return call == faults.fail_call ? faults.fail_with : ncclSuccess;
}

bool is_to_corrupt() {
  return fault_state().calls != 0 && fault_state().calls == fault_state().ordered.faults.corrupt_at_call;
}

}  // namespace simt
