// goodput.check: what moved between a baseline and this program.

// The worst first: what needs somebody, then what moved, then the rest.
const kCheckOutcomes = ["failed", "worse", "changed", "undecided", "better", "gone", "new", "same"];

function checkInk(outcome) {
  const inks = {worse: 2, failed: 2, gone: 2, undecided: 1, changed: 4, better: 3, new: 6, same: 7};
  return `var(--category-${inks[outcome] ?? 7})`;
}

// Of a baseline of 0 a change is in the metric's own unit.
function checkIsRelative(one) { return isNumber(one.change) && one.change_is_relative !== false; }

// How far a change is to the bad side; what has no direction counts whichever way.
function checkHarm(one) {
  if (!isNumber(one.change)) return 0;
  return one.better === "more" ? -one.change : one.better === "less" ? one.change : Math.abs(one.change);
}

function checkCases(result) {
  const rank = (one) => kCheckOutcomes.indexOf(one.outcome);
  return [...(result.cases ?? [])].sort((a, b) => rank(a) - rank(b) || checkHarm(b) - checkHarm(a));
}

function checkCountText(result, outcome) { return `${fmt.integer(result.counts?.[outcome])} ${outcome}`; }

function checkHeadline(result) {
  if (result.headline) return result.headline;
  const counted = kCheckOutcomes.filter((outcome) => outcome !== "same" && result.counts?.[outcome] > 0)
                      .map((outcome) => checkCountText(result, outcome));
  const rest = `${plural(result.cases?.length ?? 0, "case")}${
      counted.length > 0 ? `: ${counted.join(", ")}` : ", all unchanged"}`;
  const verdicts = {
    ok: `no regression in ${rest}.`,
    regression: `regression in ${rest}.`,
    undecided: `undecided in ${rest}.`
  };
  return `Suite ${result.suite}: ${verdicts[result.verdict] ?? `${result.verdict}, ${rest}.`}`;
}

function checkFigures(result) {
  return [
    {label: "Verdict", value: fmt.any(result.verdict)},
    ...kCheckOutcomes.filter((outcome) => isNumber(result.counts?.[outcome]))
        .map((outcome) => ({label: sentence(outcome), value: fmt.integer(result.counts[outcome])})),
    ...(result.baseline ?
            [{label: "Baseline", value: result.baseline.split("/").pop(), note: result.baseline}] :
            [])
  ];
}

// The band within which a relative change is no change; of an absolute tolerance that around the baseline.
function checkTolerance(one) {
  const {relative, absolute} = one.tolerance ?? {};
  if (isNumber(relative)) return [-relative, relative];
  if (isNumber(absolute) && isNumber(one.baseline) && one.baseline !== 0)
    return [-absolute / Math.abs(one.baseline), absolute / Math.abs(one.baseline)];
  return null;
}

function checkToleranceText({tolerance}) {
  if (isNumber(tolerance?.relative)) return `\u00b1${fmt.percent(tolerance.relative)}`;
  if (isNumber(tolerance?.absolute)) return `\u00b1${fmt.number(tolerance.absolute)}`;
  return null;
}

function checkForest(panel, result) {
  const section = panel.section(
      "What changed",
      "Relative change of every case from the baseline with its 95 % interval, worst first. Gray bands show " +
          "the tolerance of a case.");
  const cases = checkCases(result);
  const relative = cases.filter(checkIsRelative);
  const known = relative.filter((one) => one.outcome !== "same" || one.change !== 0);
  if (known.length === 0) return section.note("Nothing: every value is the same as in the baseline.");
  section.add(el("ul", {class: "legend"}, [...new Set(known.map((one) => one.outcome))].map((outcome) => {
    const swatch =
        svg("svg", {width: 12, height: 10, "aria-hidden": "true"}, svg("circle", {cx: 5, cy: 5, r: 4}));
    swatch.firstChild.style.setProperty("fill", checkInk(outcome));
    return el("li", {}, swatch, outcome);
  })));
  section.intervals({
    title: "Relative change",
    label: "candidate against baseline",
    base: 0,
    format: checkChange,
    tick: (value) => `${value > 0 ? "+" : ""}${shortNumber(100 * value)}\u202f%`,
    rows: known.map((one) => ({
                      label: one.name,
                      value: one.change,
                      low: one.ci?.[0],
                      high: one.ci?.[1],
                      tolerance: checkTolerance(one),
                      ink: checkInk(one.outcome),
                      note: [
                        one.outcome, one.metric,
                        one.better === "same" ? "should stay the same" : `${one.better} is better`
                      ].filter(Boolean)
                                .join(", ")
                    }))
  });
  if (result.undecided) section.note(result.undecided);
  const still = relative.length - known.length;
  if (still > 0) section.note(`${plural(still, "case")} did not change at all.`);
  const others = cases.length - relative.length;
  if (others > 0)
    section.note(`${plural(others, "case")} without a relative change ${
        others === 1 ? "is" : "are"} only in the table.`);
  return section;
}

// With its sign: +1.2 %.
function checkChange(value) {
  if (!isNumber(value)) return kNothing;
  const digits = Math.abs(value) > 0 && Math.abs(value) < 0.001 ? 4 : 2;
  return `${value > 0 ? "+" : ""}${grouped((100 * value).toFixed(digits))}\u202f%`;
}

// The same of a change that is not relative: a plain number.
function checkAnyChange(value, one) {
  if (checkIsRelative(one)) return checkChange(value);
  return isNumber(value) ? `${value > 0 ? "+" : ""}${fmt.number(value)}` : kNothing;
}

function checkTable(panel, result) {
  const section = panel.section("Cases");
  section.table({
    title: "cases",
    file: "cases",
    rows: checkCases(result),
    columns: [
      {key: "name"}, {key: "outcome"}, {key: "baseline", format: fmt.number},
      {key: "candidate", format: fmt.number}, {key: "change", format: checkAnyChange},
      {key: "low", value: (one) => one.ci?.[0], format: checkAnyChange},
      {key: "high", value: (one) => one.ci?.[1], format: checkAnyChange},
      {key: "tolerance", value: checkToleranceText}, {key: "metric"}, {key: "better"}, {key: "compare"},
      {key: "p_value", format: fmt.number}, {key: "trials"}, {key: "looks"}, {
        key: "why",
        value: (one) => [...(one.why ?? []), ...(one.reason ? [one.reason] : [])].join("; "),
        format: (text) => el("span", {class: "one-line"}, name(text))
      }
    ]
  });
  section.details({
    title: "commands",
    file: "commands",
    rows: result.cases ?? [],
    columns: [{key: "name"}, {key: "command", value: (one) => (one.command ?? []).join(" ")}]
  });
}

// Each needs somebody: in words, the worst first.
function checkWhy(panel, result) {
  const told = checkCases(result).filter(
      (one) => one.outcome !== "same" && one.outcome !== "undecided" &&
          ((one.why ?? []).length > 0 || one.reason));
  if (told.length === 0) return;
  const section = panel.section("Why");
  for (const one of told.slice(0, 20)) {
    const inner = section.section(
        `${one.name}: ${one.outcome}${isNumber(one.change) ? `, ${checkAnyChange(one.change, one)}` : ""}`);
    inner.list([...(one.reason ? [one.reason] : []), ...(one.why ?? [])]);
  }
  if (told.length > 20) section.note(`${fmt.integer(told.length - 20)} more are in the table.`);
}

function checkTime(panel, result) {
  const runs = result.time ?? [];
  if (runs.length === 0) return;
  const slower = runs.filter((run) => run.outcome === "slower");
  const section = panel.section(
      "Run time",
      `${
          slower.length > 0 ?
              `Slower: ${slower.map((run) => run.run).join(", ")}.` :
              "No run is slower."} Gray bands show the noise: the baseline compared with itself.`);
  section.intervals({
    title: "Candidate time divided by baseline time",
    label: "ratio of medians",
    base: 1,
    format: fmt.ratio,
    rows: runs.map((run) => ({
                     label: run.run,
                     value: run.ab.of_medians,
                     tolerance: [
                       2 - Math.max(run.aa.of_medians, 2 - run.aa.of_medians),
                       Math.max(run.aa.of_medians, 2 - run.aa.of_medians)
                     ],
                     ink: checkInk(
                         run.outcome === "slower"     ? "worse" :
                             run.outcome === "faster" ? "better" :
                                                        "same"),
                     note: run.outcome
                   }))
  });
  section.table({
    title: "time",
    file: "time",
    rows: runs,
    columns: [
      {key: "run"}, {key: "outcome"}, {key: "baseline_s"}, {key: "candidate_s"}, {key: "rounds"},
      {key: "medians", label: "ratio of medians", value: (run) => run.ab.of_medians, format: fmt.ratio},
      {key: "minima", label: "ratio of minima", value: (run) => run.ab.of_minima, format: fmt.ratio},
      {key: "noise", label: "baseline / itself", value: (run) => run.aa.of_medians, format: fmt.ratio}
    ]
  });
}

view("goodput.check", {
  title: "Check against a baseline",
  headline: checkHeadline,
  figures: checkFigures,
  render(panel, result) {
    checkForest(panel, result);
    checkWhy(panel, result);
    checkTable(panel, result);
    if (result.notes?.length > 0) panel.section("Notes").list(result.notes);
    checkTime(panel, result);
  },
});
