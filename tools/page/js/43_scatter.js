// Points in a plane: {title, x, y, points: [{x, y, label, category}]}. The arrow keys go from point to point.

const kShapes = [
  "symbolCircle", "symbolSquare", "symbolTriangle", "symbolDiamond", "symbolCross", "symbolStar", "symbolWye"
];

Panel.prototype.scatter = function scatter({title, x, y, points}) {
  const shown = points.filter((point) => isNumber(point.x) && isNumber(point.y)).sort((a, b) => a.x - b.x);
  if (shown.length === 0) return this.missing(`numbers for "${title}".`);
  const categories = [...new Set(shown.map((point) => point.category ?? ""))];
  const shapeOf = (at) => d3.symbol().type(d3[kShapes[at % kShapes.length]]).size(56)();
  const chart = new Chart(this, title, "Use the left and right arrow keys to move between points.");
  chart.legend(categories.map((category, at) => ({label: category, ink: categoryInk(at)})));
  let pointed = -1;
  let point = () => {};
  chart.onResize((width) => {
    const frame = plotFrame(chart, width, kChartHeight + 60);
    const xScale = axisScale(x, shown.map((one) => one.x), [0, frame.width]);
    const yScale = axisScale(y, shown.map((one) => one.y), [frame.height, 0]);
    drawAxes(frame.group, {x, y, xScale, yScale, width: frame.width, height: frame.height});
    const marks = shown.map((one) => {
      const at = categories.indexOf(one.category ?? "");
      return frame.group.append("path")
          .attr("class", "mark")
          .attr("d", shapeOf(at))
          .attr("fill", categoryInk(at))
          .attr("transform", `translate(${xScale(one.x)},${yScale(one.y)})`);
    });
    const ring = frame.group.append("circle").attr("class", "ring").attr("r", 8).attr("visibility", "hidden");
    point = (place) => {
      pointed = Math.max(0, Math.min(shown.length - 1, place));
      const one = shown[pointed];
      ring.attr("cx", xScale(one.x)).attr("cy", yScale(one.y)).attr("visibility", "visible");
      chart.say(`${one.label}: ${x.label} ${(x.format ?? fmt.number)(one.x)}, ${y.label} ${
          (y.format ?? fmt.number)(one.y)}`);
    };
    marks.forEach((mark, at) => mark.on("mouseover", () => point(at)));
    if (pointed >= 0) point(pointed);
  });
  onArrows(
      chart.drawing, (dx, dy) => point(pointed + dx + dy), () => point(0), () => point(shown.length - 1));
  this.details({
    title,
    columns: [
      {key: "name", value: (row) => row.label}, ...(categories.length > 1 ? [{key: "category"}] : []),
      {key: x.label, value: (row) => row.x, format: x.format},
      {key: y.label, value: (row) => row.y, format: y.format}
    ],
    rows: points
  });
  return chart;
};
