// Fits of repair times against closed forms and slow references.
#include "models/reliability/repair_laws.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "models/reliability/poisson_counts.h"
#include "sim/base/random.h"

namespace goodput::testing {
namespace {

const RepairFit& fit_of(const std::vector<RepairFit>& fits, RepairLaw law) {
  const auto found =
      std::find_if(fits.begin(), fits.end(), [law](const RepairFit& fit) { return fit.law == law; });
  REQUIRE(found != fits.end());
  return *found;
}

// ln f(t) of complete times, ln of the probability of surviving t of open ones.
double log_likelihood(const std::vector<RepairTime>& times, const std::function<double(double)>& log_density,
                      const std::function<double(double)>& log_survival) {
  double sum = 0;
  for (const RepairTime& time : times)
    sum += time.is_complete ? log_density(time.seconds) : log_survival(time.seconds);
  return sum;
}

double weibull_likelihood(const std::vector<RepairTime>& times, double shape, double scale) {
  const auto log_survival = [=](double t) { return -std::pow(t / scale, shape); };
  return log_likelihood(
      times, [=](double t) { return std::log(shape / t) + shape * std::log(t / scale) + log_survival(t); },
      log_survival);
}

double lognormal_likelihood(const std::vector<RepairTime>& times, double mean, double deviation) {
  return log_likelihood(
      times,
      [=](double t) {
        const double z = (std::log(t) - mean) / deviation;
        return -std::log(t * deviation * std::sqrt(2 * M_PI)) - z * z / 2;
      },
      [=](double t) { return std::log(std::erfc((std::log(t) - mean) / deviation / std::sqrt(2.0)) / 2); });
}

std::vector<RepairTime> some_times(std::uint64_t seed, bool has_open) {
  RandomStream random(seed, "repairs");
  std::vector<RepairTime> times;
  for (int i = 0; i < 60; ++i) {
    const double time = 3600 * std::pow(random.exponential(1), 1.4);
    const double open = has_open ? random.exponential(1.0 / 9000) : std::numeric_limits<double>::infinity();
    times.push_back({std::min(time, open), time <= open});
  }
  return times;
}

}  // namespace

TEST_CASE("repair laws: the exponential fit is the closed form") {
  // 10 + 20 + 30 s over 2 complete repairs; ln L = -2 ln 30 - 60 / 30.
  const std::vector<RepairTime> times = {{10, true}, {20, true}, {30, false}};
  const RepairFit fit = fit_of(fit_repair_laws(times), RepairLaw::kExponential);
  CHECK(fit.mean_s == 30);
  CHECK(fit.log_likelihood == doctest::Approx(-2 * std::log(30.0) - 2));
  CHECK(fit.bic == doctest::Approx(std::log(3.0) + 2 * (2 * std::log(30.0) + 2)));
}

TEST_CASE("repair laws: no parameters nearby are likelier than the fits") {
  for (const bool has_open : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      CAPTURE(seed);
      CAPTURE(has_open);
      const std::vector<RepairTime> times = some_times(seed, has_open);
      const auto fits = fit_repair_laws(times);
      const RepairFit weibull = fit_of(fits, RepairLaw::kWeibull);
      const double scale = weibull.mean_s / std::tgamma(1 + 1 / weibull.shape);
      CHECK(weibull.log_likelihood == doctest::Approx(weibull_likelihood(times, weibull.shape, scale)));
      const RepairFit lognormal = fit_of(fits, RepairLaw::kLognormal);
      const double mean = std::log(lognormal.mean_s) - lognormal.shape * lognormal.shape / 2;
      CHECK(lognormal.log_likelihood == doctest::Approx(lognormal_likelihood(times, mean, lognormal.shape)));
      for (const double step : {-0.01, 0.01}) {
        CHECK(weibull_likelihood(times, weibull.shape * (1 + step), scale) < weibull.log_likelihood);
        CHECK(weibull_likelihood(times, weibull.shape, scale * (1 + step)) < weibull.log_likelihood);
        CHECK(lognormal_likelihood(times, mean + step, lognormal.shape) < lognormal.log_likelihood);
        CHECK(lognormal_likelihood(times, mean, lognormal.shape * (1 + step)) < lognormal.log_likelihood);
      }
    }
  }
}

TEST_CASE("repair laws: equal times allow only the exponential law, and no complete time none") {
  CHECK(fit_repair_laws(std::vector<RepairTime>{{5, true}, {5, true}}).size() == 1);
  CHECK(fit_repair_laws(std::vector<RepairTime>{{5, false}}).empty());
}

TEST_CASE("repair laws: the median counts open repairs as longer than they are") {
  CHECK(median_repair(std::vector<RepairTime>{{1, true}, {2, true}, {9, true}}) == 2);
  CHECK(median_repair(std::vector<RepairTime>{{1, true}, {2, true}, {4, true}, {9, true}}) == 3);
  // Kaplan-Meier: 3/4 after 1 s; the open one leaves two; 3/8 after 4 s.
  CHECK(median_repair(std::vector<RepairTime>{{1, true}, {2, false}, {4, true}, {9, true}}) == 4);
  CHECK(std::isinf(median_repair(std::vector<RepairTime>{{1, true}, {2, false}, {2, false}})));
}

TEST_CASE("repair laws: the mean counts open repairs as longer than they are") {
  CHECK(mean_repair(std::vector<RepairTime>{{1, true}, {2, true}, {9, true}}) == 4);
  // 1 s by all, 2 s more by 3/4, 1 s by ... : 1 + 1 * 3/4 + 2 * 3/4 + 5 * 3/8.
  CHECK(mean_repair(std::vector<RepairTime>{{1, true}, {2, false}, {4, true}, {9, true}}) ==
        doctest::Approx(1 + 0.75 * 3 + 0.375 * 5));
}

TEST_CASE("event rates: the interval is Garwood's") {
  // Tables of the exact Poisson interval: 10 events are 4.795 to 18.39.
  const EventRate rate = event_rate(10, 2000, 1000);
  CHECK(rate.value == 5);
  CHECK(rate.low == doctest::Approx(4.7954 / 2).epsilon(1e-4));
  CHECK(rate.high == doctest::Approx(18.3904 / 2).epsilon(1e-4));
  CHECK(event_rate(0, 1, 1).low == 0);
  CHECK(event_rate(0, 1, 1).high == doctest::Approx(-std::log(0.025)));
  // Ten pairs know as much as ten events.
  CHECK(event_rate(20, 2000, 1000, 2).low == doctest::Approx(2 * rate.low));
  // 1 - e^-2 (1 + 2)
  CHECK(chance_of_at_least(2, 2) == doctest::Approx(1 - 3 * std::exp(-2.0)));
  CHECK(chance_of_at_least(0, 2) == 1);
  CHECK(chance_of_at_least(1, 0) == 0);
}

}  // namespace goodput::testing
