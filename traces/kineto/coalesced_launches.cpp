#include "traces/kineto/coalesced_launches.h"

#include <limits>
#include <map>
#include <optional>
#include <string_view>

namespace goodput {
namespace {

// A launch without a kernel, and the nearest ones with a kernel.
struct LoneLaunch {
  std::size_t record = 0;
  std::optional<std::size_t> before;
  std::optional<std::size_t> behind;
};

class CarrierFinder {
 public:
  CarrierFinder(const KinetoEvents& events, std::span<const CommRecord> records)
      : events_(events), records_(records) {
    std::map<std::uint32_t, std::vector<std::size_t>> by_group;
    for (std::size_t i = 0; i < records.size(); ++i) by_group[records[i].args->group_name].push_back(i);
    for (const auto& entry : by_group) add_lone_launches(entry.second);
  }

  [[nodiscard]] std::vector<std::vector<std::size_t>> find() const {
    std::size_t nearer_before = 0;
    for (const LoneLaunch& one : lone_) {
      if (apart(one, one.before) < apart(one, one.behind)) ++nearer_before;
    }
    const bool is_linked_to_first = 2 * nearer_before > lone_.size();
    std::vector<std::vector<std::size_t>> carried(records_.size());
    for (const LoneLaunch& one : lone_) {
      const std::optional<std::size_t>& usual = is_linked_to_first ? one.before : one.behind;
      const std::optional<std::size_t>& carrier = usual                ? usual
                                                  : is_linked_to_first ? one.behind
                                                                       : one.before;
      if (carrier) carried[*carrier].push_back(one.record);
    }
    return carried;
  }

 private:
  [[nodiscard]] std::string_view name_of(std::size_t record) const {
    return events_.names[records_[record].args->collective];
  }

  // `places`: the records of a group, ascending.
  void add_lone_launches(const std::vector<std::size_t>& places) {
    std::optional<std::size_t> before;
    std::vector<std::size_t> waiting;  // into lone_: those with nothing behind them yet
    for (const std::size_t record : places) {
      const CommRecord& own = records_[record];
      const std::string_view name = name_of(record);
      if (own.has_kernel) {
        for (const std::size_t one : waiting) lone_[one].behind = record;
        waiting.clear();
        before = record;
      } else if (name == "wait") {
        waiting.clear();
        before.reset();
      } else if (is_launch(name) && own.args->group_size != 1) {
        waiting.push_back(lone_.size());
        lone_.push_back({record, before, std::nullopt});
      }
    }
  }

  static bool is_launch(std::string_view name) {
    return name != "init" && !name.starts_with("startCoalescing") && !name.starts_with("endCoalescing");
  }

  [[nodiscard]] std::int64_t apart(const LoneLaunch& one, const std::optional<std::size_t>& other) const {
    if (!other) return std::numeric_limits<std::int64_t>::max();
    const std::int64_t difference = records_[*other].begin_ns - records_[one.record].begin_ns;
    return difference < 0 ? -difference : difference;
  }

  const KinetoEvents& events_;
  std::span<const CommRecord> records_;
  std::vector<LoneLaunch> lone_;
};

}  // namespace

std::vector<std::vector<std::size_t>> carried_launches(const KinetoEvents& events,
                                                       std::span<const CommRecord> records) {
  return CarrierFinder(events, records).find();
}

}  // namespace goodput
