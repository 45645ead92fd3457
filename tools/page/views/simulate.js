// goodput.simulate: how far a job gets under failures, by policy, and where its time goes.

// Kinds of time as eight groups, so that each has a colour of its own; the table has them all.
const kSimulateTimes = [
  ["training", ["productive"]],
  ["lost steps", ["wasted_progress_from_disruption"]],
  ["startup", ["program_startup"]],
  ["saving checkpoints", ["checkpoint_save"]],
  ["restoring", ["checkpoint_restore"]],
  ["detection and waiting", ["infrastructure_recovery_from_disruption"]],
  [
    "reconfiguration",
    ["elastic_slice_down", "elastic_scale_up", "elastic_reinitialization", "expert_rebalancing"]
  ],
  ["idle nodes", ["idle_node"]],
];

function simulatePolicies(result) {
  return Object.entries(result.policies ?? {}).map(([called, outcome]) => ({name: called, ...outcome}));
}

function simulateRunning(result) {
  return simulatePolicies(result).filter((policy) => policy.refused === null);
}

// What policies are ranked by: the time to the goal where all that run get there in every trial, else samples
// an hour.
function simulateMeasure(result) {
  const running = simulateRunning(result);
  if (running.length > 0 && running.every((policy) => isNumber(policy.jct_s)))
    return {key: "jct_s", lessIsBetter: true, format: fmt.seconds, text: "finishes"};
  return {key: "samples_per_hour", lessIsBetter: false, format: simulateRate, text: "trains"};
}

function simulateRate(value) { return isNumber(value) ? `${fmt.number(value)} samples/h` : kNothing; }

function simulateRanked(result) {
  const {key, lessIsBetter} = simulateMeasure(result);
  const known = simulateRunning(result).filter((policy) => isNumber(policy[key]));
  return known.sort((a, b) => (lessIsBetter ? a[key] - b[key] : b[key] - a[key]));
}

// The ratio of two policies' measure, whichever way round the result has it, with its interval.
function simulateRatio(result, a, b, key) {
  const there = result.ratios?.[`${a}/${b}`];
  if (isNumber(there?.[key])) return {value: there[key], ci: there.ci?.[key]};
  const turned = result.ratios?.[`${b}/${a}`];
  if (!isNumber(turned?.[key]) || turned[key] === 0) return null;
  const ci = turned.ci?.[key];
  return {value: 1 / turned[key], ci: ci && ci[0] > 0 ? [1 / ci[1], 1 / ci[0]] : undefined};
}

function simulateHeadline(result) {
  const {key, format, lessIsBetter, text} = simulateMeasure(result);
  const ranked = simulateRanked(result);
  if (ranked.length === 0) return "No policy can run this job.";
  const [best, second] = ranked;
  const says = lessIsBetter ? `${best.name} ${text} after ${format(best[key])}` :
                              `${best.name} ${text} ${format(best[key])}`;
  if (!second) return `${says}; goodput ${fmt.percent(best.goodput)}.`;
  const ratio = simulateRatio(result, best.name, second.name, key);
  if (ratio?.ci && ratio.ci[0] <= 1 && ratio.ci[1] >= 1)
    return `${says}; these trials show no difference from ${second.name}.`;
  const times = ratio ? (lessIsBetter ? 1 / ratio.value : ratio.value) :
                        (lessIsBetter ? second[key] / best[key] : best[key] / second[key]);
  if (times < 1.0005) return `${says}, the same as ${second.name}.`;
  return `${says}, ${fmt.ratio(times)} as ${lessIsBetter ? "fast" : "much"} as ${second.name}.`;
}

function simulateFigures(result) {
  const {key, format, lessIsBetter} = simulateMeasure(result);
  const best = simulateRanked(result)[0];
  if (!best) return [{label: "Policies", value: `${simulatePolicies(result).length} refused`}];
  const interval = (name, show) =>
      (best.ci?.[name] ? `${show(best.ci[name][0])} to ${show(best.ci[name][1])}` : "no confidence interval");
  const bare = key === "samples_per_hour" ? fmt.number : format;
  return [
    {label: "Best policy", value: best.name},
    {label: lessIsBetter ? "Finishes after" : "Speed", value: format(best[key]), note: interval(key, bare)},
    {label: "Goodput", value: fmt.percent(best.goodput), note: interval("goodput", fmt.percent)},
    ...(isNumber(best.cost) ? [{label: "Cost", value: fmt.usd(best.cost), note: interval("cost", fmt.usd)}] :
                              []),
    ...(isNumber(best.p_deadline) ? [{
      label: "Meets the deadline",
      value: fmt.percent(best.p_deadline),
      note: interval("p_deadline", fmt.percent)
    }] :
                                    []),
    {label: "Nodes lost", value: fmt.number(best.nodes_lost), note: "mean per run"},
    {
      label: "Trials",
      value: fmt.integer(best.trials),
      note: best.finished > 0 ? `${fmt.integer(best.finished)} reached the goal` : "none reached the goal"
    },
  ];
}

function simulateRefused(panel, result) {
  const refused = simulatePolicies(result).filter((policy) => policy.refused !== null);
  if (refused.length === 0) return;
  panel.section("Policies that cannot run this job").table({
    title: "refused policies",
    file: "refused",
    columns: [{key: "name", label: "policy"}, {key: "refused", label: "why"}],
    rows: refused
  });
}

function simulateEventText(event) {
  const nodes = isNumber(event.nodes) ? ` of ${plural(event.nodes, "node")}` : "";
  const lost = isNumber(event.steps_lost) ? `, ${plural(event.steps_lost, "step")} lost` : "";
  return `${event.kind}${nodes}${lost}`;
}

function simulateLine(line) { return line.t_s.map((time, at) => [time, line.value[at]]); }

// Losses of nodes, and courses that threw steps away.
function simulateMarks(trial) {
  return trial.events.filter((event) => event.kind === "loss" || event.steps_lost > 0)
      .map((event) => ({x: event.t_s, text: simulateEventText(event)}));
}

function simulateCourse(panel, result) {
  const section = panel.section(
      "The first trial",
      "Samples trained over time; samples lost to a failure are subtracted at the moment of the failure. " +
          "All policies face the same failures; crosses mark lost nodes.");
  const running = simulateRunning(result);
  const recorded = running.filter((policy) => policy.recorded_trial);
  if (recorded.length === 0) return section.missing("the first trial (newer versions of goodput write it).");
  const time = {label: "time", format: fmt.seconds};
  section.curves({
    title: "Samples by policy",
    x: time,
    y: {label: "samples", format: fmt.integer},
    series: recorded.map((policy) => ({
                           name: policy.name,
                           points: simulateLine(policy.recorded_trial.samples),
                           marks: simulateMarks(policy.recorded_trial)
                         }))
  });
  const held = recorded.reduce(
      (longest, policy) => (policy.recorded_trial.end_s > longest.recorded_trial.end_s ? policy : longest));
  section.curves({
    title: "Nodes held, and nodes used by each policy",
    height: 190,
    x: time,
    y: {label: "nodes", format: fmt.integer},
    series: [
      ...recorded.map(
          (policy) =>
              ({name: `used by ${policy.name}`, points: simulateLine(policy.recorded_trial.nodes_used)})),
      {name: "held", points: simulateLine(held.recorded_trial.nodes_held), ink: "var(--ink)"}
    ]
  });
  simulateThinned(section, recorded);
  const events = recorded.flatMap(
      (policy) => policy.recorded_trial.events.map((event) => ({policy: policy.name, ...event})));
  section.details({
    title: "events of the first trial",
    file: "events",
    rows: events,
    columns:
        [{key: "policy"}, {key: "t_s", label: "time"}, {key: "kind"}, {key: "nodes"}, {key: "steps_lost"}]
  });
}

// What a picture of so many points leaves out, where it does.
function simulateThinned(section, recorded) {
  for (const {name: policy, recorded_trial: trial} of recorded) {
    const parts = [];
    if (trial.samples.within > 0.5)
      parts.push(`samples off by at most ${fmt.number(Math.ceil(trial.samples.within))}`);
    for (const key of ["nodes_held", "nodes_used"]) {
      if (trial[key].within >= 0.5)
        parts.push(`${label(key)} off by at most ${fmt.number(Math.ceil(trial[key].within))}`);
    }
    if (trial.events_left_out > 0) parts.push(`${plural(trial.events_left_out, "event")} left out`);
    if (parts.length > 0) section.note(name(policy), ` is drawn with fewer points: ${parts.join(", ")}.`);
    if (trial.stopped) section.note(name(policy), " stopped: ", name(trial.stopped), ".");
  }
}

function simulateParts(times) {
  return Object.fromEntries(
      kSimulateTimes.map(([text, kinds]) => [text, d3.sum(kinds, (kind) => times[kind] ?? 0)]));
}

function simulateTimes(panel, result) {
  const section = panel.section(
      "Where the time goes", "Means over trials. Node time counts every node for as long as it is held.");
  const running = simulateRunning(result).filter((policy) => policy.time_s);
  if (running.length === 0) return section.missing("the time by kind.");
  section.stackedBars({
    title: "Job time",
    rows: running.map((policy) => ({label: policy.name, parts: simulateParts(policy.time_s)})),
    format: fmt.seconds
  });
  section.stackedBars({
    title: "Node time",
    rows: running.map((policy) => ({label: policy.name, parts: simulateParts(policy.node_time_s)})),
    format: simulateNodeHours
  });
  const kinds = Object.keys(running[0].time_s);
  section.details({
    title: "all kinds of time",
    file: "times",
    rows: kinds.map((kind) => ({kind, running})),
    columns: [
      {key: "kind", format: label}, ...running.map((policy, at) => ({
                                                     key: policy.name,
                                                     label: policy.name,
                                                     value: (row) => row.running[at].time_s[row.kind],
                                                     format: fmt.seconds
                                                   })),
      ...running.map((policy, at) => ({
                       key: `${policy.name} nodes`,
                       label: `${policy.name}, node time`,
                       value: (row) => row.running[at].node_time_s[row.kind],
                       format: simulateNodeHours
                     }))
    ]
  });
}

function simulateNodeHours(seconds) {
  return isNumber(seconds) ? `${fmt.number(seconds / 3600)} node-h` : kNothing;
}

const kSimulateRatios = [
  ["jct_s", "time to the goal"], ["samples_per_hour", "samples per hour"],
  ["cost_per_sample", "cost per sample"]
];

function simulateRatios(panel, result) {
  const section = panel.section(
      "Policy comparison",
      "Ratios of means over the same failures, with 95 % intervals if there are two or more " +
          "trials. The line at 1 marks no difference.");
  const pairs = Object.entries(result.ratios ?? {});
  if (pairs.length === 0) return section.note("There is only one policy.");
  for (const [key, text] of kSimulateRatios) {
    const rows = pairs.filter(([, ratio]) => isNumber(ratio[key]))
                     .map(([called, ratio]) => ({
                            label: called,
                            value: ratio[key],
                            low: ratio.ci?.[key]?.[0],
                            high: ratio.ci?.[key]?.[1],
                            note: ratio.doubtful?.includes(key) ?
                                "doubtful interval: the trials are too few or too skewed" :
                                undefined
                          }));
    if (rows.length === 0) continue;
    section.intervals({
      title: `Ratio of ${text}`,
      label: key === "samples_per_hour" ? "above 1: the first policy is better" :
                                          "below 1: the first policy is better",
      rows,
      base: 1,
      format: fmt.ratio,
      log: true
    });
  }
  const bounds = pairs.filter(([, ratio]) => isNumber(ratio.jct_s_above) || isNumber(ratio.jct_s_below));
  for (const [called, ratio] of bounds) {
    section.note(
        name(called),
        `: the ratio of the times to the goal is ${
            isNumber(ratio.jct_s_above) ?
                `above ${fmt.ratio(ratio.jct_s_above)}` :
                `below ${fmt.ratio(ratio.jct_s_below)}`}; not every trial reached the goal.`);
  }
  if (result.comparison) simulateComparison(section, result.comparison);
}

function simulateComparison(section, compared) {
  if (compared.why_not)
    return section.text("Cannot be compared by ", label(compared.metric), ": ", name(compared.why_not), ".");
  if (compared.decides)
    return section.text(
        "By ", label(compared.metric), ", ", name(compared.better),
        " is better: the 95 % interval of the difference does not contain 0.");
  const more = isNumber(compared.more_trials) ?
      `; about ${plural(compared.more_trials, "more trial")} would be needed` :
      "";
  return section.text(
      "By ", label(compared.metric), ", ", name(compared.a), " and ", name(compared.b),
      ` cannot be told apart${more}.`);
}

// The empirical distribution as stairs, from 0.
function simulateStairs({value, share}) {
  const points = [[value[0], 0]];
  value.forEach((at, place) => points.push([at, place === 0 ? 0 : share[place - 1]], [at, share[place]]));
  return points;
}

function simulateDistribution(panel, result) {
  const section = panel.section("Spread of the trials", "Share of the trials at or below each value.");
  const known = simulateRunning(result).filter((policy) => policy.distribution?.value.length > 0);
  if (known.length === 0)
    return section.missing("the distribution over trials (newer versions of goodput write it).");
  const deadline = result.scenario?.deadline_s;
  for (const metric of ["jct_s", "samples"]) {
    const of = known.filter((policy) => policy.distribution.metric === metric);
    if (of.length === 0) continue;
    if (of.every((policy) => policy.distribution.trials === 1)) {
      section.note("A single trial has no distribution; use --trials to run more.");
      continue;
    }
    section.curves({
      title: metric === "jct_s" ? "Time to the goal" : "Samples",
      x: {
        label: metric === "jct_s" ? "time to the goal" : "samples",
        format: metric === "jct_s" ? fmt.seconds : fmt.number
      },
      y: {label: "share of trials", format: fmt.percent},
      series: of.map((policy) => ({name: policy.name, points: simulateStairs(policy.distribution)})),
      verticals: metric === "jct_s" && deadline > 0 ?
          [{x: deadline, label: `deadline ${fmt.seconds(deadline)}`}] :
          []
    });
    for (const {name: policy, distribution} of of ) {
      if (distribution.with_value < distribution.trials)
        section.note(
            name(policy),
            `: ${fmt.integer(distribution.trials - distribution.with_value)} of ${
                plural(distribution.trials, "trial")} did not reach the goal.`);
    }
  }
}

const kSimulateColumns = [
  ["goodput", fmt.percent], ["running_goodput", fmt.percent], ["efficiency", fmt.percent],
  ["samples", fmt.number], ["samples_per_hour", fmt.number], ["jct_s", fmt.seconds, "time to the goal"],
  ["p_deadline", fmt.percent, "meets the deadline"], ["cost", fmt.usd],
  ["samples_per_usd", fmt.number, "samples per $"], ["nodes_lost", fmt.number], ["steps_lost", fmt.number],
  ["restarts", fmt.number], ["reconfigurations", fmt.number], ["scale_ups", fmt.number],
  ["rebalancings", fmt.number]
];

function simulateTable(panel, result) {
  const running = simulateRunning(result);
  if (running.length === 0) return;
  const known = kSimulateColumns.filter(([key]) => running.some((policy) => isNumber(policy[key])));
  const section = panel.section("Policies", "Means over trials.");
  section.table({
    title: "policies",
    file: "policies",
    rows: running,
    columns: [
      {key: "name", label: "policy"},
      ...known.map(([key, format, text]) => ({key, format, label: text ?? label(key)})), {key: "trials"},
      {key: "finished"}, {key: "lowest_tier"}
    ]
  });
  section.details({
    title: "intervals",
    file: "intervals",
    columns: [
      {key: "policy"}, {key: "metric", format: label}, {key: "value", format: fmt.number},
      {key: "low", format: fmt.number}, {key: "high", format: fmt.number}, {key: "doubtful"}
    ],
    rows: running.flatMap(
        (policy) => Object.entries(policy.ci ?? {}).map(([metric, [low, high]]) => ({
                                                          policy: policy.name,
                                                          metric,
                                                          value: policy[metric] ?? policy.metrics?.[metric],
                                                          low,
                                                          high,
                                                          doubtful: policy.doubtful.includes(metric)
                                                        })))
  });
  const warnings =
      running.flatMap((policy) => policy.warnings.map((warning) => ({policy: policy.name, warning})));
  if (warnings.length > 0)
    section.table(
        {title: "warnings", file: "warnings", rows: warnings, columns: [{key: "policy"}, {key: "warning"}]});
}

view("goodput.simulate", {
  title: "Fault tolerance",
  headline: simulateHeadline,
  figures: simulateFigures,
  render(panel, result) {
    simulateCourse(panel, result);
    simulateTimes(panel, result);
    simulateRatios(panel, result);
    simulateDistribution(panel, result);
    simulateTable(panel, result);
    simulateRefused(panel, result);
  },
});
