// goodput.checkpoint: how large checkpoints are, who writes them, and what saving and faults cost a run.

function checkpointHeadline(result) {
  const partial = result.pec_bytes < result.total_bytes ?
      `; with ${fmt.integer(result.pec_k)} of ${plural(result.experts, "expert")} per layer it is ${
          fmt.bytes(result.pec_bytes)}` :
      "";
  const cost =
      isNumber(result.o_ckpt_s) ? `; saving and faults cost the run ${fmt.seconds(result.o_ckpt_s)}` : "";
  return `A checkpoint of ${result.model} is ${fmt.bytes(result.total_bytes)}${partial}${cost}.`;
}

function checkpointFigures(result) {
  const figures = [
    {
      label: "Parameters",
      value: fmt.integer(result.parameters),
      note: `${fmt.any(result.bytes_per_parameter)} bytes each`
    },
    {
      label: "Full checkpoint",
      value: fmt.bytes(result.total_bytes),
      note: `dense counterpart ${fmt.bytes(result.dense_bytes)}`
    },
    {
      label: "Partial checkpoint",
      value: fmt.bytes(result.pec_bytes),
      note: `saves ${fmt.percent(result.non_redundant_saving)}`
    },
    {
      label: "Largest part written by a rank",
      value: fmt.bytes(result.per_rank_max_bytes),
      note:
          `of ${plural(result.ranks, "rank")}; ${fmt.bytes(result.per_rank_full_bytes)} in a full checkpoint`
    },
    {
      label: "Reduction per rank",
      value: fmt.percent(result.per_rank_saving),
      note: `sharding ${fmt.any(result.sharding)}, selection ${fmt.any(result.selection)}`
    }
  ];
  if (isNumber(result.save_s)) {
    figures.push(
        {
          label: "Delay per checkpoint",
          value: fmt.seconds(result.save_s),
          note: `${fmt.any(result.save)}, every ${plural(result.interval_steps, "step")}`
        },
        {label: "Lost tokens (PLT)", value: fmt.percent(result.plt)});
  }
  return figures;
}

function checkpointSizes(panel, result) {
  const section = panel.section("Contents");
  const expert = result.expert_bytes;
  const parts = (experts) =>
      ({"everything except experts": result.non_expert_bytes, experts: experts * expert});
  section.stackedBars({
    title: "Checkpoint size",
    format: fmt.bytes,
    rows: [
      {label: "full", parts: parts(result.experts)},
      {label: `partial (K = ${fmt.any(result.pec_k)})`, parts: parts(result.pec_k)}
    ]
  });
  section.barChart({
    title: "Bytes that each rank writes",
    format: fmt.bytes,
    valueLabel: "bytes",
    rows: [
      {label: "largest rank, full checkpoint", value: result.per_rank_full_bytes},
      {label: "largest rank", value: result.per_rank_max_bytes},
      {label: "average rank", value: result.per_rank_mean_bytes}
    ]
  });
}

function checkpointRun(panel, result) {
  const section = panel.section("Cost of saving and faults");
  if (!isNumber(result.o_ckpt_s))
    return section.missing("the cost of a run, because the command ran without --interval.");
  section.stackedBars({
    title: "Time lost to saving and faults",
    format: fmt.seconds,
    rows: [{label: "O_ckpt", parts: result.o_ckpt_parts_s}]
  });
  section.figures([
    {label: "Time to copy to CPU memory", value: fmt.seconds(result.snapshot_s)},
    {label: "Time to write to storage", value: fmt.seconds(result.persist_s)},
    {label: "Shortest possible interval", value: plural(result.least_interval_steps, "step")}
  ].filter((figure) => !figure.value.startsWith(kNothing)));
  section.section("Faults").table({
    title: "faults",
    rows: result.faults ?? [],
    columns: [
      {key: "step"}, {key: "rank", format: (rank) => (rank === null ? "all" : fmt.any(rank))},
      {key: "recovered_step"}, {key: "tokens_lost"}, {key: "pec_k_after"}, {key: "snapshot_k_after"}
    ]
  });
  const assumed =
      section.section("Assumed", "Options that were not given, and the values that goodput assumed.");
  return assumed.table({
    title: "assumed",
    rows: Object.entries(result.assumed ?? {}).map(([option, value]) => ({option, value})),
    columns: [{key: "option"}, {key: "value"}]
  });
}

view("goodput.checkpoint", {
  title: "Checkpoints",
  headline: checkpointHeadline,
  figures: checkpointFigures,
  render(panel, result) {
    checkpointSizes(panel, result);
    checkpointRun(panel, result);
    const section = panel.section("Modules");
    if (result.modules)
      section.table({
        title: "modules",
        file: "modules",
        rows: result.modules,
        columns: [{key: "name"}, {key: "parameters"}, {key: "bytes"}]
      });
    else
      section.missing("the modules.");
  },
});
