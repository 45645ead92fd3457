// Charts of the choices of a plan: their cost against their time, and the answer with one number changed.

const kPlanObjectives = {
  cost: {key: "cost_usd", text: "cost", format: fmt.usd},
  jct: {key: "jct_s", text: "time", format: fmt.seconds},
  goodput: {key: "goodput", text: "goodput", format: fmt.percent}
};

// With the tokens given, a token costs least where the job does.
function planObjective(result) { return kPlanObjectives[result.objective] ?? kPlanObjectives.cost; }

// The picture ends at so many times the cost and the time of the answer, or where the front or an equally
// good choice needs more.
const kPlanNear = 1.1;

// The choices of the result's columns; empty of results that older programs wrote.
function planContenders({options: all}) {
  if (!all?.parallel) return [];
  return all.parallel.map(
      (parallel, at) => ({
        parallel,
        ...Object.fromEntries([
          "policy", "nodes_held", "spares", "spot_nodes", "interval_steps", "cost_usd", "jct_s", "trials"
        ].map((key) => [key, all[key][at]]))
      }));
}

// All choices as points, with what they are to the answer.
function planPoints(result) {
  const {best, closest, ties = [], pareto = []} = result;
  const first = best ?? closest;
  const remarks = new Map([
    ...ties.map((option) => [planKey(option), "equally good"]),
    ...pareto.map((option) => [planKey(option), "no choice is better in both cost and time"]),
    ...(first ? [[planKey(first), best ? "recommended choice" : "the closest choice"]] : [])
  ]);
  const answer = first ? planKey(first) : null;
  const front = new Set(pareto.map(planKey));
  const chosen = [...(first ? [first] : []), ...pareto, ...ties];
  const options = new Map([...chosen, ...planContenders(result)].reverse().map((one) => [planKey(one), one]));
  return [...options].map(([key, option]) => ({
                            x: option.cost_usd,
                            y: option.jct_s,
                            xCi: option.ci?.cost_usd,
                            yCi: option.ci?.jct_s,
                            label: planOptionText(option),
                            category: option.policy,
                            remark: remarks.get(key),
                            isFront: front.has(key),
                            isBest: key === answer
                          }));
}

function planFront(panel, result) {
  const section = panel.section(
      "Cost against time",
      "Choices that always finish. The dashed line joins the choices that no other choice beats in both cost and time. Small marks are " +
          "choices that were ruled out, most of them after a few trials.");
  if (!result.options?.parallel) section.missing("the other choices (newer versions of goodput write them).");
  const points = planPoints(result).filter((point) => isNumber(point.x) && isNumber(point.y));
  const first = points.find((point) => point.isBest);
  if (!first) return section.missing("a choice that always finishes and has a price.");
  const most = (key) =>
      Math.max(kPlanNear * first[key], ...points.filter((point) => point.remark).map((point) => point[key]));
  const [xMost, yMost] = [most("x"), most("y")];
  const near = points.filter((point) => point.x <= xMost && point.y <= yMost);
  const chart = {
    x: {label: "cost", format: fmt.usd, isTight: true},
    y: {label: "time to finish", format: fmt.seconds, isTight: true},
    categories: [...new Set(points.map((point) => point.category))],
    isWhole: true
  };
  section.front({title: "Cost against time", points: near, ...chart});
  const away = points.length - near.length;
  if (away > 0) {
    section.note(`${
        plural(
            away, "more choice costs more or takes longer and is",
            "more choices cost more or take longer and are")} outside this chart.`);
    section.folded(`Chart: all ${fmt.integer(points.length)} choices`)
        .front({title: "All choices", points, ...chart});
  }
  if (result.options?.left_out > 0)
    section.note(`The ${
        plural(
            result.options.left_out, "most expensive choice is", "most expensive choices are")} left out.`);
  return section;
}

const kPlanFactors = {
  spares: "spare nodes",
  interval_steps: "steps between checkpoints",
  spot_nodes: "nodes from the spot market"
};

function planCurves(panel, result) {
  if (!result.best) return;
  const section = panel.section(
      "One number changed",
      "The recommended choice with one number changed and everything else the same. Bands are 95\u202f% intervals; wide bands " +
          "belong to choices that were dropped early.");
  if (!result.one_factor)
    return section.missing("the results for other numbers (newer versions of goodput write them).");
  const {key, text, format} = planObjective(result);
  const known = Object.entries(result.one_factor);
  if (known.length === 0)
    return section.note("No simulated choice differs from the recommended one in a single number.");
  const columns = section.columns();
  for (const [factor, points] of known) {
    const shown = points.filter((point) => isNumber(point[key]));
    const called = kPlanFactors[factor] ?? label(factor);
    columns.section(`${sentence(called)} (now ${fmt.any(result.best[factor])})`).lineChart({
      title: `${sentence(text)} by ${called}`,
      x: {label: called, format: fmt.integer, isWhole: true},
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
    title: "the choices around the recommended one",
    file: "one-factor",
    columns: [
      {key: "factor", format: (factor) => kPlanFactors[factor] ?? label(factor)}, {key: "value"},
      {key: "interval_steps", label: "steps"}, {key: "cost_usd", format: planSpread("cost_usd", fmt.usd)},
      {key: "jct_s", label: "finishes in", format: planSpread("jct_s", fmt.seconds)},
      {key: "goodput", format: fmt.percent}, {key: "p_deadline", label: "in time", format: fmt.percent},
      {key: "trials"}
    ],
    rows: known.flatMap(([factor, points]) => points.map((point) => ({factor, ...point})))
  });
}
