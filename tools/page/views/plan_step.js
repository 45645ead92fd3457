// goodput.plan-step: what one training step of a plan takes, where the time and the memory go.

function planStepGpus(result) {
  const parallel = result.plan?.parallel ?? {};
  return ["dp", "pp", "tp", "cp"].reduce((count, key) => count * (parallel[key] ?? 1), 1);
}

function planStepHeadline(result) {
  const model = result.plan?.model?.name ?? "The plan";
  const gpu = result.plan?.cluster?.gpu?.name;
  const where = gpu ? ` on ${fmt.integer(planStepGpus(result))} \u00d7 ${gpu}` : "";
  const fits = result.memory ? (result.memory.fits ? "it fits in memory" : "it does not fit in memory") :
                               "its memory use is unknown";
  return `${model}${where}: a step takes ${fmt.seconds(result.step_s)} at ${fmt.percent(result.mfu)} MFU; ${
      fits}.`;
}

function planStepFigures(result) {
  const parallel = result.plan?.parallel ?? {};
  const ways = ["dp", "pp", "tp", "cp", "ep"]
                   .filter((key) => parallel[key] > 1)
                   .map((key) => `${key.toUpperCase()} ${parallel[key]}`);
  return [
    {
      label: "Step",
      value: fmt.seconds(result.step_s),
      note: result.step_range_s ? `80 % of such steps take ${fmt.seconds(result.step_range_s[0])} to ${
                                      fmt.seconds(result.step_range_s[1])}` :
                                  undefined
    },
    ...(result.stack ? [{label: "Software stack", value: result.stack, note: result.step_range_basis}] : []),
    {label: "Tokens per second", value: fmt.integer(result.tokens_per_s)},
    {label: "MFU", value: fmt.percent(result.mfu), note: `HFU ${fmt.percent(result.hfu)}`},
    {
      label: "Bubble",
      value: fmt.percent(result.bubble),
      note: "share of the step that stages would idle if communication took no time"
    },
    {
      label: "Exposed communication",
      value: fmt.seconds(result.exposed_communication_s),
      note: fmt.percent(result.exposed_communication_s / result.step_s)
    },
    ...(isNumber(result.step_over_nics_s) ?
            [{label: "Step with shared NICs", value: fmt.seconds(result.step_over_nics_s)}] :
            []),
    {
      label: "Largest memory of a stage",
      value: fmt.bytes(d3.max(result.memory?.stages ?? [], (stage) => stage.total_bytes)),
      note: `of ${fmt.bytes(result.memory?.available_bytes)}`
    },
    {
      label: "Parallelism",
      value: ways.length === 0 ? "one GPU" : ways.join(" \u00b7 "),
      note: parallel.schedule ? `schedule ${parallel.schedule}` : undefined
    },
  ];
}

// What an op type is drawn as; the two tracks of a stage are computation and the rest.
const kPlanStepKinds = [
  ["forward", /^forward-compute$/], ["backward", /^backward-compute$/],
  ["weight gradients", /^backward-weight$/], ["optimizer", /^optimizer/],
  ["sends and receives", /-(send|recv)$/], ["collectives", /./]
];
const kPlanStepComputeKinds = 4;

// op "forward-compute/ffn" is the part ffn of forward-compute.
function planStepTree(result) {
  const types = new Map();
  for (const {op, time_s: time} of result.critical_path) {
    const [type, part] = op.split("/");
    const node = types.get(type) ?? {name: type, children: []};
    node.children.push({name: part ?? "whole", value: time});
    types.set(type, node);
  }
  const children = [...types.values()].map(
      (node) =>
          (node.children.length === 1 && node.children[0].name === "whole" ?
               {name: node.name, value: node.children[0].value} :
               node));
  return {name: "step", children};
}

function planStepTime(panel, result) {
  const section = panel.section(
      "Where the step time goes",
      "Time on the longest path through the step, by op and part; the times add up to the step time.");
  if (!result.critical_path) return section.missing("the critical path.");
  return section.icicle({title: "Step time by part", root: planStepTree(result), format: fmt.seconds});
}

function planStepMemory(panel, result) {
  const section = panel.section("Memory", result.memory?.verdict);
  const stages = result.memory?.stages;
  if (!stages) return section.missing("memory by part.");
  const parts = [
    ["weights", "weights_bytes"], ["gradients", "gradients_bytes"], ["optimizer", "optimizer_bytes"],
    ["activations", "activations_bytes"], ["working buffers", "working_bytes"], ["reserved", "reserved_bytes"]
  ];
  section.stackedBars({
    title: "Memory by part",
    format: fmt.bytes,
    limit: {
      value: result.memory.available_bytes,
      label: `available: ${fmt.bytes(result.memory.available_bytes)}`
    },
    rows: stages.map((stage, at) => ({
                       label: `stage ${at}`,
                       parts: Object.fromEntries(parts.map(([called, key]) => [called, stage[key]]))
                     }))
  });
  return section;
}

function planStepPipeline(panel, result) {
  const section = panel.section(
      "One step of the pipeline",
      "Each row is a stage: computation above, sends, receives and collectives below.");
  const slices = result.slices;
  if (!slices) return section.missing("the timeline of the step (newer versions of goodput write it).");
  if (slices.start_us.length === 0) return section.note("Nothing in this step takes time.");
  const kindOf = slices.types.map((type) => kPlanStepKinds.findIndex(([, is]) => is.test(type)));
  const describe = (at) => {
    const parts = [`stage ${slices.stage[at]}`, slices.types[slices.type[at]]];
    if (slices.micro_batch[at] >= 0) parts.push(`micro-batch ${slices.micro_batch[at]}`);
    if (slices.chunk[at] > 0) parts.push(`chunk ${slices.chunk[at]}`);
    return `${parts.join(" \u00b7 ")} \u00b7 starts at ${fmt.seconds(slices.start_us[at] * 1e-6)}, takes ${
        fmt.seconds(slices.duration_us[at] * 1e-6)}`;
  };
  const stages = (d3.max(slices.stage) ?? 0) + 1;
  section.gantt({
    title: "Passes and communication by stage",
    rows: d3.range(stages).map((stage) => `stage ${stage}`),
    kinds: kPlanStepKinds.map(([called]) => called),
    describe,
    slices: {
      row: slices.stage,
      kind: slices.type.map((type) => kindOf[type]),
      start: slices.start_us,
      duration: slices.duration_us
    },
    format: (us) => fmt.seconds(us * 1e-6),
    tracks: (kind) => (kind < kPlanStepComputeKinds ? 0 : 1)
  });
  if (slices.all > slices.start_us.length)
    section.note(`Shows the first ${fmt.integer(slices.start_us.length)} of ${
        fmt.integer(slices.all)} slices; goodput plan-step --timeline writes all of them.`);
  return section.details({
    title: "slices",
    file: "slices",
    rows: d3.range(slices.start_us.length),
    columns: [
      {key: "stage", value: (at) => slices.stage[at]},
      {key: "type", value: (at) => slices.types[slices.type[at]]},
      {key: "micro_batch", value: (at) => (slices.micro_batch[at] < 0 ? null : slices.micro_batch[at])},
      {key: "chunk", value: (at) => slices.chunk[at]},
      {key: "start_s", value: (at) => slices.start_us[at] * 1e-6},
      {key: "duration_s", value: (at) => slices.duration_us[at] * 1e-6}
    ]
  });
}

view("goodput.plan-step", {
  title: "Training step",
  headline: planStepHeadline,
  figures: planStepFigures,
  render(panel, result) {
    planStepTime(panel, result);
    planStepPipeline(panel, result);
    planStepMemory(panel, result);
    if ((result.unused_keys ?? []).length > 0)
      panel.section("Keys without effect").table({
        title: "unused keys",
        rows: result.unused_keys,
        columns: [{key: "file"}, {key: "pointer"}, {key: "why"}]
      });
    planTable(panel, "The plan", result.plan);
  },
});

// A resolved config as rows of pointers and values.
function planTable(panel, title, config) {
  const section = panel.section(
      title, "The resolved plan: names are replaced by what they refer to, and defaults are filled in.");
  if (!config) return section.missing("the resolved plan.");
  const rows = [];
  const walk = (pointer, value) => {
    if (isRecord(value))
      for (const [key, member] of Object.entries(value)) walk(`${pointer}/${key}`, member);
    else
      rows.push({key: pointer, value});
  };
  walk("", config);
  return section.details(
      {title: "all settings", file: "plan", rows, columns: [{key: "key"}, {key: "value"}]});
}
