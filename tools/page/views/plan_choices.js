// The choices of a plan: what they are in words, and the tables of the answer and of those beside it.

// "DP 64 x PP 2 x TP 4 x CP 2, ZeRO-1", as the text of goodput plan has it.
function planShape(parallel) {
  const {dp, pp, tp, vpp, cp, ep, zero} = parallel;
  const factors =
      [["DP", dp], ["PP", pp], ["TP", tp], ...[["VPP", vpp], ["CP", cp]].filter(([, n]) => n > 1)];
  return `${factors.map(([key, n]) => `${key} ${n}`).join(" \u00d7 ")}${ep > 1 ? `, EP ${ep}` : ""}${
      zero > 0 ? `, ZeRO-${zero}` : ""}`;
}

// "11 min", as people set it.
function planTime(seconds) {
  if (!isNumber(seconds)) return kNothing;
  if (seconds < 90) return `${fmt.integer(seconds)}\u202fs`;
  if (seconds < 90 * 60) return `${fmt.integer(seconds / 60)}\u202fmin`;
  return `${grouped((seconds / 3600).toFixed(1))}\u202fh`;
}

// "11 min (88 steps)"; null without checkpoints to storage.
function planEvery({interval_s: seconds, interval_steps: steps}) {
  if (!(steps > 0)) return null;
  return isNumber(seconds) ? `${planTime(seconds)} (${plural(steps, "step")})` : plural(steps, "step");
}

function planSpares({spares, spot_nodes: spot}) {
  return `${spares === 0 ? "no spares" : plural(spares, "spare")}${
      spot > 0 ? `, ${plural(spot, "node")} from the spot market` : ""}`;
}

function planOptionText(option) {
  const every = planEvery(option);
  return [
    isNumber(option.nodes_held) ? plural(option.nodes_held, "node") : null, planSpares(option), option.policy,
    every ? `saves every ${every}` : null, planShape(option.parallel)
  ].filter(Boolean)
      .join(", ");
}

// What makes a choice: two of the same key are the same choice.
function planKey({policy, parallel, spares, spot_nodes: spot, interval_steps: steps}) {
  return JSON.stringify([policy, parallel, spares, spot || 0, steps || 0]);
}

// "$636 588 ± 0.1 %"
function planSpread(key, format) {
  return (value, option) => {
    const ci = option.ci?.[key];
    if (!isNumber(value) || !ci || value === 0) return format(value);
    return `${format(value)} \u00b1 ${fmt.percent((ci[1] - ci[0]) / 2 / value)}`;
  };
}

// Choices that differ only in how often they save are one row, with all their intervals.
function planRows(options) {
  const rows = new Map();
  for (const option of options) {
    const key = planKey({...option, interval_steps: 0});
    if (!rows.has(key)) rows.set(key, {...option, alike: []});
    rows.get(key).alike.push(option);
  }
  return [...rows.values()];
}

// The range of a number of the choices that a row stands for.
function planRange(key, format) {
  return (value, row) => {
    const [low, high] = d3.extent((row.alike ?? [row]).map((option) => option[key]).filter(isNumber));
    return low === high ? format(low) : `${format(low)} to ${format(high)}`;
  };
}

function planOptionTable(section, title, rows) {
  const some = (test) => rows.some(test);
  const shapes = [...new Set(rows.map((row) => planShape(row.parallel)))];
  section.table({
    title,
    file: fileName(title),
    rows,
    columns: [
      {key: "policy"}, {key: "nodes_held", label: "nodes"}, {key: "spares"},
      ...(some((row) => row.spot_nodes > 0) ? [{key: "spot_nodes", label: "spot nodes"}] : []),
      {key: "interval_s", label: "saves every", format: planRange("interval_s", planTime)},
      {key: "interval_steps", label: "steps", format: planRange("interval_steps", fmt.integer)},
      {key: "cost_usd", label: "cost", format: planSpread("cost_usd", fmt.usd)},
      {key: "jct_s", label: "finishes in", format: planSpread("jct_s", fmt.seconds)},
      {key: "jct_p95_s", label: "95\u202f% within"},
      ...(some((row) => isNumber(row.p_deadline)) ?
              [{key: "p_deadline", label: "in time", format: fmt.percent}] :
              []),
      ...(some((row) => isNumber(row.p_budget)) ?
              [{key: "p_budget", label: "in budget", format: fmt.percent}] :
              []),
      {key: "goodput", format: fmt.percent}, {key: "trials"},
      ...(shapes.length > 1 ? [{key: "plan", value: (row) => planShape(row.parallel), format: oneLine}] : [])
    ]
  });
  if (shapes.length === 1) section.note(`Parallel plan: ${shapes[0]}.`);
}

function planTiesText(count, rows) {
  if (count === 0) return undefined;
  return `${
             count === 1 ?
                 "One other choice is" :
                 `${
                     fmt.integer(
                         count)} other choices are`} equally good: the difference is within 0.5\u202f% or not ` +
      `significant.${rows < count ? " Choices that differ only in how often they save share a row." : ""} ` +
      "The recommended choice comes first.";
}

function planChoices(panel, result) {
  const {best, ties = [], pareto = [], closest} = result;
  const others = planRows(ties);
  const section = panel.section(
      best ? "Recommended choice" : "The closest choice", planTiesText(ties.length, others.length));
  const first = best ?? closest;
  if (first)
    planOptionTable(
        section, best ? "recommended choice and equally good ones" : "the closest choice",
        [first, ...others]);
  else
    section.note("No choice finishes the job in every run.");
  section.list((first?.warnings ?? []).map((text) => `${sentence(text)}.`));
  if (pareto.length > 1)
    planOptionTable(
        section.section(
            "Cost against time: the best choices", "No choice is better than these in both cost and time."),
        "the best choices in cost and time", pareto);
}
