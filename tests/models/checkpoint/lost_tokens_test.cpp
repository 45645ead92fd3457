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

// The same by remembering which steps' tokens each copy of every expert has seen, and when every step ended.
// Storage takes one checkpoint after the other. Of the three buffers, one holds the checkpoint to go back to,
// so that a checkpoint begins if at most one other is on its way and no snapshot is being taken.
class Histories {
 public:
  using Seen = std::vector<bool>;  // by step
  using Copies = std::vector<std::vector<Seen>>;

  Histories(const ExpertTokens& tokens, const PecSchedule& run)
      : tokens_(tokens), run_(run), experts_(static_cast<std::int32_t>(tokens.front().size())), k_(run.k) {
    const Seen none(static_cast<std::size_t>(run.steps), false);
    live_.assign(tokens.size(), std::vector<Seen>(tokens.front().size(), none));
    memory_ = storage_ = live_;
  }

  PecLoss replay(const std::vector<CheckpointFault>& faults) {
    PecLoss loss;
    double total = 0;
    for (const auto& layer : tokens_)
      total += static_cast<double>(std::accumulate(layer.begin(), layer.end(), 0LL));
    total *= static_cast<double>(run_.steps);
    double lost = 0;
    for (const CheckpointFault& fault : faults) {
      for (const std::int64_t at : stored_by(fault.step)) {
        train(step_, at);
        step_ = at;
        save(++number_);
      }
      const double at_fault = recover(fault);
      lost += at_fault;
      if (run_.dynamic_limit) raise_k(lost / total, total);
      loss.faults.push_back({fault, step_, at_fault, k_});
    }
    loss.plt = lost / total;
    return loss;
  }

 private:
  // Steps of the checkpoints since the last recovery that are in storage after `step`.
  [[nodiscard]] std::vector<std::int64_t> stored_by(std::int64_t step) const {
    struct Begun {
      std::int64_t step;
      SimDuration copied;
      SimDuration stored;
    };
    std::vector<Begun> begun;
    const SaveTiming timing = run_.timing ? run_.timing(k_) : SaveTiming{};
    SimDuration now{};
    for (std::int64_t at = step_ + 1; at <= step; ++at) {
      now += run_.step;
      if (at % run_.interval != 0) continue;
      const auto waiting =
          std::count_if(begun.begin(), begun.end(), [&](const Begun& save) { return save.stored > now; });
      // The first one of all has a buffer more: there is none to go back to.
      const bool has_recovery = number_ > 0 || std::ssize(begun) > waiting;
      if (waiting == (has_recovery ? 2 : 3) || (!begun.empty() && begun.back().copied > now)) continue;
      const SimDuration copied = now + timing.times.snapshot;
      const SimDuration free = begun.empty() ? SimDuration{} : begun.back().stored;
      begun.push_back({at, copied, std::max(copied, free) + timing.times.persist});
      now += timing.stall;
    }
    std::vector<std::int64_t> stored;
    for (const Begun& save : begun) {
      if (save.stored <= now) stored.push_back(save.step);
    }
    return stored;
  }

  void train(std::int64_t from, std::int64_t to) {
    for (auto& layer : live_) {
      for (Seen& seen : layer) std::fill(seen.begin() + from, seen.begin() + to, true);
    }
  }

  void save(std::int64_t checkpoint) {
    copy(select_sequential(tokens_.size(), experts_, k_, checkpoint), live_, memory_);
    copy(select_sequential(tokens_.size(), experts_, {k_.persist, k_.persist}, checkpoint), live_, storage_);
  }

  static void copy(const SavedExperts& saved, const Copies& from, Copies& to) {
    for (std::size_t layer = 0; layer < saved.size(); ++layer) {
      for (const std::int32_t expert : saved[layer])
        to[layer][static_cast<std::size_t>(expert)] = from[layer][static_cast<std::size_t>(expert)];
    }
  }

  double recover(const CheckpointFault& fault) {
    double lost = 0;
    for (std::size_t layer = 0; layer < tokens_.size(); ++layer) {
      for (std::int32_t expert = 0; expert < experts_; ++expert) {
        const auto e = static_cast<std::size_t>(expert);
        const std::int64_t owner = std::int64_t{expert} * run_.ranks / experts_;
        if (!fault.ranks || std::count(fault.ranks->begin(), fault.ranks->end(), owner) > 0)
          memory_[layer][e] = storage_[layer][e];
        const auto seen = [](const Seen& steps) { return std::count(steps.begin(), steps.end(), true); };
        lost += static_cast<double>((seen(live_[layer][e]) - seen(memory_[layer][e])) * tokens_[layer][e]);
        live_[layer][e] = memory_[layer][e];
      }
    }
    return lost;
  }

  // As the header of raised_levels() says; experts at distance 0, 1, ... behind the last one saved were saved
  // 0, ..., 0, 1, ..., 1, ... checkpoints ago.
  void raise_k(double plt, double total) {
    double lag = 0;
    for (std::size_t layer = 0; layer < tokens_.size(); ++layer) {
      for (std::size_t e = 0; e < tokens_[layer].size(); ++e) {
        const auto seen = [](const Seen& steps) { return std::count(steps.begin(), steps.end(), true); };
        lag += static_cast<double>((seen(live_[layer][e]) - seen(storage_[layer][e])) * tokens_[layer][e]);
      }
    }
    for (k_ = run_.k; k_.persist < experts_;
         k_ = {std::min(2 * k_.snapshot, experts_), std::min(2 * k_.persist, experts_)}) {
      double ages = 0;
      for (std::int32_t distance = 0; distance < experts_; ++distance) ages += distance / k_.persist;
      const SaveTiming timing = run_.timing ? run_.timing(k_) : SaveTiming{};
      const double interval =
          std::max(static_cast<double>(run_.interval),
                   to_seconds(timing.times.persist - timing.stall) / to_seconds(run_.step));
      const double one = ages / experts_ * interval / static_cast<double>(run_.steps);
      if (plt + std::max(one, lag / total) <= *run_.dynamic_limit + 1e-12) return;
    }
  }

  const ExpertTokens& tokens_;
  const PecSchedule& run_;
  std::int32_t experts_;
  PecLevels k_;
  std::int64_t step_ = 0;    // of the last checkpoint in storage
  std::int64_t number_ = 0;  // its number
  Copies live_;
  Copies memory_;
  Copies storage_;
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
    CHECK(plt(tokens, run, {{17, {}}, {90, FailedRanks{{0}}}, {200, {}}}) == 0);
    run.k = {1, 1};
    CHECK(plt(tokens, run, {}) == 0);
  }
}

TEST_CASE("plt: the replay agrees with histories of every expert, on both levels, after several lost nodes") {
  int with_several = 0;
  int with_skips = 0;
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
    run.step = SimDuration{10};
    if (draw(3) > 0) {
      const std::int64_t snapshot = draw(15);
      const std::int64_t persist = draw(120);
      // Larger checkpoints take longer.
      run.timing = [snapshot, persist](const PecLevels& k) {
        const SaveTimes times{SimDuration{snapshot + k.snapshot}, SimDuration{persist + 3 * k.persist}};
        return SaveTiming{times, save_stall(SaveMode::kAsync, times, SimDuration{8})};
      };
      if (mean_interval(run.timing(run.k), run.step, run.interval) > static_cast<double>(run.interval))
        ++with_skips;
    }
    if (draw(3) == 0) run.dynamic_limit = static_cast<double>(draw(20)) / 100;
    std::vector<CheckpointFault> faults;
    for (std::int64_t step = draw(30); step <= run.steps; step += 1 + draw(40)) {
      faults.push_back({step, {}});
      if (draw(3) == 0) continue;  // all ranks
      faults.back().ranks.emplace();
      for (std::int32_t rank = 0; rank < run.ranks; ++rank) {
        if (draw(3) == 0) faults.back().ranks->push_back(rank);
      }
      if (faults.back().ranks->size() > 1) ++with_several;
    }
    const PecLoss replayed = replay_losses(tokens, run, faults);
    const PecLoss expected = Histories(tokens, run).replay(faults);
    CHECK(replayed.plt == doctest::Approx(expected.plt).epsilon(1e-12));
    CHECK(replayed.plt >= 0);
    CHECK(replayed.plt <= 1);
    for (std::size_t i = 0; i < faults.size(); ++i) {
      CHECK(replayed.faults[i].recovered_step == expected.faults[i].recovered_step);
      CHECK(replayed.faults[i].tokens_lost == expected.faults[i].tokens_lost);
      CHECK(replayed.faults[i].k_after == expected.faults[i].k_after);
    }
  }
  CHECK(with_several > 100);
  CHECK(with_skips > 50);
}

TEST_CASE("plt: ranks that live on lose less with more experts in CPU memory") {
  // All experts are in memory: only the failed rank's go back to storage.
  const ExpertTokens tokens = even_tokens(4, 8, 10);
  PecSchedule run = schedule(1, 10, 1000);
  run.ranks = 8;
  const FailedRanks one{{3}};
  const FailedRanks half{{0, 1, 2, 3}};
  const double one_level = plt(tokens, run, {{500, one}});
  CHECK(plt(tokens, run, {{500, half}}) == one_level);
  run.k.snapshot = 8;
  // Experts are 3.5 intervals old in storage on average: of 8 ranks one loses, or four.
  CHECK(plt(tokens, run, {{500, one}}) < one_level / 4);
  CHECK(plt(tokens, run, {{500, one}}) > 0);
  CHECK(plt(tokens, run, {{500, half}}) == doctest::Approx(one_level / 2).epsilon(0.2));
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

TEST_CASE("plt: runs go back to the last checkpoint that is in storage") {
  PecSchedule run = schedule(1, 10, 100);
  run.step = SimDuration{10};
  run.timing = [](const PecLevels&) { return SaveTiming{{SimDuration{5}, SimDuration{55}}, {}}; };  // 6 steps
  const auto recovered = [&](std::int64_t step) {
    return replay_losses(even_tokens(1, 2, 1), run, {{step, {}}}).faults.front().recovered_step;
  };
  CHECK(recovered(15) == 0);
  CHECK(recovered(16) == 10);
  CHECK(recovered(35) == 20);
}

TEST_CASE("plt: checkpoints that storage leaves out do not upset the turns of experts") {
  // One due at every step, storage takes four steps: of 8 experts each gets its turn all the same, and K = 1
  // loses 3.5 intervals of four steps. With the number of the step for its turn it would only ever be 0
  // and 4.
  PecSchedule run = schedule(1, 1, 1000);
  run.step = SimDuration{10};
  run.timing = [](const PecLevels&) { return SaveTiming{{SimDuration{1}, SimDuration{40}}, {}}; };
  CHECK(plt(even_tokens(1, 8, 1), run, {{900, {}}}) == doctest::Approx(3.5 * 4 / 1000).epsilon(0.02));
}

TEST_CASE("plt: Dynamic-K keeps the PLT of the whole run below its limit") {
  // A fault costs (E/K - 1)/2 intervals of 1 %: 3.5 % with K = 1, 1.5 % with 2, 0.5 % with 4. After the first
  // one more of 3.5 would make 7, one of 1.5 makes 5; after the second not even 0.5 is left.
  PecSchedule run = schedule(1, 100, 10'000);
  run.dynamic_limit = 0.05;
  std::vector<CheckpointFault> faults;
  for (std::int64_t step = 1000; step <= 10'000; step += 1000) faults.push_back({step, {}});
  const PecLoss loss = replay_losses(even_tokens(6, 8, 100), run, faults);
  std::vector<std::int32_t> k;
  for (const FaultLoss& fault : loss.faults) k.push_back(fault.k_after.persist);
  CHECK(k == std::vector<std::int32_t>{2, 8, 8, 8, 8, 8, 8, 8, 8, 8});
  CHECK(loss.plt == doctest::Approx(0.05));

  run.dynamic_limit = 0;
  const PecLoss strict = replay_losses(even_tokens(6, 8, 100), run, faults);
  CHECK(strict.faults[0].k_after == PecLevels{8, 8});
  CHECK(strict.plt == doctest::Approx(0.035));  // the first fault's
}

TEST_CASE("plt: with Dynamic-K a run ends at most one fault's loss above the limit") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "dynamic k");
    const auto draw = [&](std::int64_t most) {
      return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most)));
    };
    const auto experts = static_cast<std::int32_t>(1 + draw(16));
    const ExpertTokens tokens = expert_tokens(moe(experts, 1 + random.below(4), 1), 5000, 1.2, seed);
    PecSchedule run = schedule(1 + static_cast<std::int32_t>(draw(experts)), 1 + draw(30), 3000);
    run.ranks = 1 + static_cast<std::int32_t>(draw(10));
    if (draw(2) == 0) run.selection = ExpertSelection::kLoadAware;
    run.dynamic_limit = 0.05;
    std::vector<CheckpointFault> faults;
    for (std::int64_t step = draw(300); step <= run.steps; step += 1 + draw(300))
      faults.push_back({step, {}});
    const PecLoss loss = replay_losses(tokens, run, faults);
    double tokens_of_step = 0;
    for (const auto& layer : tokens)
      tokens_of_step += static_cast<double>(std::accumulate(layer.begin(), layer.end(), 0LL));
    double most = 0;
    for (const FaultLoss& fault : loss.faults)
      most = std::max(most, fault.tokens_lost / tokens_of_step / 3000);
    CHECK(loss.plt <= 0.05 + most + 1e-9);
  }
}

TEST_CASE("plt: Dynamic-K counts copies in storage that are older than the last recovery") {
  // All experts in memory, one of 8 to storage: when rank 0 fails at 505, the other ranks' copies in storage
  // stay as old as they are. A second fault, of all ranks, loses all that they lack.
  PecSchedule run = schedule(1, 50, 10'000);
  run.k.snapshot = 8;
  run.ranks = 8;
  const ExpertTokens tokens = even_tokens(6, 8, 100);
  const auto replay = [&](double limit) {
    run.dynamic_limit = limit;
    return replay_losses(tokens, run, {{505, FailedRanks{{0}}}, {510, {}}});
  };
  const double run_tokens = 6 * 800. * 10'000;
  const PecLoss loss = replay(0.02);
  const double first = loss.faults[0].tokens_lost / run_tokens;
  const double second = loss.faults[1].tokens_lost / run_tokens;
  CHECK(second > 1.5 * 50 / 10'000);  // more than K = 2 loses later
  // After the first fault, one more with K = 1 (1.75 %) would pass the limit; old copies and K = 2 would not.
  CHECK(first + 3.5 * 50 / 10'000 > 0.02);
  CHECK(first + second < 0.02);
  CHECK(loss.faults[0].k_after.persist == 2);
  // Where the old copies alone are too old, only saving all experts helps.
  CHECK(replay(first + second - 1e-6).faults[0].k_after.persist == 8);
}

TEST_CASE("plt: warnings begin above 5 % and above 7.5 %") {
  CHECK(plt_warning(0.05).empty());
  CHECK(plt_warning(0.0512) ==
        "5.12 % of tokens are lost (PLT), more than the 5 % that PEC's paper allows with Dynamic-K");
  CHECK(
      plt_warning(0.12) ==
      "12.00 % of tokens are lost (PLT), more than the 7.5 % below which PEC's paper finds models as good as "
      "without faults");
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
