#include "gpu/reference_cluster.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "gpu/element.h"
#include "gpu/reference_rows.h"

namespace goodput::gpu::reference {
namespace {

// The rank of every replica of an expert, in order.
std::vector<std::size_t> ranks_of_replicas(const Placement& placement, std::int32_t expert) {
  std::vector<std::size_t> ranks;
  for (std::int32_t rank = 0; rank < placement.ranks; ++rank)
    ranks.insert(ranks.end(), static_cast<std::size_t>(placement.replicas[placement.cell(rank, expert)]),
                 static_cast<std::size_t>(rank));
  return ranks;
}

// Capacity of every rank: as many whole rounds as there are, and the odd tokens one by one.
std::vector<moe::Tokens> deal_out(const Placement& placement, std::int32_t expert, moe::Tokens tokens) {
  std::vector<moe::Tokens> capacity(static_cast<std::size_t>(placement.ranks), 0);
  const std::vector<std::size_t> ranks = ranks_of_replicas(placement, expert);
  if (ranks.empty()) return capacity;
  const auto replicas = static_cast<std::int32_t>(ranks.size());
  for (const std::size_t rank : ranks) capacity[rank] += tokens / replicas;
  auto replica = static_cast<std::size_t>(moe::token_quota(expert, tokens, replicas).rotation);
  for (moe::Tokens odd = tokens % replicas; odd > 0; --odd) {
    ++capacity[ranks[replica]];
    replica = (replica + 1) % ranks.size();
  }
  return capacity;
}

std::vector<std::size_t> first_rows(const std::vector<std::int32_t>& rows_of_rank) {
  std::vector<std::size_t> first = {0};
  for (const std::int32_t rows : rows_of_rank) first.push_back(first.back() + static_cast<std::size_t>(rows));
  return first;
}

// Where the message between two ranks begins in the send buffer and in the receive buffer, and its rows.
struct Message {
  std::size_t source;
  std::size_t destination;
  std::size_t sent_at;
  std::size_t received_at;
  std::size_t rows;
};

std::vector<Message> messages_of(const std::vector<RankLayout>& layouts) {
  std::vector<std::vector<std::size_t>> received_at;
  for (const RankLayout& layout : layouts) received_at.push_back(first_rows(layout.receive_per_rank));
  std::vector<Message> messages;
  for (std::size_t source = 0; source < layouts.size(); ++source) {
    const std::vector<std::size_t> sent_at = first_rows(layouts[source].send_per_rank);
    for (std::size_t destination = 0; destination < layouts.size(); ++destination) {
      const std::size_t rows = sent_at[destination + 1] - sent_at[destination];
      if (rows == 0) continue;
      messages.push_back({source, destination, sent_at[destination], received_at[destination][source], rows});
    }
  }
  return messages;
}

template <class T>
void copy_rows(const std::vector<T>& from, std::size_t from_row, std::vector<T>& to, std::size_t to_row,
               std::size_t rows, int hidden) {
  const auto width = static_cast<std::size_t>(hidden);
  std::copy_n(from.data() + from_row * width, rows * width, to.data() + to_row * width);
}

template <class T>
std::vector<T> new_rows(std::int32_t rows, int hidden) {
  return std::vector<T>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(hidden));
}

template <class T>
void run_experts(const RankLayout& layout, std::int32_t me, int hidden, const ExpertFunction<T>& expert,
                 std::vector<T>& grouped) {
  const auto ranks = static_cast<std::size_t>(layout.ranks);
  for (std::size_t column = 0; column < layout.experts_here.size(); ++column)
    for (std::int32_t row = layout.group_offsets[column * ranks];
         row < layout.group_offsets[(column + 1) * ranks]; ++row)
      expert({me, layout.experts_here[column]},
             grouped.data() + static_cast<std::size_t>(row) * static_cast<std::size_t>(hidden));
}

}  // namespace

std::vector<moe::Tokens> enumerate_messages(const Placement& placement,
                                            const std::vector<moe::Tokens>& counts, std::int32_t expert,
                                            moe::Tokens multiplier) {
  const auto ranks = static_cast<std::size_t>(placement.ranks);
  moe::Tokens tokens = 0;
  for (std::int32_t rank = 0; rank < placement.ranks; ++rank) tokens += counts[placement.cell(rank, expert)];
  const std::vector<moe::Tokens> capacity = deal_out(placement, expert, tokens);

  std::vector<moe::Tokens> messages(ranks * ranks, 0);
  std::vector<std::size_t> sources;  // of every surplus token
  std::vector<std::size_t> hosts;    // of every residual place
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const moe::Tokens own = counts[placement.cell(static_cast<std::int32_t>(rank), expert)];
    const moe::Tokens local = std::min(own, capacity[rank]);
    messages[rank * ranks + rank] = local;
    sources.insert(sources.end(), static_cast<std::size_t>(own - local), rank);
    hosts.insert(hosts.end(), static_cast<std::size_t>(capacity[rank] - local), rank);
  }
  const moe::SurplusMap map = {static_cast<moe::Tokens>(sources.size()), multiplier};
  for (std::size_t token = 0; token < sources.size(); ++token) {
    const auto place = static_cast<std::size_t>(moe::residual_place(map, static_cast<moe::Tokens>(token)));
    ++messages[sources[token] * ranks + hosts[place]];
  }
  return messages;
}

bool ends_agree(const std::vector<RankLayout>& layouts) {
  for (std::size_t source = 0; source < layouts.size(); ++source) {
    const RankLayout& sender = layouts[source];
    std::size_t column = 0;  // of the destination's experts
    for (std::size_t i = 0; i < sender.entries.size(); ++i) {
      const RankLayout& receiver = layouts[static_cast<std::size_t>(sender.entries[i].rank)];
      column = i > 0 && sender.entries[i].rank == sender.entries[i - 1].rank ? column + 1 : 0;
      const std::size_t m = receiver.experts_here.size();
      if (column >= m || receiver.experts_here[column] != sender.entries[i].expert) return false;
      if (receiver.receive_counts[source * m + column] != sender.send_counts[i]) return false;
    }
  }
  return true;
}

template <class T>
std::vector<std::vector<T>> exchange(const std::vector<RankLayout>& layouts,
                                     const std::vector<std::vector<T>>& send, int hidden) {
  std::vector<std::vector<T>> received;
  for (const RankLayout& layout : layouts) received.push_back(new_rows<T>(layout.rows_received(), hidden));
  for (const Message& m : messages_of(layouts))
    copy_rows(send[m.source], m.sent_at, received[m.destination], m.received_at, m.rows, hidden);
  return received;
}

template <class T>
std::vector<std::vector<T>> exchange_back(const std::vector<RankLayout>& layouts,
                                          const std::vector<std::vector<T>>& received, int hidden) {
  std::vector<std::vector<T>> returned;
  for (const RankLayout& layout : layouts) returned.push_back(new_rows<T>(layout.rows_sent(), hidden));
  for (const Message& m : messages_of(layouts))
    copy_rows(received[m.destination], m.received_at, returned[m.source], m.sent_at, m.rows, hidden);
  return returned;
}

std::vector<moe::Tokens> count_cluster(const std::vector<std::vector<std::int32_t>>& expert_of,
                                       std::int32_t experts) {
  std::vector<moe::Tokens> counts;
  for (const std::vector<std::int32_t>& slots : expert_of) {
    const std::vector<moe::Tokens> row = count_slots(slots, experts);
    counts.insert(counts.end(), row.begin(), row.end());
  }
  return counts;
}

template <class T>
ClusterRun<T> emulate_cluster(const Placement& placement, const ClusterInput<T>& input,
                              const ExpertFunction<T>& expert) {
  ClusterRun<T> run;
  const std::vector<moe::Tokens> counts = count_cluster(input.expert_of, placement.experts);
  run.schedule = make_schedule(placement, counts, input.policy);
  std::vector<std::vector<T>> send;
  for (std::int32_t me = 0; me < placement.ranks; ++me) {
    const auto rank = static_cast<std::size_t>(me);
    run.layouts.push_back(make_layout(placement, run.schedule, me));
    run.positions.push_back(positions(placement, run.schedule, run.layouts[rank], me, input.expert_of[rank]));
    send.push_back(new_rows<T>(run.layouts[rank].rows_sent(), input.hidden));
    scatter(input.x[rank], run.positions[rank], input.top_k, input.hidden, send[rank]);
  }
  std::vector<std::vector<T>> received = exchange(run.layouts, send, input.hidden);
  for (std::int32_t me = 0; me < placement.ranks; ++me) {
    const auto rank = static_cast<std::size_t>(me);
    const std::vector<std::int32_t> rows = regroup_rows(run.layouts[rank]);
    run.grouped.push_back(regroup(received[rank], rows, input.hidden));
    std::vector<T> computed = run.grouped[rank];
    run_experts(run.layouts[rank], me, input.hidden, expert, computed);
    received[rank] = ungroup(computed, rows, input.hidden);
  }
  const std::vector<std::vector<T>> returned = exchange_back(run.layouts, received, input.hidden);
  for (std::size_t rank = 0; rank < returned.size(); ++rank)
    run.y.push_back(combine(returned[rank], run.positions[rank],
                            input.weights.empty() ? std::vector<float>() : input.weights[rank], input.top_k,
                            input.hidden));
  return run;
}

#define GOODPUT_INSTANTIATE(T)                                                                    \
  template std::vector<std::vector<T>> exchange<T>(const std::vector<RankLayout>&,                \
                                                   const std::vector<std::vector<T>>&, int);      \
  template std::vector<std::vector<T>> exchange_back<T>(const std::vector<RankLayout>&,           \
                                                        const std::vector<std::vector<T>>&, int); \
  template ClusterRun<T> emulate_cluster<T>(const Placement&, const ClusterInput<T>&,             \
                                            const ExpertFunction<T>&)
GOODPUT_INSTANTIATE(Bf16);
GOODPUT_INSTANTIATE(Fp16);
GOODPUT_INSTANTIATE(float);
#undef GOODPUT_INSTANTIATE

}  // namespace goodput::gpu::reference
