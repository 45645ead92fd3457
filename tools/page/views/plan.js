// goodput.plan: which plan, policy and nodes answer a question best, what else there is, and what it rests
// on.

const kPlanObjectives = {
  cost: {key: "cost_usd", text: "cost", format: fmt.usd},
  time: {key: "jct_s", text: "time", format: fmt.seconds}
};

function planObjective(result) { return kPlanObjectives[result.objective] ?? kPlanObjectives.cost; }

function planOptionText(option) {
  const {parallel: p} = option;
  const shape = p ? `TP ${p.tp} \u00d7 PP ${p.pp} \u00d7 DP ${p.dp}${p.cp > 1 ? ` \u00d7 CP ${p.cp}` : ""}${
                        p.ep > 1 ? `, EP ${p.ep}` : ""}` :
                                   "";
  const spot = option.spot_nodes > 0 ? `, ${plural(option.spot_nodes, "spot node")}` : "";
  const interval =
      isNumber(option.interval_steps) ? `, saves every ${fmt.integer(option.interval_steps)} steps` : "";
  return [option.policy, shape, `${plural(option.spares, "spare")}${spot}${interval}`].filter(Boolean).join(
      ", ");
}

function planHeadline(result) {
  const {best, closest, lacks} = result;
  if (best)
    return `${planOptionText(best)}: ${
        isNumber(best.cost_usd) ? `${fmt.usd(best.cost_usd)}, ` : ""}done after ${fmt.seconds(best.jct_s)}.`;
  if (closest) return `No plan does it: ${lacks ?? "the nearest lacks something"}.`;
  return `No plan does it${lacks ? `: ${lacks}` : ""}.`;
}

function planFigures(result) {
  const option = result.best ?? result.closest;
  const figures = [{
    label: "Answer",
    value: result.best ? option.policy : "none",
    note: result.ties?.length > 0 ? `${plural(result.ties.length, "tie")}` : undefined
  }];
  if (!option) return figures;
  const interval = (key, format) =>
      (option.ci?.[key] ? `${format(option.ci[key][0])} to ${format(option.ci[key][1])}` : undefined);
  const add = (text, key, format, note) => {
    if (isNumber(option[key]))
      figures.push({label: text, value: format(option[key]), note: note ?? interval(key, format)});
  };
  add("Cost", "cost_usd", fmt.usd);
  add("Million tokens", "usd_per_million_tokens", (value) => `$${fmt.number(value)}`,
      "cost of a million tokens");
  add("Done after", "jct_s", fmt.seconds);
  add("Done in 95 % by", "jct_p95_s", fmt.seconds);
  add("Meets the deadline", "p_deadline", fmt.percent);
  add("Keeps the budget", "p_budget", fmt.percent, "share of trials");
  add("Goodput", "goodput", fmt.percent);
  figures.push({
    label: "Trials",
    value: fmt.integer(option.trials),
    note: isNumber(result.contest?.contenders) ? `of ${plural(result.contest.contenders, "contender")}` :
                                                 undefined
  });
  return figures;
}

function planPoint(option, best) {
  return {
    x: option.cost_usd,
    y: option.jct_s,
    xCi: option.ci?.cost_usd,
    yCi: option.ci?.jct_s,
    label: planOptionText(option),
    category: option.policy,
    isBest: option === best
  };
}

// Contenders as options, of the columns of the result.
function planContenders(result) {
  const all = result.contenders;
  if (!all) return [];
  return all.policy.map((policy, at) => ({
                          policy,
                          parallel: null,
                          tp: all.tp[at],
                          pp: all.pp[at],
                          spares: all.spares[at],
                          spot_nodes: all.spot_nodes[at],
                          interval_steps: all.interval_steps[at] > 0 ? all.interval_steps[at] : null,
                          cost_usd: all.cost_usd[at],
                          jct_s: all.jct_s[at],
                          trials: all.trials[at]
                        }));
}

function planFront(panel, result) {
  const section = panel.section(
      "Cost against time",
      "Every contender that always finishes; on the dashed line nothing is both cheaper and sooner. " +
          "Small marks fell out early and have few trials.");
  const chosen = [...(result.pareto ?? []), ...(result.best ? [result.best] : [])];
  if (!result.contenders) section.missing("the contenders; written by newer versions.");
  if (chosen.length === 0) return section.missing("a front: no contender always finishes and has a price.");
  const isChosen = new Set(chosen.map((option) => `${option.cost_usd} ${option.jct_s} ${option.policy}`));
  const others = planContenders(result).filter(
      (option) => !isChosen.has(`${option.cost_usd} ${option.jct_s} ${option.policy}`));
  const points = [
    ...chosen
        .filter(
            (option, at) =>
                chosen.findIndex((one) => one.cost_usd === option.cost_usd && one.jct_s === option.jct_s) ===
                    at ||
                option === result.best)
        .map((option) => planPoint(option, result.best)),
    ...others.map((option) => ({
                    ...planPoint(option),
                    label: `TP ${option.tp} \u00d7 PP ${option.pp}, ${planOptionText(option)}`
                  }))
  ];
  section.front({
    title: "Cost against time",
    x: {label: "cost", format: fmt.usd},
    y: {label: "time to the goal", format: fmt.seconds},
    points
  });
  if (result.contenders?.left_out > 0)
    section.note(`The ${fmt.integer(result.contenders.left_out)} dearest contenders are left out.`);
  return section;
}

const kPlanFactors = {
  spares: "Spare nodes",
  interval_steps: "Steps between checkpoints",
  spot_nodes: "Nodes of the spot market"
};

function planCurves(panel, result) {
  if (!result.best) return;
  const section = panel.section(
      "One thing changed",
      "The answer with one number of it changed and all else as it is; bands are 95 % intervals, " +
          "wide where a choice fell out early.");
  if (!result.one_factor) return section.missing("what other numbers come to; written by newer versions.");
  const {key, text, format} = planObjective(result);
  const known = Object.entries(result.one_factor);
  if (known.length === 0) return section.note("The question left no such choice.");
  const columns = section.columns();
  for (const [factor, points] of known) {
    const shown = points.filter((point) => isNumber(point[key]));
    const title = `${kPlanFactors[factor] ?? label(factor)} (now ${fmt.any(result.best[factor])})`;
    columns.section(title).lineChart({
      title: `${sentence(text)} by ${(kPlanFactors[factor] ?? label(factor)).toLowerCase()}`,
      x: {label: label(factor), format: fmt.integer, isWhole: true},
      y: {label: text, format},
      series: [{
        name: result.best.policy,
        points: shown.map((point) => [point.value, point[key]]),
        band: shown.every((point) => point.ci?.[key]) ?
            shown.map((point) => [point.value, ...point.ci[key]]) :
            undefined
      }]
    });
  }
  section.details({
    title: "the choices around the answer",
    file: "one-factor",
    columns: [
      {key: "factor", format: label}, {key: "value"}, {key: "interval_steps"}, {key: "cost_usd"},
      {key: "jct_s"}, {key: "goodput", format: fmt.percent}, {key: "p_deadline", format: fmt.percent},
      {key: "trials"}
    ],
    rows: known.flatMap(([factor, points]) => points.map((point) => ({factor, ...point})))
  });
}

// A key of the question, with its unit.
function planInput(key) { return key.replaceAll("_", " "); }

function planShiftText(shift) { return shift ? fmt.number(shift.value) : kNothing; }

function planTornado(panel, result) {
  const section = panel.section(
      "What the answer rests on",
      "How far the objective moves when an input is as low or as high as its tier leaves open.");
  const inputs = (result.sensitivity ?? []).filter((input) => input.shifts.length > 0);
  if (inputs.length === 0) return section.note("Not looked at.");
  const rows = inputs.map(
      (input) => ({
        label: planInput(input.input),
        note: `${fmt.number(input.value)} ${input.unit}, ${input.tier}`,
        ...Object.fromEntries(["low", "high"].map(
            (end,
             at) => [end, {change: input.shifts[at]?.change ?? null, text: planShiftText(input.shifts[at])}]))
      }));
  const reach = (row) => Math.max(Math.abs(row.low.change ?? 0), Math.abs(row.high.change ?? 0));
  section.tornado({
    title: `Change of ${planObjective(result).text}`,
    label: `change of ${planObjective(result).text}`,
    rows: rows.sort((a, b) => reach(b) - reach(a))
  });
  const evens = inputs.flatMap(
      (input) => input.break_even.map((shift) => ({
                                        input: input.input,
                                        unit: input.unit,
                                        now: input.value,
                                        from: shift.value,
                                        factor: shift.factor,
                                        instead: shift.instead ? planOptionText(shift.instead) : null
                                      })));
  const inner = section.section("Where another answer is better");
  if (evens.length === 0)
    inner.note("Nowhere within the ranges that the tiers leave open.");
  else
    inner.table({
      title: "break-even values",
      file: "break-even",
      rows: evens,
      columns: [
        {key: "input", format: planInput}, {key: "now", format: fmt.number},
        {key: "from", label: "from", format: fmt.number}, {key: "unit"},
        {key: "instead", label: "then better"}
      ]
    });
}

function planOptionTable(section, title, options) {
  const shape = ["tp", "pp", "dp", "cp", "ep"].filter(
      (key) => key === "tp" || options.some((option) => option.parallel[key] > 1));
  const hasSpot = options.some((option) => option.spot_nodes > 0);
  section.table({
    title,
    file: fileName(title),
    rows: options,
    columns: [
      {key: "policy"},
      ...shape.map((key) => ({key, label: key.toUpperCase(), value: (option) => option.parallel[key]})),
      {key: "spares"}, ...(hasSpot ? [{key: "spot_nodes"}] : []),
      {key: "interval_steps", label: "saves every, steps"}, {key: "cost_usd"},
      {key: "jct_s", label: "done after"}, {key: "jct_p95_s", label: "done in 95 % by"},
      {key: "p_deadline", label: "meets the deadline", format: fmt.percent},
      {key: "goodput", format: fmt.percent}, {key: "trials"}
    ]
  });
}

function planChoices(panel, result) {
  const {best, ties = [], pareto = [], closest} = result;
  const section = panel.section(
      "Answers", ties.length > 0 ? "The best, and ties: trials do not tell them from it." : undefined);
  const first = best ?? closest;
  if (first)
    planOptionTable(section, best ? "the best and its ties" : "the nearest", [first, ...ties]);
  else
    section.note("None.");
  if (pareto.length > 0)
    planOptionTable(
        section.section("To choose between cost and time"), "cost against time, the front", pareto);
  const warnings = [...new Set([...(first?.warnings ?? [])])];
  if (warnings.length > 0) section.list(warnings);
}

// Columns of parallel plans and their steps.
const kPlanLayoutColumns = [
  ...["tp", "pp", "dp", "cp", "ep", "zero", "micro_batch"].map(
      (key) => ({key, value: (row) => row.parallel[key]})),
  {key: "step_s"}, {key: "low_s", label: "80 % from", value: (row) => row.step_range_s?.[0]},
  {key: "high_s", label: "80 % to", value: (row) => row.step_range_s?.[1]},
  {key: "mfu", label: "MFU", format: fmt.percent}, {key: "memory_bytes"}, {key: "available_bytes"}
];

function planSearch(panel, result) {
  const {search, refused = {}, rejected = {}} = result;
  const section = panel.section(
      "What was searched",
      search ? `${plural(search.candidates, "parallel plan")} looked at, ${
                   fmt.integer(search.timed)} timed, ${fmt.integer(search.pruned)} ruled out by a bound.` :
               undefined);
  if (search)
    section.details({
      title: "the fastest plans that fit",
      file: "plans",
      rows: search.fastest,
      columns: kPlanLayoutColumns
    });
  const within = result.within_prediction_error ?? [];
  if (within.length > 0)
    section.details({
      title: "layouts within prediction error of the best",
      file: "within-prediction-error",
      rows: within,
      columns: kPlanLayoutColumns
    });
  const reasons = [
    ...Object.entries(rejected).map(([what, count]) => ({what: "parallel plans", why: what, count})),
    ...Object.entries(refused).map(
        ([policy, {reason, choices}]) => ({what: policy, why: reason, count: choices}))
  ];
  if (reasons.length > 0)
    section.details({
      title: "what was refused",
      file: "refused",
      rows: reasons,
      columns: [{key: "what"}, {key: "why"}, {key: "count"}]
    });
}

view("goodput.plan", {
  title: "Capacity plan",
  headline: planHeadline,
  figures: planFigures,
  render(panel, result) {
    planFront(panel, result);
    planCurves(panel, result);
    planTornado(panel, result);
    planChoices(panel, result);
    planSearch(panel, result);
  },
});
