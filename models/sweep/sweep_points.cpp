#include "models/sweep/sweep_points.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "sim/base/random.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

std::string axis_pointer(std::size_t axis) {
  return fmt::format("/vary/{}", axis);
}

std::string axis_name(const SweepAxis& axis) {
  return on_one_line(fmt::format("{}", fmt::join(axis.parameters(), ",")));
}

Error too_many_points(std::string_view how_many) {
  return Error{fmt::format("the sweep has {} points, more than {}; remove values, or use a latin design",
                           how_many, kMostSweepPoints),
               {.pointer = "/vary"}};
}

// The same text for JSON that says the same: 50, 50.0 and 5e1.
std::string comparable(const std::string& value) {
  const Json json = Json::parse(value);
  return json.is_number() ? number_json(json.get<double>()) : json.dump();
}

// How many values, where the design takes them one by one.
Result<std::uint64_t> listed_count(const SweepAxis& axis, std::size_t number, SweepDesign design) {
  if (const auto count = axis.values.count()) return *count;
  return Error{fmt::format("{} is a range without a number of values, which only a latin design supports, "
                           "not a {}; give the number, for example 0.1..0.5/5",
                           axis_name(axis), kSweepDesignNames[static_cast<std::size_t>(design)]),
               {.pointer = axis_pointer(number) + "/values"}};
}

}  // namespace

Result<SweepPoints> SweepPoints::make(const SweepConfig& sweep, std::uint64_t seed) {
  SweepPoints points;
  points.axes_ = sweep.vary;
  points.design_ = sweep.design;
  for (const SweepAxis& axis : points.axes_) {
    for (std::string& parameter : axis.parameters()) {
      points.parameters_.push_back(std::move(parameter));
      points.files_.push_back(axis.file);
    }
  }
  GOODPUT_TRY_STATUS(points.add_settings());
  GOODPUT_TRY_STATUS(points.check_names());
  GOODPUT_TRY_STATUS(points.check_twice());
  GOODPUT_TRY_STATUS(points.count_points(sweep));
  GOODPUT_TRY_STATUS(points.check_repeats());
  if (sweep.design == SweepDesign::kLatin) points.draw_latin(seed);
  return points;
}

Status SweepPoints::add_settings() {
  for (const SweepAxis& axis : axes_) {
    settings_.insert(settings_.end(), axis.sets.begin(), axis.sets.end());
    if (!axis.is_spares()) continue;
    GOODPUT_TRY(Expression nodes, Expression::parse(fmt::format("{} + {}", kPlanNodes, kSparesVariable)));
    settings_.push_back({"/nodes", std::move(nodes)});
  }
  return Ok{};
}

// Every name of an expression is a variable, and every variable is in some expression.
Status SweepPoints::check_names() const {
  std::vector<std::string_view> known = {kPlanNodes, kSparesVariable};
  for (const SweepAxis& axis : axes_) {
    if (!axis.name.empty() && axis.name != kSparesVariable) known.push_back(axis.name);
  }
  const auto is_variable = [this](const std::string& name) {
    return name == kPlanNodes ||
           std::any_of(axes_.begin(), axes_.end(), [&](const SweepAxis& axis) { return axis.name == name; });
  };
  const auto is_used = [this](const std::string& name) {
    return std::any_of(settings_.begin(), settings_.end(), [&](const SweepSetting& setting) {
      const std::vector<std::string>& names = setting.value.names();
      return std::find(names.begin(), names.end(), name) != names.end();
    });
  };
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    for (const SweepSetting& setting : axes_[i].sets) {
      for (const std::string& name : setting.value.names()) {
        if (is_variable(name)) continue;
        return Error{fmt::format("there is no variable {}{}", in_quotes(name), did_you_mean(name, known)),
                     {.pointer = axis_pointer(i) + "/sets"}};
      }
    }
    if (axes_[i].name.empty() || is_used(axes_[i].name)) continue;
    return Error{fmt::format("nothing depends on the variable {}{}; JSON pointers begin with a slash, and "
                             "\"sets\" in a sweep file defines what depends on a variable",
                             in_quotes(axes_[i].name),
                             did_you_mean(axes_[i].name, std::vector<std::string_view>{kSparesVariable})),
                 {.pointer = axis_pointer(i)}};
  }
  return Ok{};
}

Status SweepPoints::check_twice() const {
  std::vector<std::string> all = parameters_;
  for (const SweepSetting& setting : settings_) all.push_back(setting.pointer);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::find(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i), all[i]) ==
        all.begin() + static_cast<std::ptrdiff_t>(i))
      continue;
    return Error{fmt::format("varies or sets {} twice; give each JSON pointer only once", in_quotes(all[i])),
                 {.pointer = "/vary"}};
  }
  return Ok{};
}

Status SweepPoints::count_points(const SweepConfig& sweep) {
  if (design_ == SweepDesign::kLatin && sweep.points < 1)
    return Error{fmt::format("a latin design needs the number of points to draw; give {}", kOption),
                 {.pointer = "/points"},
                 "points"};
  size_ = design_ == SweepDesign::kLatin ? static_cast<std::uint64_t>(sweep.points) : 1;
  for (std::size_t i = 0; i < axes_.size() && design_ != SweepDesign::kLatin; ++i) {
    GOODPUT_TRY(const std::uint64_t count, listed_count(axes_[i], i, design_));
    if (count > static_cast<std::uint64_t>(kMostSweepPoints))
      return too_many_points(fmt::format("{}", count));
    if (design_ == SweepDesign::kGrid) {
      size_ *= count;  // below 10^12
      if (size_ > static_cast<std::uint64_t>(kMostSweepPoints))
        return too_many_points(fmt::format("at least {}", size_));
      continue;
    }
    if (i > 0 && count != size_) {
      return Error{
          fmt::format(
              "{} has {} values and {} has {}; a list design needs the same number of values for every axis",
              axis_name(axes_[0]), size_, axis_name(axes_[i]), count),
          {.pointer = "/vary"}};
    }
    size_ = count;
  }
  return Ok{};
}

// A grid with a value twice, and a list with a point twice, would run the same thing again.
Status SweepPoints::check_repeats() const {
  if (design_ == SweepDesign::kLatin) return Ok{};
  const auto refuse = [](const std::string& name, const std::string& value) {
    return Error{
        fmt::format("{} has the value {} twice; give each value only once", name, on_one_line(value)),
        {.pointer = "/vary"}};
  };
  if (design_ == SweepDesign::kList) {
    std::set<std::vector<std::string>> seen;
    for (std::uint64_t point = 0; point < size_; ++point) {
      std::vector<std::string> all = values(point);
      for (std::string& value : all) value = comparable(value);
      if (!seen.insert(all).second)
        return refuse(on_one_line(fmt::format("{}", fmt::join(parameters_, ","))),
                      fmt::format("{}", fmt::join(values(point), ",")));
    }
    return Ok{};
  }
  for (const SweepAxis& axis : axes_) {
    std::set<std::string> seen;
    for (std::uint64_t i = 0; i < axis.values.count().value_or(0); ++i) {
      const std::string value = axis.values.at(i);
      if (!seen.insert(comparable(value)).second) return refuse(axis_name(axis), value);
    }
  }
  return Ok{};
}

// One point in each of `size` equal parts of an axis, in an order of its own (McKay, Beckman and Conover,
// Technometrics 21, 1979). What an axis draws depends on no other axis.
void SweepPoints::draw_latin(std::uint64_t seed) {
  for (const SweepAxis& axis : axes_) {
    RandomStream random(seed, "sweep axis " + axis_name(axis));
    std::vector<std::uint64_t> part(size_);
    std::iota(part.begin(), part.end(), std::uint64_t{0});
    for (std::uint64_t i = size_; i > 1; --i) std::swap(part[i - 1], part[random.below(i)]);
    std::vector<double> shares;
    shares.reserve(size_);
    for (const std::uint64_t at : part)
      shares.push_back((static_cast<double>(at) + random.uniform()) / static_cast<double>(size_));
    shares_.push_back(std::move(shares));
  }
}

std::vector<std::string> SweepPoints::values(std::uint64_t point) const {
  std::vector<std::string> values;
  std::uint64_t below = size_;  // points with the same values of the axes so far
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const AxisValues& of_axis = axes_[i].values;
    std::string value;
    if (design_ == SweepDesign::kLatin) {
      value = of_axis.at_share(shares_[i][point]);
    } else if (design_ == SweepDesign::kList) {
      value = of_axis.at(point);
    } else {
      const std::uint64_t count = of_axis.count().value_or(1);
      below /= count;
      value = of_axis.at(point / below % count);  // the last axis changes from point to point
    }
    for (std::string& part : axes_[i].split(value)) values.push_back(std::move(part));
  }
  return values;
}

std::vector<std::uint64_t> SweepPoints::covering() const {
  std::vector<std::uint64_t> points;
  if (design_ != SweepDesign::kGrid) {
    points.resize(size_);
    std::iota(points.begin(), points.end(), std::uint64_t{0});
    return points;
  }
  points.push_back(0);
  std::uint64_t stride = 1;  // from a value of the axis to the next
  for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
    const std::uint64_t count = axis->values.count().value_or(1);
    for (std::uint64_t i = 1; i < count; ++i) points.push_back(i * stride);
    stride *= count;
  }
  return points;
}

bool SweepPoints::has_spares() const {
  return std::any_of(axes_.begin(), axes_.end(), [](const SweepAxis& axis) { return axis.is_spares(); });
}

// JSON. `value_of`: of a variable, JSON too.
Result<std::string> SweepPoints::follow(const SweepSetting& setting, const ValueOf& value_of) {
  const Expression& expression = setting.value;
  if (expression.is_name()) return value_of(expression.names().front());
  Result<double> value = expression.value([&](const std::string& name) -> Result<double> {
    const std::string text = value_of(name);
    const Json json = Json::parse(text);
    if (json.is_number()) return json.get<double>();
    return Error{fmt::format("{} is {}, which is not a number", name, text)};
  });
  if (value) return number_json(*value);
  return Error{fmt::format("{} of the sweep: {}", setting.pointer, value.error().message())};
}

bool SweepPoints::follows_plan() const {
  return std::any_of(settings_.begin(), settings_.end(), [](const SweepSetting& setting) {
    const std::vector<std::string>& names = setting.value.names();
    return std::find(names.begin(), names.end(), kPlanNodes) != names.end();
  });
}

Result<std::vector<config::Change>> SweepPoints::changes(std::uint64_t point,
                                                         const PlanNodes& plan_nodes) const {
  const std::vector<std::string> values = this->values(point);
  std::vector<config::Change> changes;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].starts_with('/')) changes.push_back({parameters_[i], values[i], "vary", files_[i]});
  }
  std::string nodes_of_plan;
  if (follows_plan()) {
    GOODPUT_TRY(const std::int32_t nodes, plan_nodes(changes));
    nodes_of_plan = number_json(nodes);
  }
  const auto position = [this](const std::string& name) {
    return static_cast<std::size_t>(std::find(parameters_.begin(), parameters_.end(), name) -
                                    parameters_.begin());
  };
  const ValueOf value_of = [&](const std::string& name) {
    return name == kPlanNodes ? nodes_of_plan : values[position(name)];
  };
  std::vector<config::Change> following;
  for (const SweepSetting& setting : settings_) {
    GOODPUT_TRY(std::string value, follow(setting, value_of));
    const bool is_value = setting.value.is_name() && setting.value.names().front() != kPlanNodes;
    following.push_back({setting.pointer, std::move(value), "vary",
                         is_value ? files_[position(setting.value.names().front())] : std::string()});
  }
  changes.insert(changes.end(), following.begin(), following.end());
  return changes;
}

std::uint64_t SweepPoints::shard(std::uint64_t point, std::uint64_t count) const {
  Hash hash;
  const std::vector<std::string> values = this->values(point);
  for (std::size_t i = 0; i < values.size(); ++i) {
    hash.add(parameters_[i]);
    hash.add(values[i]);
  }
  return hash.value() % count;
}

}  // namespace goodput
