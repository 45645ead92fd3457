// goodput.whatif: what stragglers cost a recorded job, and whose fault it is.

function whatifLikely(result) { return (result.root_causes ?? []).filter((cause) => cause.likely); }

function whatifHeadline(result) {
  const {waste} = result;
  const job = result.job?.trial_name ? `${result.job.trial_name}: ` : "";
  if (result.verdict?.sentence) return `${job}${result.verdict.sentence}`;
  const launch = isNumber(result.launch_slowdown) && result.launch_slowdown > 1.01 ?
      `, late launches another ${fmt.percent(1 - 1 / result.launch_slowdown)}` :
      "";
  const causes = whatifLikely(result).map((cause) => cause.cause);
  const likely = `; likely cause${causes.length > 1 ? "s" : ""}: ${causes.join(", ")}`;
  const why = causes.length > 0 ? likely : result.root_causes ? "; no known cause stands out" : "";
  if (!isNumber(waste)) return `${job}this result does not show what stragglers cost.`;
  if (waste < 0.01 && launch === "") return `${job}stragglers cost less than 1 % of the time.`;
  return `${job}stragglers cost ${fmt.percent(waste)} of the time${launch}${why}.`;
}

function whatifFigures(result) {
  const {trace = {}} = result;
  return [
    {
      label: "Slowdown S",
      value: fmt.ratio(result.slowdown),
      note: "replayed step time divided by ideal step time"
    },
    {label: "Time wasted", value: fmt.percent(result.waste), note: "1 \u2212 1/S"},
    {label: "Recorded step", value: fmt.seconds(result.recorded_step_s)},
    {
      label: "Replayed step",
      value: fmt.seconds(result.replayed_step_s),
      note: `differs from the recorded step by ${fmt.percent(result.discrepancy)}`
    },
    {label: "Ideal step", value: fmt.seconds(result.ideal_step_s), note: "no stragglers"},
    {
      label: "Launch slowdown",
      value: fmt.ratio(result.launch_slowdown),
      note: "recorded step divided by replayed step"
    },
    {
      label: "Job",
      value: `DP ${fmt.any(trace.dp_size)} \u00d7 PP ${fmt.any(trace.pp_size)}`,
      note: isNumber(trace.steps) ?
          `${fmt.integer(trace.analysed_steps)} of ${plural(trace.steps, "step")} analyzed` :
          undefined
    },
  ];
}

// By worker dp * pp_size + stage: its place, rank, host, S_w and pace, as far as they are known.
function whatifWorkers(result) {
  return Object.entries(result.slowdown_by_worker ?? {}).map(([key, slowdown], at) => {
    const [dp, stage] = key.split(":").map(Number);
    return {
      worker: key,
      dp_rank: dp,
      stage,
      rank: result.workers?.rank?.[at],
      host: result.workers?.host?.[at] || null,
      slowdown,
      min_rule: result.slowdown_by_worker_min_rule?.[key],
      pace: result.workers?.pace?.[at]
    };
  });
}

function whatifWorkerTable(workers) {
  const hasHosts = workers.some((worker) => worker.host);
  return {
    title: "workers",
    file: "workers",
    rows: workers,
    columns: [
      {key: "worker", label: "worker (dp:stage)"}, {key: "rank", format: fmt.any},
      ...(hasHosts ? [{key: "host"}] : []), {key: "slowdown", label: "slowdown S_w", format: fmt.ratio},
      {key: "min_rule", label: "S_w (min rule)", format: fmt.ratio},
      {key: "pace", label: "pass time / that of peers", format: fmt.ratio}
    ]
  };
}

// The number of steps one picture of the slider stands for, in words.
function whatifStepText(steps, at) {
  const [from, to] = [steps.from_step[at], steps.to_step[at]];
  return from === to ? `step ${from}` : `steps ${from} to ${to}, mean`;
}

function whatifMap(panel, result) {
  const section = panel.section(
      "Workers",
      "Slowdown caused by each worker alone: this worker as recorded, all others ideal. Rows are data-parallel ranks, columns are pipeline stages.");
  const workers = whatifWorkers(result);
  if (workers.length === 0) return section.missing("the slowdown by worker.");
  const {dp_size: dp, pp_size: pp} = result.trace;
  const steps = result.worker_steps;
  const overall = workers.map((worker) => worker.slowdown);
  let shown = overall;
  let when = "mean of all steps";
  const most = d3.max([overall, ...(steps?.slowdown ?? [])], (values) => d3.max(values));
  const describe = (row, column) => {
    const at = row * pp + column;
    const worker = workers[at];
    const parts = [
      `dp ${row}, stage ${column}`, isNumber(worker.rank) ? `rank ${worker.rank}` : "rank unknown",
      worker.host ? `host ${worker.host}` : "host unknown", `S_w ${fmt.ratio(shown[at])} (${when})`,
      isNumber(worker.pace) ? `takes ${fmt.ratio(worker.pace)} as long as its peers` :
                              "not compared with peers"
    ];
    return parts.join(" \u00b7 ");
  };
  const map = section.heatmap({
    title: "Slowdown by worker",
    rows: d3.range(dp).map(String),
    columns: d3.range(pp).map(String),
    rowLabel: "dp",
    columnLabel: "stage",
    value: (row, column) => shown[row * pp + column],
    describe,
    text: (value) => (isNumber(value) ? value.toFixed(2) : ""),
    scale: {low: 1, high: Math.max(1.1, most), label: "slowdown", format: fmt.fixed(2)},
    table: whatifWorkerTable(workers)
  });
  if (!steps)
    return section.missing("the slowdown of every worker by step (newer versions of goodput write it).");
  whatifSlider(section, map, steps, (at) => {
    shown = at === 0 ? overall : steps.slowdown[at - 1];
    when = at === 0 ? "mean of all steps" : whatifStepText(steps, at - 1);
    map.show((row, column) => shown[row * pp + column]);
    return when;
  });
  if (steps.steps_averaged > 1)
    section.note(`Each map averages ${
        fmt.integer(
            steps
                .steps_averaged)} consecutive steps to limit the size; goodput whatif --per-step-table writes every step.`);
  return map;
}

function whatifSlider(section, map, steps, choose) {
  const id = newId("steps");
  const output = el("output", {for: id
  }, "mean of all steps");
  const slider = el("input", {
    id,
    type: "range",
    min: 0,
    max: steps.slowdown.length,
    step: 1,
    value: 0,
    "aria-valuetext": "mean of all steps"
  });
  slider.addEventListener("input", () => {
    const text = choose(Number(slider.value));
    output.textContent = visible(text);
    slider.setAttribute("aria-valuetext", visible(text));
  });
  map.chart.element.append(el("div", {class: "slider"}, el("label", {for: id
                              }, "Step"), slider, output));
}

function whatifSteps(panel, result) {
  const section = panel.section("By step");
  const rows =
      Object.entries(result.per_step ?? {}).map(([step, values]) => ({step: Number(step), ...values}));
  if (rows.length === 0) return section.missing("the steps.");
  const line = (called, key) => ({name: called, points: rows.map((row) => [row.step, row[key]])});
  const columns = section.columns();
  columns.cell().lineChart({
    title: "Slowdown S and launch slowdown",
    x: {label: "step"},
    y: {label: "slowdown", format: fmt.ratio, from: 1},
    series: [line("S", "slowdown"), line("launch slowdown", "launch_slowdown")]
  });
  columns.cell().lineChart({
    title: "Recorded and replayed step time",
    x: {label: "step"},
    y: {label: "step time", format: fmt.seconds},
    series: [line("recorded", "recorded_s"), line("replayed", "replayed_s")]
  });
  return section;
}

function whatifParts(panel, result) {
  const section = panel.section(
      "By part of the job", "Slowdown caused by each part alone; 1 means that no time is lost.");
  const columns = section.columns();
  for (const [title, key, prefix] of [
           ["By op type", "slowdown_by_optype", ""], ["By stage", "slowdown_by_stage", "stage "],
           ["By data-parallel rank", "slowdown_by_dp_rank", "dp "]]) {
    const part = columns.cell();
    if (!result[key]) {
      part.missing(`${label(key)}.`);
      continue;
    }
    const rows = Object.entries(result[key]).map(([called, value]) => ({label: prefix + called, value}));
    rows.sort((a, b) => b.value - a.value);
    part.barChart(
        {title: `Slowdown ${title.toLowerCase()}`, rows, base: 1, format: fmt.ratio, valueLabel: "slowdown"});
    const launch = result[`launch_${key}`];
    if (launch)
      part.details({
        title: `late launches ${title.toLowerCase()}`,
        columns: [{key: "part"}, {key: "slowdown", format: fmt.ratio}],
        rows: Object.entries(launch).map(([called, value]) => ({part: prefix + called, slowdown: value}))
      });
  }
  if (result.launch_slowdown_by_optype === null)
    section.note(`Late launches are attributed only if the launch slowdown is ${
        fmt.any(
            result.decompose_threshold)} or more; for this job it is ${fmt.ratio(result.launch_slowdown)}.`);
}

function whatifCauses(panel, result) {
  const section = panel.section(
      "Causes, and the gain from fixing them",
      "The gain is the replayed step time divided by the step time with the fix.");
  const causes = result.root_causes;
  if (!causes) return section.missing("root causes.");
  const gains = causes.filter((cause) => isNumber(cause.gain));
  section.barChart({
    title: "Gain of each fix",
    base: 1,
    format: fmt.ratio,
    valueLabel: "gain",
    rows: gains.map((cause) => ({
                      label: cause.likely ? `${cause.cause} (likely)` : cause.cause,
                      value: cause.gain,
                      note: cause.evidence,
                      ink: cause.likely ? "var(--category-2)" : "var(--edge)"
                    }))
  });
  return section.table({
    title: "causes",
    file: "causes",
    rows: causes,
    columns: [
      {key: "cause"}, {key: "likely"}, {key: "gain", format: fmt.ratio}, {key: "fix"}, {key: "evidence"},
      {key: "not_likely_because", label: "ruled out because"}, {
        key: "workers",
        value: (cause) => (cause.workers ?? [])
                              .map(
                                  (worker) => `${worker.worker} (rank ${worker.rank}${
                                      worker.host ? `, ${worker.host}` : ""}) ${fmt.ratio(worker.pace)}`)
      },
      {key: "value"}, {key: "threshold"}, {key: "criterion"}
    ]
  });
}

function whatifRest(panel, result) {
  const fixes = panel.section("Interventions", "Results of --fix and --keep.");
  if (!result.interventions) {
    fixes.missing("interventions.");
  } else if (result.interventions.length > 0) {
    fixes.table({
      title: "interventions",
      rows: result.interventions,
      columns: [
        {key: "fix"}, {key: "keep"}, {key: "jct_s", label: "mean step"}, {key: "speedup", format: fmt.ratio}
      ]
    });
  } else
    fixes.note("None were requested.");
  const cleaning = panel.section(
      "What was left out", "Invalid or incomplete rows and steps, and what was done about them.");
  if (!result.cleaning)
    cleaning.missing("the findings of the cleaning.");
  else if (result.cleaning.length === 0)
    cleaning.note("Nothing: the trace is clean.");
  else
    cleaning.table({
      title: "findings",
      rows: result.cleaning,
      columns: [{key: "rule"}, {key: "found"}, {key: "count"}, {key: "done"}, {key: "steps"}, {key: "detail"}]
    });
  for (const note of result.trace?.notes ?? []) cleaning.note(note);
  const clocks = panel.section(
      "Clocks",
      result.clocks_aligned               ? "Clock offsets were removed from the times." :
          result.clocks_aligned === false ? "Times are as recorded." :
                                            null);
  if (!result.clocks)
    clocks.missing("clocks.");
  else
    clocks.details({
      title: "clocks",
      rows: result.clocks,
      columns: [{key: "host"}, {key: "offset_s"}, {key: "drift_ppm"}, {key: "jumps"}]
    });
  if ((result.clock_conflicts ?? []).length > 0)
    clocks.table(
        {title: "conflicts", rows: result.clock_conflicts, columns: [{key: "pair"}, {key: "apart_s"}]});
  const concentration = panel.section("Where the loss is");
  concentration.figures([
    {
      label: "Slowest workers (M_W)",
      value: fmt.percent(result.m_w),
      note: !result.slowest_workers ?
          undefined :
          `of the loss, by workers ${(result.slowest_workers ?? []).slice(0, 8).join(", ")}${
              (result.slowest_workers ?? []).length > 8 ? ", \u2026" : ""}`
    },
    {label: "Last stage (M_S)", value: fmt.percent(result.m_s), note: "of the loss"}, {
      label: `Slowest stage: ${fmt.any(result.slowest_stage)}`,
      value: fmt.percent(result.slowest_stage_share),
      note: "of the loss"
    }
  ]);
}

view("goodput.whatif", {
  title: "Stragglers",
  headline: whatifHeadline,
  figures: whatifFigures,
  render(panel, result) {
    whatifMap(panel, result);
    whatifCauses(panel, result);
    whatifSteps(panel, result);
    whatifParts(panel, result);
    whatifRest(panel, result);
  },
});
