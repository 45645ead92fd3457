// What there is to choose between two costs: all that competes, and the front, of which none is better in
// both.
//
// {title, x, y, points: [{x, y, label, category, xCi, yCi, isBest, isFront, remark}], categories}: less is
// better on x; on y too, unless `moreIsBetter`. Points that say `isFront` make the front; if none does, it is
// made of the numbers. `remark` says what a point is. `categories` gives the order of their colors. A chart
// that `isWhole` shows all points, however far off. Left and right go along the front, up and down through
// all points.

function frontOf(points, moreIsBetter) {
  const sorted = [...points].sort((a, b) => a.x - b.x || (moreIsBetter ? b.y - a.y : a.y - b.y));
  const front = [];
  for (const point of sorted) {
    const last = front[front.length - 1];
    if (!last || (moreIsBetter ? point.y > last.y : point.y < last.y)) front.push(point);
  }
  return front;
}

function frontShape(at, size) { return d3.symbol().type(d3[kShapes[at % kShapes.length]]).size(size)(); }

// Where the picture ends: Tukey's fence, so that a few that are far off do not squeeze all others; the front
// is always in it.
function frontFence(values, ofFront) {
  const sorted = [...values].sort(d3.ascending);
  const [low, high] = [d3.quantile(sorted, 0.25), d3.quantile(sorted, 0.75)];
  return Math.max(high + 1.5 * (high - low), d3.max(ofFront));
}

Panel.prototype.front = function front(
    {title, x, y, points, categories: given = [], moreIsBetter = false, isWhole = false}) {
  const known =
      points.filter((point) => isNumber(point.x) && isNumber(point.y)).sort((a, b) => a.x - b.x || a.y - b.y);
  if (known.length === 0) return this.missing(`numbers for "${title}".`);
  const said = known.filter((one) => one.isFront);
  const best = said.length > 0 ? said : frontOf(known, moreIsBetter);
  const fence = (key) => frontFence(known.map((one) => one[key]), best.map((one) => one[key]));
  const xMost = isWhole ? Infinity : fence("x");
  const yMost = isWhole || moreIsBetter ? Infinity : fence("y");
  const shown = known.filter((one) => one.x <= xMost && one.y <= yMost);
  const categories = [...new Set([...given, ...known.map((point) => point.category ?? "")])];
  const chart = new Chart(
      this, title, "Use the left and right arrow keys to move along the front, up and down for all points.");
  chart.legend(
      categories.map((category, at) => ({label: category, ink: categoryInk(at), shape: frontShape(at, 44)})));
  let pointed = null;
  let point = () => {};
  chart.onResize((width) => {
    const frame = plotFrame(chart, width, kChartHeight + 60);
    const ends = (key) => [...shown.map((one) => one[key]), ...best.flatMap((one) => one[`${key}Ci`] ?? [])];
    const xScale = axisScale(x, ends("x"), [0, frame.width]);
    const yScale = axisScale(y, ends("y"), [frame.height, 0]);
    drawAxes(frame.group, {x, y, xScale, yScale, width: frame.width, height: frame.height});
    frame.group.append("path")
        .attr("class", "front-line")
        .attr("d", d3.line().curve(d3.curveStepAfter)(best.map((one) => [xScale(one.x), yScale(one.y)])));
    const rank = (one) => (one.isBest ? 2 : best.includes(one) || one.remark ? 1 : 0);
    for (const one of [...shown].sort((a, b) => rank(a) - rank(b)))  // what matters is drawn on top
      drawContender(
          frame.group, one,
          {xScale, yScale, at: categories.indexOf(one.category ?? ""), isFront: best.includes(one)});
    const ring = frame.group.append("circle").attr("class", "ring").attr("r", 9).attr("visibility", "hidden");
    point = (one) => {
      if (!one) return;
      pointed = one;
      ring.attr("cx", xScale(one.x)).attr("cy", yScale(one.y)).attr("visibility", "visible");
      chart.say(frontText(one, {x, y, isFront: best.includes(one)}));
    };
    frame.root.on("mousemove", () => point(nearestTo(d3.mouse(frame.group.node()), shown, xScale, yScale)));
    point(pointed);
  });
  const along = (list, by) => list[Math.max(0, Math.min(list.length - 1, list.indexOf(pointed) + by))];
  onArrows(
      chart.drawing, (dx, dy) => point(dx !== 0 ? along(best, dx) : along(shown, dy)), () => point(best[0]),
      () => point(best[best.length - 1]));
  const away = known.length - shown.length;
  if (away > 0)
    this.note(`${plural(away, "point")} far from the others ${away === 1 ? "is" : "are"} only in the table.`);
  this.details(frontTable({title, x, y, known, best}));
  return chart;
};

function nearestTo([mx, my], points, xScale, yScale) {
  const distance = (one) => Math.hypot(xScale(one.x) - mx, yScale(one.y) - my);
  return points[d3.scan(points, (a, b) => distance(a) - distance(b))];
}

function frontTable({title, x, y, known, best}) {
  const hasCategories = known.some((one) => one.category !== known[0].category);
  const columns = [
    {key: "name", value: (row) => row.label}, ...(hasCategories ? [{key: "category"}] : []),
    {key: x.label, value: (row) => row.x, format: x.format},
    {key: y.label, value: (row) => row.y, format: y.format},
    {key: "front", label: "on the front", value: (row) => (best.includes(row) ? "yes" : "")}
  ];
  return {title, columns, rows: known};
}

function frontText(one, {x, y, isFront}) {
  const value = (axis, number, ci) =>
      `${axis.label} ${axis.format(number)}${ci ? ` (${axis.format(ci[0])} to ${axis.format(ci[1])})` : ""}`;
  const remark = one.remark ?? (isFront ? "on the front" : "");
  return `${one.label}: ${value(x, one.x, one.xCi)}, ${value(y, one.y, one.yCi)}${
      remark ? ` \u00b7 ${remark}` : ""}`;
}

function drawContender(group, one, {xScale, yScale, at, isFront}) {
  const [cx, cy] = [xScale(one.x), yScale(one.y)];
  const ink = categoryInk(at);
  if (isFront && one.xCi)
    group.append("path")
        .attr("class", "whisker")
        .attr("stroke", ink)
        .attr("d", `M${xScale(one.xCi[0])} ${cy}H${xScale(one.xCi[1])}`);
  if (isFront && one.yCi)
    group.append("path")
        .attr("class", "whisker")
        .attr("stroke", ink)
        .attr("d", `M${cx} ${yScale(one.yCi[0])}V${yScale(one.yCi[1])}`);
  group.append("path")
      .attr("class", isFront || one.remark ? "mark" : "mark dim")
      .attr("d", frontShape(at, isFront || one.remark ? 64 : 30))
      .attr("fill", ink)
      .attr("transform", `translate(${cx},${cy})`);
  if (one.isBest) group.append("circle").attr("class", "answer").attr("cx", cx).attr("cy", cy).attr("r", 8);
}
