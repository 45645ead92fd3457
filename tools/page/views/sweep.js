// goodput.sweep: what the points of a sweep come to. `merge` writes the same.

const kSweepMetrics = {
  cost: {text: "cost", format: fmt.usd, lessIsBetter: true},
  jct_s: {text: "time to the goal", format: fmt.seconds, lessIsBetter: true},
  p_deadline: {text: "chance of meeting the deadline", format: fmt.percent, lessIsBetter: false},
  samples_per_hour: {text: "samples per hour", format: fmt.number, lessIsBetter: false},
  goodput: {text: "goodput", format: fmt.percent, lessIsBetter: false},
};

function sweepMetric(key) {
  return kSweepMetrics[key] ?? {text: label(key), format: fmt.number, lessIsBetter: false};
}

// The rows of the result's columns: {point, policy, finished, trials, parameters: {...},
// metrics: {name: {value, low, high}}}.
function sweepRows(result) {
  const all = result.outcomes;
  if (!all) return [];
  const parameters = Object.entries(all.parameters);
  const metrics = Object.entries(all.metrics);
  return all.point.map(
      (point, at) => ({
        point,
        policy: all.policy[at],
        finished: all.finished[at],
        trials: all.trials[at],
        parameters: Object.fromEntries(parameters.map(([key, values]) => [key, values[at]])),
        metrics: Object.fromEntries(
            metrics.filter(([, {value}]) => value[at] !== null)
                .map(([key, {value, low, high}]) => [key, {value: value[at], low: low[at], high: high[at]}]))
      }));
}

function sweepPointText(parameters) {
  return Object.entries(parameters)
      .map(([key, value]) => `${sweepParameter(key)} ${fmt.any(value)}`)
      .join(", ");
}

// The last word of a pointer says most: /failures/mtbf_hours is "mtbf hours".
function sweepParameter(key) { return key.slice(key.lastIndexOf("/") + 1).replaceAll("_", " "); }

function sweepHeadline(result) {
  if (!result.complete)
    return `Shard ${fmt.any(result.shard?.index)} of ${fmt.any(result.shard?.count)} is done: ${
        plural(result.shard?.points, "point")}.`;
  const best = Object.entries(result.best ?? {})[0];
  if (!best) return `None of the ${plural(result.points, "point")} could run.`;
  const [key, {value, policy, parameters}] = best;
  const {text, format, lessIsBetter} = sweepMetric(key);
  return `${lessIsBetter ? "Lowest" : "Highest"} ${text} among ${plural(result.points, "point")}: ${
      format(value)} by ${policy} with ${sweepPointText(parameters)}.`;
}

function sweepFigures(result) {
  const best = Object.entries(result.best ?? {}).map(([key, one]) => {
    const {text, format} = sweepMetric(key);
    return {
      label: `Best ${text}`,
      value: format(one.value),
      note: one.ci ? `${format(one.ci[0])} to ${format(one.ci[1])}` : "no confidence interval"
    };
  });
  if (!result.complete)
    return [
      {label: "Points in this shard", value: fmt.integer(result.shard?.points)}, {
        label: "Shards still to run",
        value: fmt.integer((result.missing ?? []).length + (result.unfinished ?? []).length)
      }
    ];
  return [
    {
      label: "Points",
      value: fmt.integer(result.points),
      note: `${fmt.integer(result.ran)} ran, ${fmt.integer(result.errors)} invalid`
    },
    ...best
  ];
}

function sweepFront(panel, result, rows) {
  const yKey = rows.some((row) => row.metrics.jct_s) ? "jct_s" : "samples_per_hour";
  const known =
      rows.filter((row) => row.metrics.cost && row.metrics[yKey] && (yKey !== "jct_s" || row.finished));
  if (known.length < 2) return;
  const section = panel.section(
      "Cost against time",
      yKey === "jct_s" ?
          "Points that reached the goal in every trial. No point is both cheaper and faster than those on the dashed line." :
          "The scenario has no goal, so this shows samples per hour. No point is both cheaper and faster than those on the dashed line.");
  const {text, format} = sweepMetric(yKey);
  const ci = ({low, high}) => (isNumber(low) ? [low, high] : undefined);
  section.front({
    title: "Every point and policy",
    x: {label: "cost", format: fmt.usd},
    y: {label: text, format},
    moreIsBetter: yKey !== "jct_s",
    categories: [...new Set(rows.map((row) => row.policy))],
    points: known.map((row) => ({
                        x: row.metrics.cost.value,
                        y: row.metrics[yKey].value,
                        xCi: ci(row.metrics.cost),
                        yCi: ci(row.metrics[yKey]),
                        label: `point ${row.point}, ${row.policy} with ${sweepPointText(row.parameters)}`,
                        category: row.policy
                      }))
  });
}

function sameValue(a, b) { return JSON.stringify(a) === JSON.stringify(b); }

// The rows that differ from the best point in `parameter` alone.
function sweepLine(rows, best, parameter) {
  return rows.filter(
      (row) => Object.entries(best.parameters)
                   .every(([key, value]) => key === parameter || sameValue(row.parameters[key], value)));
}

function sweepCurve(panel, {rows, parameter, metric}) {
  const {text, format} = sweepMetric(metric);
  const values = rows.map((row) => row.parameters[parameter]);
  const policies = [...new Set(rows.map((row) => row.policy))];
  if (!values.every(isNumber)) {
    panel.intervals({
      title: `${sentence(text)} by ${sweepParameter(parameter)}`,
      label: text,
      format,
      base: d3.min(rows, (row) => row.metrics[metric].value),
      rows: rows.map((row) => ({
                       label: policies.length > 1 ? `${fmt.any(row.parameters[parameter])}, ${row.policy}` :
                                                    fmt.any(row.parameters[parameter]),
                       ...row.metrics[metric],
                       ink: categoryInk(policies.indexOf(row.policy))
                     }))
    });
    return;
  }
  const xs = values.filter((value) => value > 0);
  const isWide = xs.length === values.length && d3.max(xs) / d3.min(xs) >= 30;
  const series = policies.map((policy) => {
    const of = rows.filter((row) => row.policy === policy)
                   .sort((a, b) => a.parameters[parameter] - b.parameters[parameter]);
    const at = (row) => row.parameters[parameter];
    return {
      name: policy,
      points: of.map((row) => [at(row), row.metrics[metric].value]),
      band: of.every((row) => isNumber(row.metrics[metric].low)) ?
          of.map((row) => [at(row), row.metrics[metric].low, row.metrics[metric].high]) :
          undefined
    };
  });
  panel.lineChart({
    title: `${sentence(text)} by ${sweepParameter(parameter)}`,
    x: {label: sweepParameter(parameter), log: isWide},
    y: {label: text, format},
    series
  });
}

// A curve a parameter that varies on the lines through the best point of the chosen metric.
function sweepCurves(panel, result, rows) {
  const known = Object.keys(result.best ?? {}).filter((key) => result.outcomes.metrics[key]);
  const section = panel.section(
      "One parameter at a time",
      "Lines through the best point, with all other parameters unchanged; bands are 95 % intervals.");
  if (known.length === 0) return section.missing("a best point, because no point ran.");
  const holder = el("div", {class: "curves"});
  const show = (metric) => {
    holder.replaceChildren();
    const best = result.best[metric];
    const inner = new Panel(holder, section.level, section.file);
    inner.note(
        `Best ${sweepMetric(metric).text}: point ${best.point}, `, name(best.policy), " with ",
        name(sweepPointText(best.parameters)), ".");
    const columns = inner.columns();
    let drawn = 0;
    for (const parameter of result.parameters) {
      const line = sweepLine(rows, best, parameter).filter((row) => row.metrics[metric]);
      if (new Set(line.map((row) => JSON.stringify(row.parameters[parameter]))).size < 2) continue;
      sweepCurve(
          columns.section(sweepParameter(parameter), parameter.startsWith("/") ? parameter : undefined),
          {rows: line, parameter, metric});
      drawn += 1;
    }
    if (drawn === 0)
      inner.note("No two points differ in only one parameter, as is usual for a list or a Latin hypercube.");
  };
  const id = newId("metric");
  const select = el("select", {id}, known.map((key) => el("option", {value: key}, sweepMetric(key).text)));
  select.addEventListener("change", () => show(select.value));
  section.add(el("p", {class: "choice"}, el("label", {for: id
                 }, "Metric "), select));
  section.add(holder);
  show(known[0]);
}

// How far a parameter alone moves the metric from the best point: two bars a parameter are its least and its
// largest value.
function sweepReach(panel, result, rows) {
  const key = Object.keys(result.best ?? {})[0];
  if (!key || !result.outcomes.metrics[key]) return;
  const best = result.best[key];
  const spans =
      result.parameters
          .map((parameter) => {
            const line = sweepLine(rows, best, parameter)
                             .filter(
                                 (row) => row.policy === best.policy && row.metrics[key] &&
                                     isNumber(row.parameters[parameter]));
            const sorted = line.sort((a, b) => a.parameters[parameter] - b.parameters[parameter]);
            const end = (row) =>
                ({change: row.metrics[key].value / best.value - 1, text: fmt.any(row.parameters[parameter])});
            return sorted.length > 1 ? {
              label: sweepParameter(parameter),
              note: `best at ${fmt.any(best.parameters[parameter])}`,
              low: end(sorted[0]),
              high: end(sorted[sorted.length - 1])
            } :
                                       null;
          })
          .filter(Boolean);
  if (spans.length === 0 || best.value === 0) return;
  const reach = (row) => Math.max(Math.abs(row.low.change), Math.abs(row.high.change));
  panel
      .section(
          "Which parameter matters most?",
          `Change from the best ${sweepMetric(key).text}, with ${
              best.policy}, when one parameter is at its smallest or largest value and all others are unchanged.`)
      .tornado({
        title: `Change in ${sweepMetric(key).text}`,
        label: `change in ${sweepMetric(key).text}`,
        rows: spans.sort((a, b) => reach(b) - reach(a))
      });
}

function sweepTable(panel, result, rows) {
  const section = panel.section("Points");
  const {outcomes} = result;
  if (outcomes.left_out > 0)
    section.note(
        `${fmt.integer(outcomes.left_out)} of ${
            fmt.integer(outcomes.left_out + outcomes.rows)} rows are left out. The best points, ` +
        "the lines through them and the dashed line are complete; summary.csv has every row.");
  section.table({
    title: "points",
    file: "points",
    rows,
    columns: [
      {key: "point"}, {key: "policy"},
      ...result.parameters.map(
          (key) => ({key, label: sweepParameter(key), value: (row) => row.parameters[key]})),
      ...Object.keys(outcomes.metrics)
          .flatMap(
              (key) =>
                  [{
                    key,
                    label: sweepMetric(key).text,
                    value: (row) => row.metrics[key]?.value,
                    format: sweepMetric(key).format
                  },
                   {
                     key: `${key}_low`,
                     label: "low",
                     value: (row) => row.metrics[key]?.low,
                     format: sweepMetric(key).format
                   },
                   {
                     key: `${key}_high`,
                     label: "high",
                     value: (row) => row.metrics[key]?.high,
                     format: sweepMetric(key).format
                   }]),
      {key: "trials"}, {key: "finished"}
    ]
  });
}

function sweepSayings(panel, result) {
  const rows = [
    ...(result.reasons ?? []).map((one) => ({kind: "invalid", policy: null, ...one})),
    ...(result.refused ?? []).map((one) => ({kind: "refused", ...one})),
    ...(result.warnings ?? []).map((one) => ({kind: "warning", ...one}))
  ];
  if (rows.length === 0) return;
  panel.section("Reasons and warnings").table({
    title: "reasons and warnings",
    file: "sayings",
    rows,
    columns:
        [{key: "kind"}, {key: "policy"}, {key: "what"}, {key: "points"}, {key: "first", label: "first point"}]
  });
}

view("goodput.sweep", {
  title: "Sweep",
  headline: sweepHeadline,
  figures: sweepFigures,
  render(panel, result) {
    if (!result.complete)
      return panel.note(
          "The results will be available after all shards are done and goodput merge has merged them.");
    if (!result.outcomes) {
      panel.missing("the points (newer versions of goodput write them).");
    } else {
      const rows = sweepRows(result);
      sweepFront(panel, result, rows);
      sweepCurves(panel, result, rows);
      sweepReach(panel, result, rows);
      sweepTable(panel, result, rows);
    }
    sweepSayings(panel, result);
    return panel;
  },
});
