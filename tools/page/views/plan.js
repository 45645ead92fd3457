// goodput.plan: how many nodes to hold, under which plan and policy, and what that answer rests on.

// "128 train, 4 are spares"; `train` is how many the parallel plan takes.
function planShares(option) {
  const train = option.nodes_held - option.spares;
  if (option.training_nodes > train + 0.05)
    return `all may train, ${fmt.number(option.training_nodes, 3)} do on average`;
  if (option.spares === 0) return "all train, no spares";
  return `${fmt.integer(train)} train, ${fmt.integer(option.spares)} ${
      option.spares === 1 ? "is a spare" : "are spares"}`;
}

function planMarket(option) {
  if (!(option.spot_nodes > 0)) return null;
  return `${fmt.integer(option.nodes_held - option.spot_nodes)} reserved, ${
      fmt.integer(option.spot_nodes)} from the spot market`;
}

// null of results that older programs wrote.
function planNodes(option) {
  if (!isNumber(option.nodes_held)) return null;
  const market = planMarket(option);
  return `${plural(option.nodes_held, "node")}${market ? ` (${market})` : ""}: ${planShares(option)}`;
}

function planHeadline(result) {
  const {best, lacks} = result;
  if (!best) return `${sentence(lacks ?? "no choice answers the question")}.`;
  const nodes = planNodes(best);
  const begin = nodes ? `Hold ${nodes}` : `Train with ${best.policy}`;
  if (!isNumber(best.jct_s)) return `${begin}. Not every run finishes.`;
  const most = isNumber(best.jct_p95_s) && best.trials > 1 ?
      `; 95\u202f% of runs within ${fmt.seconds(best.jct_p95_s)}` :
      "";
  const cost = isNumber(best.cost_usd) ? `; costs ${fmt.usd(best.cost_usd)}` : "";
  return `${begin}. Finishes in ${fmt.seconds(best.jct_s)} on average${most}${cost}.`;
}

// A limit of the question: "1209600s@95%" or "700000", which has no probability: it is for the average.
function planLimit(text) {
  const found = /^([\d.e+]+)s?(?:@([\d.]+)%)?$/.exec(text ?? "");
  if (!found) return null;
  const [, value, percent] = found;
  return {value: Number(value), probability: percent ? Number(percent) / 100 : null, percent};
}

// What is required, and whether the trials show it.
function planCertainty(limit, option, key, isShown) {
  const required = limit?.probability ? `${limit.percent}\u202f% required` : null;
  const isShort = limit?.probability && option[key] < limit.probability;
  if (isShown === false && !isShort)
    return [required, `not confirmed by ${plural(option.trials, "trial")}`].filter(Boolean).join(", ");
  const low = option.ci?.[key]?.[0];
  return [required, isShown && isNumber(low) ? `at least ${fmt.percent(low)} at 95\u202f% confidence` : null]
      .filter(Boolean)
      .join(", ");
}

function planLimitFigures(option, question = {}) {
  const deadline = planLimit(question.deadline);
  const budget = planLimit(question.budget);
  const figures = [];
  if (isNumber(option.p_deadline))
    figures.push({
      label: deadline ? `Done within ${fmt.seconds(deadline.value)}` : "Meets the deadline",
      value: `${fmt.percent(option.p_deadline)} of runs`,
      note: planCertainty(deadline, option, "p_deadline", option.deadline_shown)
    });
  if (isNumber(option.p_budget))
    figures.push({
      label: budget ? `Within ${fmt.usd(budget.value)}` : "Within the budget",
      value: `${fmt.percent(option.p_budget)} of runs`,
      note: planCertainty(budget, option, "p_budget", option.budget_shown)
    });
  else if (budget && isNumber(option.cost_usd))
    figures.push({
      label: `Budget of ${fmt.usd(budget.value)}`,
      value: option.cost_usd <= budget.value ? "kept" : "exceeded",
      note: "based on the average cost"
    });
  return figures;
}

function planFigures(result) {
  const option = result.best ?? result.closest;
  if (!option) return [];
  const figures = [];
  if (isNumber(option.nodes_held))
    figures.push({
      label: result.best ? "Nodes to hold" : "Nodes of the closest choice",
      value: fmt.integer(option.nodes_held),
      note: [planMarket(option), planShares(option)].filter(Boolean).join("; ")
    });
  const add = (text, key, format, note) => {
    if (isNumber(option[key])) figures.push({label: text, value: format(option[key]), note});
  };
  const ci = option.ci?.cost_usd?.map(fmt.usd);
  add("Average cost", "cost_usd", fmt.usd, ci ? `95\u202f% confidence: ${ci[0]} to ${ci[1]}` : undefined);
  add("Finishes in", "jct_s", fmt.seconds, "on average");
  if (option.trials > 1) add("95\u202f% of runs within", "jct_p95_s", fmt.seconds);
  figures.push(...planLimitFigures(option, result.question));
  const every = planEvery(option);
  figures.push(
      {label: "Policy", value: option.policy, note: every ? `a checkpoint every ${every}` : undefined});
  add("Goodput", "goodput", fmt.percent);
  add("Cost per million tokens", "usd_per_million_tokens", (value) => `$${fmt.number(value)}`);
  figures.push({
    label: "Trials",
    value: fmt.integer(option.trials),
    note: isNumber(result.contest?.contenders) ?
        `${plural(result.contest.contenders, "choice")} compared in ${plural(result.contest.runs, "run")}` :
        undefined
  });
  return figures;
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
  const {search, contenders = [], rejected = {}} = result;
  const section = panel.section(
      "Search",
      search ? `${plural(search.candidates, "parallel plan")} considered, ${
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
    ...contenders.filter(({reason}) => reason).map(({policy, reason}) => ({what: policy, why: reason}))
  ];
  if (reasons.length > 0)
    section.details({
      title: "what was not simulated, and why",
      file: "not-simulated",
      rows: reasons,
      columns: [{key: "what"}, {key: "why"}, {key: "count"}]
    });
  const plans = contenders.flatMap(({policy, plans = []}) => plans.map((plan) => ({policy, ...plan})));
  if (plans.length > 0)
    section.details({
      title: "the plans of each policy, by its own steps",
      file: "policy-plans",
      rows: plans,
      columns: [
        {key: "policy"}, ...kPlanLayoutColumns.filter(({key}) => plans.some((row) => key in row.parallel)),
        {key: "step_s"}
      ]
    });
}

view("goodput.plan", {
  title: "Capacity plan",
  headline: planHeadline,
  figures: planFigures,
  render(panel, result) {
    panel.list(result.notes ?? []);
    planChoices(panel, result);
    planFront(panel, result);
    planCurves(panel, result);
    planInputs(panel, result);
    planSearch(panel, result);
  },
});
