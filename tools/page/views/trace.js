// goodput.trace_info, of op traces, torch.profiler traces and spot traces; goodput.synth-truth: traces and
// the truth about them.

function traceIsSpot(result) { return result.kind === "spot"; }
function traceIsKineto(result) { return result.kind === "kineto"; }

function traceHeadline(result) {
  if (traceIsKineto(result)) {
    const use = result.refused_reason ? `goodput whatif rejects this trace: ${result.refused_reason}` :
                                        "goodput whatif accepts this trace";
    return `${plural((result.ranks ?? []).length, "rank")}, ${plural((result.steps ?? []).length, "step")}; ${
        use}.`;
  }
  if (traceIsSpot(result)) {
    return `${fmt.number(result.mean_nodes)} nodes on average over ${
        fmt.seconds(result.duration_s)}, at most ${
        fmt.integer(result.peak_nodes)}; the number of nodes falls ${plural(result.drops, "time")}.`;
  }
  const use = result.refused_reason ? `goodput whatif rejects this trace: ${result.refused_reason}` :
                                      "goodput whatif accepts this trace";
  return `${plural(result.rows, "op")} of ${plural((result.steps ?? []).length, "step")}, DP ${
      fmt.any(result.dp_size)} \u00d7 PP ${fmt.any(result.pp_size)}; ${use}.`;
}

function traceFigures(result) {
  if (traceIsSpot(result)) {
    const prices = result.usd_per_node_hour;
    return [
      {
        label: "Recorded",
        value: fmt.seconds(result.duration_s),
        note: `${fmt.seconds(result.known_s)} excluding gaps`
      },
      {label: "Mean nodes", value: fmt.number(result.mean_nodes)},
      {label: "Peak nodes", value: fmt.integer(result.peak_nodes)},
      {label: "Node-hours", value: fmt.number(result.node_hours)},
      {label: "Nodes added", value: fmt.integer(result.adds)},
      {label: "Nodes removed", value: fmt.integer(result.removes)},
      {label: "Longest outage", value: fmt.seconds(result.longest_outage_s)},
      ...(prices ? [{
        label: "Price per node-hour",
        value: fmt.usd(prices.mean),
        note: `${fmt.usd(prices.min)} to ${fmt.usd(prices.max)}`
      }] :
                   [])
    ];
  }
  if (traceIsKineto(result)) {
    return [
      {label: "Ranks", value: fmt.integer((result.ranks ?? []).length), note: fmt.any(result.device)},
      {label: "Steps", value: fmt.integer((result.steps ?? []).length)}, {
        label: "Step time",
        value: fmt.seconds(result.step_time_s?.median),
        note: `${fmt.seconds(result.step_time_s?.min)} to ${fmt.seconds(result.step_time_s?.max)}`
      }
    ];
  }
  return [
    {label: "Ops", value: fmt.integer(result.rows), note: `${fmt.any(result.formats)}`},
    {label: "Steps", value: fmt.integer((result.steps ?? []).length)},
    {label: "Workers", value: fmt.integer(result.workers)},
    {label: "Micro-batches", value: fmt.integer(result.micro_batches)}, {
      label: "Step time",
      value: fmt.seconds(result.step_time_s?.median),
      note: `${fmt.seconds(result.step_time_s?.min)} to ${fmt.seconds(result.step_time_s?.max)}`
    },
    {label: "Complete", value: result.dense ? "yes" : "no", note: result.not_dense_reason ?? undefined}
  ];
}

function traceSpot(panel, result) {
  const section = panel.section("Drops", "How many nodes were lost at the same time, and how often.");
  section.barChart({
    title: "Drops by size",
    valueLabel: "drops",
    rows: Object.entries(result.drop_sizes ?? {})
              .map(([nodes, drops]) => ({label: plural(Number(nodes), "node"), value: drops}))
  });
  panel.section("Gaps", "Times that the recording does not cover.")
      .table({title: "gaps", rows: result.holes ?? [], columns: [{key: "begin_s"}, {key: "end_s"}]});
}

function traceKineto(panel, result) {
  panel.section("Process groups").table({
    title: "process groups",
    rows: result.process_groups ?? [],
    columns: [{key: "description"}, {key: "groups"}, {key: "size"}]
  });
  panel.section("Communication", "Per rank and step.").table({
    title: "communication",
    file: "communication",
    rows: result.communication ?? [],
    columns: [
      {key: "group"}, {key: "collective"}, {key: "per_step"}, {key: "elements"},
      {key: "median_s", format: fmt.seconds}
    ]
  });
  panel.section("Notes").list(result.notes ?? []);
}

function traceOps(panel, result) {
  const rows = Object.entries(result.optypes ?? {})
                   .map(
                       ([type, {ops, total_s: total}]) =>
                           ({type, ops, total_s: total, mean_s: ops > 0 ? total / ops : null}));
  const section = panel.section("Op types");
  section.barChart({
    title: "Time of all ops by type",
    format: fmt.seconds,
    valueLabel: "time",
    rows:
        [...rows].sort((a, b) => b.total_s - a.total_s).map((row) => ({label: row.type, value: row.total_s}))
  });
  section.table({
    title: "op types",
    file: "op-types",
    rows,
    columns: [{key: "type"}, {key: "ops"}, {key: "total_s"}, {key: "mean_s"}]
  });
  const cleaning = panel.section("What goodput whatif would leave out");
  if (!result.cleaning)
    cleaning.missing("the findings of the cleaning.");
  else
    cleaning.table({
      title: "findings",
      rows: result.cleaning,
      columns: [{key: "rule"}, {key: "found"}, {key: "count"}, {key: "done"}, {key: "steps"}, {key: "detail"}]
    });
  cleaning.list(result.notes ?? []);
}

view("goodput.trace_info", {
  title: "Trace",
  headline: traceHeadline,
  figures: traceFigures,
  render(panel, result) {
    if (traceIsSpot(result)) return traceSpot(panel, result);
    return traceIsKineto(result) ? traceKineto(panel, result) : traceOps(panel, result);
  },
});

view("goodput.synth-truth", {
  title: "Synthetic trace",
  headline: ({truth = {}}) => `The stragglers in this trace cost ${
      fmt.percent(1 - 1 / truth.slowdown)} of its time (slowdown S ${fmt.ratio(truth.slowdown)}).`,
  figures: ({truth = {}, trace = {}, steps}) =>
      [{label: "Slowdown S", value: fmt.ratio(truth.slowdown)},
       {label: "Launch slowdown", value: fmt.ratio(truth.launch_slowdown)},
       {label: "Recorded step", value: fmt.seconds(truth.recorded_step_s)},
       {label: "Ideal step", value: fmt.seconds(truth.ideal_step_s)},
       {label: "Step with noise only", value: fmt.seconds(truth.clean_step_s)}, {
         label: "Worst worker",
         value: fmt.any(truth.worst_worker?.worker),
         note: fmt.ratio(truth.worst_worker?.slowdown)
       },
       {
         label: "Ops",
         value: fmt.integer(trace.ops),
         note: `${plural(steps, "step")}, ${fmt.any(trace.format)}`
       }],
  render(panel, result) {
    const injected =
        panel.section("Injected", "Each straggler and the share of the recorded step that it costs.");
    injected.table({
      title: "injected",
      rows: result.injected ?? [],
      columns: [{key: "kind"}, {key: "description"}, {key: "cost", format: fmt.percent}]
    });
    const by = panel.section("Slowdown caused by each part alone");
    const rows = Object.entries(result.truth?.slowdown_by_stage ?? {})
                     .map(([stage, value]) => ({label: `stage ${stage}`, value}));
    by.barChart({title: "Slowdown by stage", rows, base: 1, format: fmt.ratio, valueLabel: "slowdown"});
    by.details({
      title: "slowdown by worker",
      file: "workers",
      rows: Object.entries(result.truth?.slowdown_by_worker ?? {}).map(([worker,
                                                                         slowdown]) => ({worker, slowdown})),
      columns: [{key: "worker", label: "worker (dp:stage)"}, {key: "slowdown", format: fmt.ratio}]
    });
    planTable(panel, "The plan", result.plan);
  },
});
