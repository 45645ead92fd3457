// How far an answer moves when an input is as low or as high as it may be: two bars a row from the middle
// out.
//
// {title, label, rows: [{label, note, low: {change, text, remark}, high: {change, text, remark}}]}:
// change is relative, null where the answer does not hold any more. An input that is not a number has only
// `low`, without a text. Ends with a `remark` have an outline. Up and down go from row to row.

function tornadoChange(value) { return `${value > 0 ? "+" : ""}${fmt.percent(value)}`; }

function tornadoEnds(row) { return [row.low, row.high].filter(Boolean); }

function tornadoText(row) {
  const side = (end) => `${end.text ? `at ${end.text}: ` : ""}${
      isNumber(end.change) ? tornadoChange(end.change) : "no result"}${end.remark ? ` (${end.remark})` : ""}`;
  return `${row.label}${row.note ? ` (${row.note})` : ""}: ${tornadoEnds(row).map(side).join(", ")}`;
}

Panel.prototype.tornado = function tornado({title, label: axisLabel, rows}) {
  if (rows.length === 0) return this.missing(`inputs for "${title}".`);
  const chart = new Chart(this, title, "Use the up and down arrow keys to move between rows.");
  const remarks = [...new Set(rows.flatMap(tornadoEnds).map((end) => end.remark).filter(Boolean))];
  chart.legend([
    {label: "input at its lowest value", ink: categoryInk(0)},
    {label: "input at its highest value", ink: categoryInk(1)},
    ...remarks.map((text) => ({label: text, ink: "var(--warning)", dash: ""}))
  ]);
  const changes = rows.flatMap(tornadoEnds).map((end) => end.change).filter(isNumber).concat(0);
  let pointed = -1;
  let point = () => {};
  chart.onResize((width) => {
    chart.drawing.replaceChildren();
    const {room, letters} = labelRoom(rows.map((row) => row.label), width);
    const bottom = rows.length * kBarHeight + 4;
    const scale = intervalScale(changes.map((value) => ({value})), {base: 0}, [room, width - 30]);
    const root = d3.select(chart.drawing)
                     .append("svg")
                     .attr("width", width)
                     .attr("height", bottom + 40)
                     .attr("aria-hidden", "true");
    drawIntervalAxis(root, {scale, room, width, bottom, format: fmt.percent, axisLabel});
    const lit = drawLitRow(root, width);
    rows.forEach((row, at) => drawTornadoRow(root, row, at * kBarHeight, {scale, room, letters}));
    drawHair(root, scale(0), bottom);
    point = (place) => {
      pointed = Math.max(0, Math.min(rows.length - 1, place));
      lit.attr("y", pointed * kBarHeight).attr("visibility", "visible");
      chart.say(tornadoText(rows[pointed]));
    };
    root.on("mousemove", () => point(Math.floor(d3.mouse(root.node())[1] / kBarHeight)));
    if (pointed >= 0) point(pointed);
  });
  onArrows(chart.drawing, (dx, dy) => point(pointed + dx + dy), () => point(0), () => point(rows.length - 1));
  this.details({
    title,
    columns: [
      {key: "input", value: (row) => row.label}, {key: "note", label: "now"},
      {key: "low", value: (row) => row.low.text},
      {key: "low_change", label: "change", value: (row) => row.low.change, format: tornadoChange},
      {key: "high", value: (row) => row.high?.text},
      {key: "high_change", label: "change", value: (row) => row.high?.change, format: tornadoChange},
      ...(remarks.length > 0 ? [{key: "remark", value: tornadoRemarks}] : [])
    ],
    rows
  });
  return chart;
};

// "breaks a limit at 1.524"
function tornadoRemarks(row) {
  return tornadoEnds(row)
      .filter((end) => end.remark)
      .map((end) => (end.text ? `${end.remark} at ${end.text}` : end.remark))
      .join(", ");
}

// Both ends may move it the same way: half the height each, so that neither hides the other.
function drawTornadoRow(root, row, top, {scale, room, letters}) {
  drawRowLabel(root, row.label, room - 12, top + kBarHeight / 2, letters);
  tornadoEnds(row).forEach((end, at) => {
    if (!isNumber(end.change)) return;
    root.append("rect")
        .attr("class", end.remark ? "remarked" : null)
        .attr("x", Math.min(scale(0), scale(end.change)))
        .attr("width", Math.max(1.5, Math.abs(scale(end.change) - scale(0))))
        .attr("y", top + 3 + at * (kBarHeight / 2 - 3))
        .attr("height", kBarHeight / 2 - 4)
        .attr("fill", row.high ? categoryInk(at) : "var(--ink-soft)");
  });
}
