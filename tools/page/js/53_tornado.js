// How far an answer moves when an input is as low or as high as it may be: two bars a row from the middle
// out.
//
// {title, label, rows: [{label, note, low: {change, text}, high: {change, text}}], format}: change is
// relative, null where the answer does not hold any more. Up and down go from row to row.

function tornadoText(row, format) {
  const side = (end) => `${end.text} it is ${isNumber(end.change) ? format(end.change) : "no answer"}`;
  return `${row.label}${row.note ? ` (${row.note})` : ""}: at ${side(row.low)}, at ${side(row.high)}`;
}

Panel.prototype.tornado = function tornado({title, label: axisLabel, rows, format = fmt.percent}) {
  if (rows.length === 0) return this.missing(`${title}: no inputs.`);
  const chart = new Chart(this, title, "Up and down arrow keys go from row to row.");
  chart.legend([
    {label: "input at its lowest", ink: categoryInk(0)}, {label: "input at its highest", ink: categoryInk(1)}
  ]);
  const changes = rows.flatMap((row) => [row.low.change, row.high.change]).filter(isNumber).concat(0);
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
    drawIntervalAxis(root, {scale, room, width, bottom, format, axisLabel});
    const lit = drawLitRow(root, width);
    rows.forEach((row, at) => drawTornadoRow(root, row, at * kBarHeight, {scale, room, letters}));
    drawHair(root, scale(0), bottom);
    point = (place) => {
      pointed = Math.max(0, Math.min(rows.length - 1, place));
      lit.attr("y", pointed * kBarHeight).attr("visibility", "visible");
      chart.say(tornadoText(rows[pointed], format));
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
      {key: "low_change", label: "change", value: (row) => row.low.change, format},
      {key: "high", value: (row) => row.high.text},
      {key: "high_change", label: "change", value: (row) => row.high.change, format}
    ],
    rows
  });
  return chart;
};

// Both ends may move it the same way: half the height each, so that neither hides the other.
function drawTornadoRow(root, row, top, {scale, room, letters}) {
  drawRowLabel(root, row.label, room - 12, top + kBarHeight / 2, letters);
  [row.low, row.high].forEach((end, at) => {
    if (!isNumber(end.change)) return;
    root.append("rect")
        .attr("x", Math.min(scale(0), scale(end.change)))
        .attr("width", Math.max(1.5, Math.abs(scale(end.change) - scale(0))))
        .attr("y", top + 3 + at * (kBarHeight / 2 - 3))
        .attr("height", kBarHeight / 2 - 4)
        .attr("fill", categoryInk(at));
  });
}
