// What the answer of a plan rests on: how far uncertain inputs move it, and where another choice is better.

const kPlanNoMatter = 0.003;  // relative: inputs that move the objective less share one line

const kPlanInputs = {
  failures_per_1000_node_days: "failure rate",
  mtbf_hours: "time between failures",
  repair_s: "repair time",
  outage_s: "length of outages",
  detect_s: "time to detect a loss",
  startup_s: "startup time",
  swap_s: "time to swap in a spare",
  storage_gb_per_s: "storage bandwidth",
  usd_per_node_hour: "price of a node"
};

// "spot: price of a node" of spot/usd_per_node_hour. Names of other shape are words already.
function planInput(input) {
  const [, place = "", key] = /^(?:(spot|failures\/\d+)\/)?(.*)$/.exec(input);
  return `${place.replace("/", " ")}${place ? ": " : ""}${kPlanInputs[key] ?? key.replaceAll("_", " ")}`;
}

// 6.5 rather than 6.500: an input is as somebody wrote it.
function planPlain(unit) {
  return (value) => {
    if (unit === "s") return fmt.seconds(value);
    return isNumber(value) ? grouped(String(Number(value.toPrecision(4)))) : kNothing;
  };
}

function planInputValue({unit}, value) {
  return unit === "s" ? fmt.seconds(value) : `${planPlain(unit)(value)} ${unit}`;
}

// No other choice is better there, no limit breaks, and the objective hardly moves.
function planHardlyMatters(input) {
  return input.shifts.every(
      (shift) => isNumber(shift.change) && Math.abs(shift.change) < kPlanNoMatter &&
          shift.within_limits !== false && !shift.instead);
}

function planRival(rival) {
  return `${rival.policy} with ${planSpares(rival)} on ${planShape(rival.parallel)}`;
}

// An input without a value is another way to predict, which has one shift.
function planShiftRow(input) {
  const end = (shift) => ({
    change: shift.change,
    text: input.value === 0 ? "" : planInputValue(input, shift.value),
    remark: shift.within_limits === false ? "breaks a limit" : undefined
  });
  const now = input.value === 0 ? [] : [`now ${planInputValue(input, input.value)}`];
  const [low, high] = input.shifts.map(end);
  return {label: planInput(input.input), note: [...now, input.tier].join(", "), low, high};
}

function planBreakEvens(section, inputs) {
  const rows = inputs.flatMap((input) => input.break_even.map((even) => ({input, even})));
  const others = inputs.filter((input) => input.value === 0 && input.shifts[0].instead)
                     .map(
                         ({input, shifts: [shift]}) =>
                             `According to ${planInput(input)}, ${planRival(shift.instead)} is better.`);
  if (rows.length + others.length === 0)
    return section.note(
        "No other choice is better while the inputs stay within their ranges of uncertainty.");
  const bare = (value, {input}) => planPlain(input.unit)(value);
  if (rows.length > 0)
    section.table({
      title: "break-even values",
      file: "break-even",
      rows,
      columns: [
        {key: "input", value: ({input}) => input.input, format: (input) => oneLine(planInput(input))},
        {key: "unit", value: ({input}) => (input.unit === "s" ? "" : input.unit), format: oneLine},
        {key: "now", value: ({input}) => input.value, format: bare}, {
          key: "value",
          label: "break-even",
          value: ({even}) => even.value,
          format: (value, row) => `${row.even.factor < 1 ? "below" : "above"} ${bare(value, row)}`
        },
        {key: "low", label: "95\u202f% from", value: ({even}) => even.interval?.[0], format: bare},
        {key: "high", label: "to", value: ({even}) => even.interval?.[1], format: bare}, {
          key: "instead",
          label: "better choice",
          value: ({even}) => (even.instead ? planRival(even.instead) : null)
        }
      ]
    });
  return section.list(others);
}

function planInputs(panel, result) {
  if (!result.best) return null;
  const section = panel.section(
      "What the recommendation depends on",
      `How much the ${
          planObjective(result)
              .text} changes when an input is at the low or high end of its range of uncertainty, which depends on its tier.`);
  const leftOut = result.not_examined ?? [];
  const inputs = (result.sensitivity ?? []).filter((input) => input.shifts.length > 0);
  const rows = inputs.filter((input) => !planHardlyMatters(input)).map(planShiftRow);
  const reach = (row) => Math.max(...[row.low, row.high].map((end) => Math.abs(end?.change ?? 0)));
  if (rows.length > 0)
    section.tornado({
      title: `Change in ${planObjective(result).text}`,
      label: `change in ${planObjective(result).text}`,
      rows: rows.sort((a, b) => reach(b) - reach(a))
    });
  const others = inputs.filter(planHardlyMatters).map((input) => planInput(input.input));
  if (others.length > 0)
    section.note(`These inputs change the ${planObjective(result).text} by less than ${
        fmt.percent(kPlanNoMatter)}: ${others.join("; ")}.`);
  if (leftOut.length > 0)
    section.note(`Not examined because the time ran out: ${leftOut.map(planInput).join("; ")}.`);
  if (inputs.length === 0)
    return leftOut.length > 0 || section.note("The influence of the inputs was not examined.");
  return planBreakEvens(section.section("When another choice is better"), inputs);
}
