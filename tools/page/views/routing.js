// goodput.routing_info: how unevenly a router loads its experts, and how fast that changes.

function routingHeadline(result) {
  const {mean = {}} = result;
  const changes = isNumber(result.drift?.[0]?.distance) ?
      `; from one row of the trace to the next, ${
          fmt.percent(result.drift[0].distance)} of the tokens move to another expert` :
      "";
  return `The hottest of ${fmt.integer(result.experts)} experts gets ${
      fmt.percent(mean.hottest_share)} of the tokens, ${fmt.ratio(mean.padding_factor)} the mean${changes}.`;
}

function routingFigures(result) {
  const {mean = {}, iterations = {}} = result;
  return [
    {
      label: "Max / mean load",
      value: fmt.ratio(mean.padding_factor),
      note: "padding factor, mean over layers"
    },
    ...(isNumber(mean.top_padding_factor) ? [{
      label: `Max / mean load of the ${fmt.integer(result.top)} busiest`,
      value: fmt.ratio(mean.top_padding_factor)
    }] :
                                            []),
    {label: "Hottest expert", value: fmt.percent(mean.hottest_share), note: "share of its layer's tokens"},
    {label: "Zipf exponent", value: fmt.number(mean.zipf_exponent)},
    {label: "Entropy", value: fmt.percent(mean.entropy), note: "100 % means perfectly even"},
    {label: "Idle experts", value: fmt.number(mean.idle_experts), note: "per layer"},
    {
      label: "Recorded",
      value: `${plural(iterations.count, "iteration")}`,
      note: `${fmt.any(iterations.first)} to ${fmt.any(iterations.last)}; ${
          plural((result.layers ?? []).length, "layer")}`
    },
  ];
}

const kRoutingColumns = [
  {key: "padding_factor", label: "max / mean", format: fmt.ratio},
  {key: "top_padding_factor", label: "max / mean of the busiest", format: fmt.ratio}, {key: "variation"},
  {key: "zipf_exponent"}, {key: "hottest_share", format: fmt.percent}, {key: "entropy", format: fmt.percent},
  {key: "idle_experts"}, {key: "distance", label: "change to next row", format: fmt.percent},
  {key: "hottest_change_rate", label: "rows in which the hottest expert changes", format: fmt.percent}
];

// Without what was not asked for (--top).
function routingColumns(rows) {
  return kRoutingColumns.filter((column) => rows.some((row) => isNumber(row[column.key])));
}

function routingLayers(panel, result) {
  const section = panel.section(
      "By layer",
      isNumber(result.at_iteration) ? `At iteration ${result.at_iteration}.` : "Mean of all iterations.");
  if (!result.layers) return section.missing("the layers.");
  const columns = section.columns();
  columns.cell().lineChart({
    title: "Skew by layer",
    x: {label: "layer", format: fmt.integer},
    y: {label: "max / mean load", format: fmt.ratio, from: 1},
    series:
        [{name: "padding factor", points: result.layers.map((layer) => [layer.layer, layer.padding_factor])}]
  });
  columns.cell().lineChart({
    title: "Change by layer",
    x: {label: "layer", format: fmt.integer},
    y: {label: "tokens that move", format: fmt.percent, from: 0},
    series: [{name: "to the next row", points: result.layers.map((layer) => [layer.layer, layer.distance])}]
  });
  return section.table({
    title: "layers",
    file: "layers",
    rows: result.layers,
    columns: [{key: "layer"}, ...routingColumns(result.layers)]
  });
}

function routingCourse(panel, result) {
  const section = panel.section("Over the iterations", "All layers together, at selected iterations.");
  if (!result.course) return section.missing("the values by iteration.");
  const columns = section.columns();
  columns.cell().lineChart({
    title: "Skew over the iterations",
    x: {label: "iteration", format: fmt.integer},
    y: {label: "max / mean load", format: fmt.ratio, from: 1},
    series: [{
      name: "padding factor",
      points: result.course.map((moment) => [moment.iteration, moment.padding_factor])
    }]
  });
  columns.cell().lineChart({
    title: "Drift of the loads",
    x: {label: "iterations apart", format: fmt.integer},
    y: {label: "tokens that move", format: fmt.percent, from: 0},
    series: [{
      name: "total variation",
      points: (result.drift ?? []).map((lag) => [lag.iterations ?? lag.rows, lag.distance])
    }]
  });
  return section.details({
    title: "iterations",
    file: "course",
    rows: result.course,
    columns: [{key: "iteration"}, ...routingColumns(result.course)]
  });
}

view("goodput.routing_info", {
  title: "Routing",
  headline: routingHeadline,
  figures: routingFigures,
  render(panel, result) {
    routingCourse(panel, result);
    routingLayers(panel, result);
  },
});
