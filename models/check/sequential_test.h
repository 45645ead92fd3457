// Whether a mean over trials has moved, asked again as more trials come in.
//
// Trials are pairs: the same draw of failures before and after. A look at so many pairs gives Student's
// interval of the change of the mean; asked K times, each interval may miss a K-th of what all together may
// (Bonferroni's way of spending alpha: Jennison and Turnbull, Group Sequential Methods, 1999, chapter 7, have
// others that spend less where normality can be trusted). So the interval that is shown, whichever look it is
// of, covers the truth with the stated confidence.
//
// A change is
//   moved:      the interval excludes 0 and does not lie inside the tolerance;
//   same:       it lies inside the tolerance;
//   undecided:  neither, after the last look.
// A suite asks many such questions: `moved` is only said early where the p-value holds for all of them
// (Bonferroni), and in the end where it does by Holm's rule (models/check/holm.h).
//
// Where changes are so skewed that Student's interval cannot be trusted (sample_moments.h, is_doubtful()), as
// of something that happens in few trials, the interval is the empirical Bernstein bound (Maurer and Pontil,
// COLT 2009, theorem 4), which holds whatever the distribution, of changes within the range that was seen, 0
// among them. What was not seen at all no interval knows of: `same` takes kLeastForSame pairs, among which
// what happens in one trial of twenty is seen with a probability of 96 %. What happens in fewer may be
// missed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "models/check/tolerance.h"

namespace goodput {

inline constexpr std::int64_t kFirstLook = 16;     // pairs; every further look is at twice as many
inline constexpr std::int64_t kLeastForSame = 64;  // or all that there can be

enum class Movement : std::uint8_t { kSame, kMoved, kUndecided };

// Of the mean, from before to after.
struct MeanChange {
  double baseline = 0, mean = 0;  // of the values
  double change = 0;              // of `baseline` where it is_relative, else in the unit of the values
  bool is_relative = false;       // never to a baseline of 0, where any change is beyond a relative tolerance
  std::array<double, 2> interval{};
  double p_value = 1;  // of no change at all, at whatever look the trials ended
  std::int64_t trials = 0;
  bool are_alike = false;     // every pair is
  bool is_skewed = false;     // the interval is Bernstein's
  bool is_tolerated = false;  // the interval lies inside the tolerance

  // That there is no change.
  [[nodiscard]] bool excludes_none() const { return interval[0] > 0 || interval[1] < 0; }
};

class SequentialTest {
 public:
  // `most`: pairs there can be. `questions`: that are asked beside this one, itself included.
  // REQUIRES: tolerance.is_statistical(), most >= 2, questions >= 1.
  SequentialTest(Tolerance tolerance, std::int64_t most, std::int64_t questions);

  // Pairs of the next look; none: there is no other look, or no need of one.
  [[nodiscard]] std::optional<std::int64_t> next_look() const;

  // REQUIRES: next_look() finite values of both, the pairs of the looks before among them.
  void look(std::span<const double> baseline, std::span<const double> values);

  [[nodiscard]] Movement movement() const { return movement_; }
  // REQUIRES: a look.
  [[nodiscard]] const MeanChange& change() const { return change_; }
  [[nodiscard]] std::int64_t looks() const { return looks_; }

 private:
  [[nodiscard]] std::int64_t pairs_of(std::int64_t look) const;
  [[nodiscard]] bool is_within_tolerance() const;
  [[nodiscard]] Movement judge() const;

  Tolerance tolerance_;
  std::int64_t most_;
  std::int64_t questions_;
  std::int64_t most_looks_ = 1;
  std::int64_t looks_ = 0;
  Movement movement_ = Movement::kUndecided;
  MeanChange change_{};
};

}  // namespace goodput
