// Tokens that partial checkpoints lose: closed forms, a slow replay that keeps every expert's history, and
// what holds for every schedule.
#include "models/checkpoint/lost_tokens.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "sim/base/random.h"

namespace goodput {
namespace {

ExpertTokens even_tokens(std::size_t layers, std::size_t experts, std::int64_t tokens) {
  return ExpertTokens(layers, std::vector<std::int64_t>(experts, tokens));
}

CheckpointModel moe(std::int32_t experts, std::size_t layers, std::int32_t top_k) {
  CheckpointModel model;
  model.experts = experts;
  model.top_k = top_k;
  model.expert_layers.assign(layers, {"layer", 1});
  return model;
}

PecSchedule schedule(std::int32_t k, std::int64_t interval, std::int64_t steps) {
  PecSchedule result;
  result.k = {k, k};
  result.interval = interval;
  result.steps = steps;
  return result;
}

double plt(const ExpertTokens& tokens, const PecSchedule& run, const std::vector<CheckpointFault>& faults) {
  return replay_losses(tokens, run, faults).plt;
}

// The same by remembering, for every expert, which steps' tokens each of its copies has seen.
class Histories {
 public:
  using Seen = std::vector<bool>;  // by step

  Histories(const ExpertTokens& tokens, const PecSchedule& run) : tokens_(tokens), run_(run) {
    const Seen none(static_cast<std::size_t>(run.steps), false);
    live_.assign(tokens.size(), std::vector<Seen>(tokens.front().size(), none));
    memory_ = storage_ = live_;
  }

  double plt(const std::vector<CheckpointFault>& faults) {
    double lost = 0;
    std::int64_t step = 0;
    for (const CheckpointFault& fault : faults) {
      while (step + run_.interval <= fault.step) {
        train(step, step + run_.interval);
        step += run_.interval;
        save(step / run_.interval);
      }
      lost += recover(fault);
    }
    double total = 0;
    for (const auto& layer : tokens_)
      total += static_cast<double>(std::accumulate(layer.begin(), layer.end(), 0LL));
    return lost / (total * static_cast<double>(run_.steps));
  }

 private:
  void train(std::int64_t from, std::int64_t to) {
    for (auto& layer : live_) {
      for (Seen& seen : layer) std::fill(seen.begin() + from, seen.begin() + to, true);
    }
  }

  void save(std::int64_t checkpoint) {
    const auto experts = static_cast<std::int32_t>(tokens_.front().size());
    copy(select_sequential(tokens_.size(), experts, run_.k.snapshot, checkpoint), live_, memory_);
    copy(select_sequential(tokens_.size(), experts, run_.k.persist, checkpoint), memory_, storage_);
  }

  static void copy(const SavedExperts& saved, const std::vector<std::vector<Seen>>& from,
                   std::vector<std::vector<Seen>>& to) {
    for (std::size_t layer = 0; layer < saved.size(); ++layer) {
      for (const std::int32_t expert : saved[layer])
        to[layer][static_cast<std::size_t>(expert)] = from[layer][static_cast<std::size_t>(expert)];
    }
  }

  double recover(const CheckpointFault& fault) {
    double lost = 0;
    const auto experts = static_cast<std::int32_t>(tokens_.front().size());
    for (std::size_t layer = 0; layer < tokens_.size(); ++layer) {
      for (std::int32_t expert = 0; expert < experts; ++expert) {
        const auto e = static_cast<std::size_t>(expert);
        if (!fault.rank || expert_owner(expert, experts, run_.ranks) == *fault.rank)
          memory_[layer][e] = storage_[layer][e];
        const auto seen = [](const Seen& steps) { return std::count(steps.begin(), steps.end(), true); };
        lost += static_cast<double>((seen(live_[layer][e]) - seen(memory_[layer][e])) * tokens_[layer][e]);
        live_[layer][e] = memory_[layer][e];
      }
    }
    return lost;
  }

  const ExpertTokens& tokens_;
  const PecSchedule& run_;
  std::vector<std::vector<Seen>> live_;
  std::vector<std::vector<Seen>> memory_;
  std::vector<std::vector<Seen>> storage_;
};

}  // namespace

TEST_CASE("plt: a fault costs (E/K - 1) / 2 intervals where loads are even and experts took turns") {
  // At a checkpoint K experts are 0 intervals old, K are 1, ..., K are E/K - 1: (E/K - 1) / 2 on average.
  const ExpertTokens tokens = even_tokens(6, 8, 100);
  const std::vector<CheckpointFault> three = {{1250, {}}, {2500, {}}, {9999, {}}};
  for (const std::int32_t k : {1, 2, 4, 8}) {
    const double intervals = (8. / k - 1) / 2;
    CHECK(plt(tokens, schedule(k, 100, 10'000), three) == doctest::Approx(3 * intervals * 100 / 10'000));
  }
}

TEST_CASE("plt: by hand") {
  // Two experts, one layer, K = 1: checkpoint 1 saves expert 1, checkpoint 2 expert 0, ... A fault after step
  // 25 goes back to 20: expert 1 was saved at 10, so 10 of its steps are lost. Expert 1 has 3 of 4 tokens.
  const ExpertTokens tokens = {{1, 3}};
  const PecLoss loss = replay_losses(tokens, schedule(1, 10, 100), {{25, {}}, {29, {}}, {39, {}}});
  REQUIRE(loss.faults.size() == 3);
  CHECK(loss.faults[0].recovered_step == 20);
  CHECK(loss.faults[0].tokens_lost == 30);
  // Nothing was trained between the first fault's checkpoint and the second's: nothing is lost twice.
  CHECK(loss.faults[1].recovered_step == 20);
  CHECK(loss.faults[1].tokens_lost == 0);
  // Checkpoint 3 saves expert 1; expert 0 lost what it learned from 20 to 30.
  CHECK(loss.faults[2].recovered_step == 30);
  CHECK(loss.faults[2].tokens_lost == 10);
  CHECK(loss.plt == doctest::Approx(40. / 400));
}

TEST_CASE("plt: one ratio over all layers, not a mean of the layers' ratios") {
  // Layers with 4 and 40 tokens a step; checkpoint 1 saves expert 1 of layer 0 and expert 0 of layer 1.
  const ExpertTokens tokens = {{1, 3}, {30, 10}};
  CHECK(plt(tokens, schedule(1, 10, 10), {{10, {}}}) == doctest::Approx((10. * 1 + 10 * 10) / (10 * 44)));
}

TEST_CASE("plt: zero when every expert is saved, and without faults") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "whole");
    const auto experts = static_cast<std::int32_t>(1 + random.below(9));
    const ExpertTokens tokens = expert_tokens(moe(experts, 3, 2), 1000, 1.1, seed);
    PecSchedule run = schedule(experts, 1 + static_cast<std::int64_t>(random.below(20)), 200);
    run.selection = seed % 2 == 0 ? ExpertSelection::kSequential : ExpertSelection::kLoadAware;
    run.ranks = 1 + static_cast<std::int32_t>(random.below(12));
    CHECK(plt(tokens, run, {{17, {}}, {90, 0}, {200, {}}}) == 0);
    run.k = {1, 1};
    CHECK(plt(tokens, run, {}) == 0);
  }
}

TEST_CASE("plt: the replay agrees with histories of every expert, on both levels") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "histories");
    const auto draw = [&](std::int64_t most) {
      return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most)));
    };
    const auto experts = static_cast<std::int32_t>(1 + draw(8));
    const ExpertTokens tokens = expert_tokens(moe(experts, 1 + random.below(4), 1), 500, 0.8, seed);
    PecSchedule run = schedule(1 + static_cast<std::int32_t>(draw(experts)), 1 + draw(9), 120);
    run.k.snapshot += static_cast<std::int32_t>(draw(experts - run.k.persist + 1));
    run.ranks = 1 + static_cast<std::int32_t>(draw(10));
    std::vector<CheckpointFault> faults;
    for (std::int64_t step = draw(30); step <= run.steps; step += 1 + draw(40)) {
      faults.push_back({step, {}});
      if (draw(2) == 0) faults.back().rank = static_cast<std::int32_t>(draw(run.ranks));
    }
    const double replayed = plt(tokens, run, faults);
    CHECK(replayed == doctest::Approx(Histories(tokens, run).plt(faults)).epsilon(1e-12));
    CHECK(replayed >= 0);
    CHECK(replayed <= 1);
  }
}

TEST_CASE("plt: ranks that live on lose less with more experts in CPU memory") {
  // All experts are in memory: only the failed rank's go back to storage.
  const ExpertTokens tokens = even_tokens(4, 8, 10);
  PecSchedule run = schedule(1, 10, 1000);
  run.ranks = 8;
  const double one_level = plt(tokens, run, {{500, 3}});
  run.k.snapshot = 8;
  const double two_levels = plt(tokens, run, {{500, 3}});
  CHECK(two_levels > 0);
  CHECK(two_levels < one_level / 4);
  // When all ranks lose their memory, it does not help beyond fresher copies in storage: here none.
  CHECK(plt(tokens, run, {{500, {}}}) == doctest::Approx(one_level));
}

TEST_CASE("plt: load-aware selection loses least at the first checkpoint, where one rank has all experts") {
  // There it saves the K experts with most tokens of every layer. Later ones may do worse than taking turns:
  // what has most unsaved tokens now is not what a later checkpoint would lose most of.
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    ExpertTokens tokens = expert_tokens(moe(16, 6, 1), 16'384, 1.5, seed);
    PecSchedule run = schedule(3, 10, 10);
    const double sequential = plt(tokens, run, {{10, {}}});
    run.selection = ExpertSelection::kLoadAware;
    const double load_aware = plt(tokens, run, {{10, {}}});
    CHECK(load_aware <= sequential);
    std::sort(tokens[0].rbegin(), tokens[0].rend());  // all layers have the same loads, in other orders
    const std::int64_t left_out = std::accumulate(tokens[0].begin() + 3, tokens[0].end(), std::int64_t{0});
    CHECK(load_aware == doctest::Approx(static_cast<double>(left_out) / 16'384));
  }
}

TEST_CASE("plt: a checkpoint that is not yet in storage is none") {
  PecSchedule run = schedule(1, 10, 100);
  run.persist_lag = [](const PecLevels&) { return std::int64_t{6}; };
  const auto recovered = [&](std::int64_t step) {
    return replay_losses(even_tokens(1, 2, 1), run, {{step, {}}}).faults.front().recovered_step;
  };
  CHECK(recovered(15) == 0);
  CHECK(recovered(16) == 10);
  CHECK(recovered(35) == 20);
}

TEST_CASE("plt: Dynamic-K doubles K when its losses pass the limit, up to all experts") {
  // As above, a fault costs (E/K - 1)/2 intervals of 1 %: 3.5 % with K = 1, 1.5 % with 2, 0.5 % with 4.
  PecSchedule run = schedule(1, 100, 10'000);
  run.dynamic_limit = 0.05;
  std::vector<CheckpointFault> faults;
  for (std::int64_t step = 1000; step <= 10'000; step += 1000) faults.push_back({step, {}});
  const PecLoss loss = replay_losses(even_tokens(6, 8, 100), run, faults);
  std::vector<std::int32_t> k;
  for (const FaultLoss& fault : loss.faults) k.push_back(fault.k_after.persist);
  // 3.5 + 3.5 > 5; 4 x 1.5 > 5; then 0.5 a fault.
  CHECK(k == std::vector<std::int32_t>{1, 2, 2, 2, 2, 4, 4, 4, 4, 4});
  CHECK(loss.plt == doctest::Approx(0.07 + 0.06 + 0.02));

  run.dynamic_limit = 0;
  const PecLoss strict = replay_losses(even_tokens(6, 8, 100), run, faults);
  CHECK(strict.faults[2].k_after == PecLevels{8, 8});
  CHECK(strict.faults.back().k_after == PecLevels{8, 8});
  CHECK(strict.faults.back().tokens_lost == 0);
}

TEST_CASE("plt: a model without experts loses steps, but no tokens") {
  PecSchedule run = schedule(0, 10, 100);
  const PecLoss loss = replay_losses({}, run, {{37, {}}});
  CHECK(loss.plt == 0);
  CHECK(loss.faults.front().recovered_step == 30);
}

TEST_CASE("expert tokens: every layer gets all tokens, spread evenly or as Zipf says") {
  const CheckpointModel model = moe(6, 5, 2);
  for (const double skew : {0.0, 0.7, 3.0}) {
    const ExpertTokens tokens = expert_tokens(model, 1001, skew, 4);
    REQUIRE(tokens.size() == 5);
    for (std::vector<std::int64_t> layer : tokens) {
      CHECK(std::accumulate(layer.begin(), layer.end(), std::int64_t{0}) == 2002);
      std::sort(layer.rbegin(), layer.rend());
      if (skew == 0) CHECK(layer.front() - layer.back() <= 1);
      if (skew == 3) {
        // 2002 / (1 + 1/8 + ... + 1/216) = 2002 / 1.190292
        CHECK(layer == std::vector<std::int64_t>{1682, 210, 62, 26, 14, 8});
      }
    }
    CHECK(tokens == expert_tokens(model, 1001, skew, 4));
  }
  CHECK(expert_tokens(model, 1001, 1, 4) != expert_tokens(model, 1001, 1, 5));
}

}  // namespace goodput
