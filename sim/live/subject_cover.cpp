#include "sim/live/subject_cover.h"

#include <fmt/format.h>

#include <algorithm>

namespace goodput {
namespace {

std::string host_in(const JobLayout& layout, const Verdict::Worker& worker) {
  const std::size_t index = worker.dp * static_cast<std::size_t>(layout.pp_size) + worker.stage;
  return index < layout.hosts.size() ? layout.hosts[index] : worker.host;
}

bool is_end_of(const Verdict::Link& link, const Verdict::Worker& worker) {
  return (worker.stage == link.from || worker.stage == link.to) && (!link.dp || *link.dp == worker.dp);
}

bool is_in(const Verdict& outer, const Verdict::Worker& worker, const JobLayout& layout) {
  const Verdict::Subject& subject = outer.subject;
  if (subject.type == "job") return true;
  if (subject.type == "worker") return subject.key == fmt::format("worker:{}:{}", worker.dp, worker.stage);
  if (subject.type == "replica") return subject.key == fmt::format("replica:{}", worker.dp);
  if (subject.type == "stage") return subject.key == fmt::format("stage:{}", worker.stage);
  if (subject.type == "host") return subject.key == "host:" + host_in(layout, worker);
  if (outer.link) return is_end_of(*outer.link, worker);
  return std::ranges::any_of(outer.workers, [&worker](const Verdict::Worker& one) {
    return one.dp == worker.dp && one.stage == worker.stage;
  });
}

}  // namespace

bool covers(const Verdict& outer, const Verdict& inner, const JobLayout& layout) {
  if (outer.subject == inner.subject) return true;
  if (inner.subject.type == "job") return false;
  // Those of a stage that is uneven are all of its workers, which the verdict does not list.
  if (inner.workers.empty()) return outer.subject.type == "job";
  return std::ranges::all_of(inner.workers,
                             [&](const Verdict::Worker& worker) { return is_in(outer, worker, layout); });
}

}  // namespace goodput
