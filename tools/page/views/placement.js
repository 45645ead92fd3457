// goodput.placement: replicas of experts, the slots they are in, and how many lost nodes that survives.

// One for all layers, or one a layer, as a list.
function placementLayers(result) {
  if (result.layers) return result.layers;
  return [{
    layer: null,
    experts: (result.replicas ?? []).map((_, expert) => expert),
    replicas: result.replicas ?? [],
    nodes: result.nodes ?? [],
    balance: result.balance
  }];
}

function placementSurvival(result) {
  return Object.entries(result.survival ?? {}).map(([failures, survival]) => ({
                                                     failures: Number(failures),
                                                     survival,
                                                     bound: result.survival_bound?.[failures],
                                                     low: result.ci?.[failures]?.[0],
                                                     high: result.ci?.[failures]?.[1]
                                                   }));
}

// The most nodes that may fail without an expert being lost for certain.
function placementSafe(result) {
  return d3.max(placementSurvival(result).filter((row) => row.survival === 1), (row) => row.failures) ?? 0;
}

function placementHeadline(result) {
  const layers = placementLayers(result);
  const nodes = layers[0].nodes.length;
  const safe = placementSafe(result);
  const next = placementSurvival(result).find((row) => row.failures === safe + 1);
  const survives = safe === 0 ?
      "may lose an expert when the first node fails" :
      `survives the loss of any ${safe === 1 ? "node" : `${fmt.integer(safe)} nodes`}`;
  const then = next ? `; it survives the loss of ${plural(next.failures, "node")} with probability ${
                          fmt.percent(next.survival)}` :
                      "";
  return `${fmt.integer(layers[0].replicas.length)} experts on ${plural(nodes, "node")}: the placement ${
      survives}${then}.`;
}

function placementFigures(result) {
  const layers = placementLayers(result);
  const replicas = layers.flatMap((layer) => layer.replicas);
  return [
    {label: "Certainly survives", value: plural(placementSafe(result), "lost node")},
    {
      label: "Replicas per expert",
      value: `${fmt.integer(d3.min(replicas))} to ${fmt.integer(d3.max(replicas))}`,
      note: `at least ${fmt.any(result.min_replicas_used)} required`
    },
    {
      label: "Node balance",
      value: fmt.ratio(result.balance?.node_max_over_mean),
      note: "largest load divided by the mean"
    },
    {
      label: "GPU balance",
      value: fmt.ratio(result.balance?.gpu_max_over_mean),
      note: "largest load divided by the mean"
    },
    {
      label: "Optimality",
      value: result.optimal === "proven" ? "proven" : "best found",
      note: `survival computed ${result.method === "exact" ? "exactly" : "by Monte Carlo"}`
    },
    ...(result.layers ? [{label: "Layers", value: fmt.integer(result.layers.length)}] : []),
  ];
}

function placementCurve(panel, result) {
  const section = panel.section(
      "Survival",
      "Probability that every expert keeps a live replica when this many nodes fail; every set of nodes is equally likely.");
  const rows = placementSurvival(result);
  if (rows.length === 0) return section.missing("survival.");
  const series = [{
    name: "this placement",
    points: rows.map((row) => [row.failures, row.survival]),
    band: rows.every((row) => isNumber(row.low)) ? rows.map((row) => [row.failures, row.low, row.high]) :
                                                   undefined
  }];
  if (rows.some((row) => isNumber(row.bound)))
    series.push({name: "upper bound of any placement", points: rows.map((row) => [row.failures, row.bound])});
  section.lineChart({
    title: "Survival by number of lost nodes",
    x: {label: "lost nodes", format: fmt.integer},
    y: {label: "survival", format: fmt.percent, from: 0},
    series
  });
  return section;
}

function placementSlots(panel, layer) {
  const slots = d3.max(layer.nodes, (node) => node.length) ?? 0;
  const nodesOf = new Map();
  layer.nodes.forEach(
      (node, at) => node.forEach((expert) => nodesOf.set(expert, [...(nodesOf.get(expert) ?? []), at])));
  panel.heatmap({
    title: "Which expert is in which slot",
    rows: layer.nodes.map((_, at) => String(at)),
    columns: d3.range(slots).map(String),
    rowLabel: "node",
    columnLabel: "slot",
    value: (row, column) => layer.nodes[row][column] ?? null,
    text: (expert) => (isNumber(expert) ? String(expert) : ""),
    textWidth: 20,
    ink: (expert) => colour(`category-${(expert % kCategories) + 1}`),
    describe: (row, column) => {
      const expert = layer.nodes[row][column];
      if (!isNumber(expert)) return `node ${row}, slot ${column}: empty`;
      return `node ${row}, slot ${column}: expert ${expert}, replicas on nodes ${
          nodesOf.get(expert).join(", ")}`;
    },
    table: {
      title: "slots",
      file: "slots",
      rows: layer.nodes.flatMap((node, at) => node.map((expert, slot) => ({node: at, slot, expert}))),
      columns: [{key: "node"}, {key: "slot"}, {key: "expert"}]
    }
  });
  panel.note(`Numbers are experts; with more than ${kCategories} experts, some share a color.`);
}

function placementReplicas(panel, layer) {
  panel.details({
    title: "replicas by expert",
    file: "replicas",
    rows: layer.replicas.map((count, at) => ({expert: layer.experts?.[at] ?? at, replicas: count})),
    columns: [{key: "expert"}, {key: "replicas"}]
  });
}

function placementByLayer(panel, result) {
  const layers = placementLayers(result);
  const section = panel.section("Slots", "Rows are nodes; each replica takes one slot.");
  if (layers[0].nodes.length === 0) return section.missing("the slots.");
  const holder = el("div");
  const show = (at) => {
    holder.replaceChildren();
    const inner = new Panel(holder, section.level, section.file);
    placementSlots(inner, layers[at]);
    placementReplicas(inner, layers[at]);
  };
  if (layers.length > 1) {
    const id = newId("layer");
    const select =
        el("select", {id}, layers.map((layer, at) => el("option", {value: at}, `layer ${layer.layer}`)));
    select.addEventListener("change", () => show(Number(select.value)));
    section.add(el("p", {class: "choice"}, el("label", {for: id
                   }, "MoE layer "), select));
    section.details({
      title: "layers",
      rows: layers,
      columns: [
        {key: "layer"},
        {key: "node_balance", value: (layer) => layer.balance?.node_max_over_mean, format: fmt.ratio},
        {key: "gpu_balance", value: (layer) => layer.balance?.gpu_max_over_mean, format: fmt.ratio},
        {key: "experts", value: (layer) => layer.experts.length}
      ]
    });
  }
  section.add(holder);
  show(0);
  return section;
}

view("goodput.placement", {
  title: "Expert placement",
  headline: placementHeadline,
  figures: placementFigures,
  render(panel, result) {
    placementCurve(panel, result);
    placementByLayer(panel, result);
  },
});
