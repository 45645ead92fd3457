// Lines over one axis: {title, x, y, series: [{name, points: [[x, y], ...], band: [[x, low, high], ...]}],
// steps}. With `steps` a value holds until the next point. Pointing or the arrow keys read off the values at
// an x.

function seriesAt(series, at) {
  const place = d3.bisector((point) => point[0]).left(series.points, at);
  const point = series.points[place];
  return point && point[0] === at ? point[1] : null;
}

Panel.prototype.lineChart = function lineChart({title, x, y, series, steps = false}) {
  const drawn = series.filter((one) => one.points.some((point) => isNumber(point[1])));
  if (drawn.length === 0) return this.missing(`numbers for "${title}".`);
  const chart = new Chart(this, title, "Use the left and right arrow keys to read the values.");
  chart.legend(
      drawn.map((one, at) => ({label: one.name, ink: categoryInk(at), dash: kDashes[at % kDashes.length]})));
  const places =
      [...new Set(drawn.flatMap((one) => one.points.map((point) => point[0])))].sort((a, b) => a - b);
  let pointed = -1;
  let point = () => {};
  chart.onResize((width) => {
    const frame = plotFrame(chart, width);
    const xScale = axisScale(x, places, [0, frame.width]);
    if (!x.log)
      xScale.domain(
          [places[0], places[places.length - 1] === places[0] ? places[0] + 1 : places[places.length - 1]]);
    const heights = drawn.flatMap(
        (one) => [...one.points.map((at) => at[1]), ...(one.band ?? []).flatMap((at) => [at[1], at[2]])]);
    const yScale = axisScale(y, heights, [frame.height, 0]);
    drawAxes(frame.group, {
      x: {isWhole: places.every(Number.isInteger), ...x},
      y,
      xScale,
      yScale,
      width: frame.width,
      height: frame.height
    });
    drawn.forEach((one, at) => drawSeries(frame.group, one, at, {xScale, yScale, steps}));
    const hair = frame.group.append("line")
                     .attr("class", "hair")
                     .attr("y1", 0)
                     .attr("y2", frame.height)
                     .attr("visibility", "hidden");
    point = (place) => {
      pointed = Math.max(0, Math.min(places.length - 1, place));
      const value = places[pointed];
      hair.attr("x1", xScale(value)).attr("x2", xScale(value)).attr("visibility", "visible");
      const read =
          drawn.map((one) => [one.name, seriesAt(one, value)]).filter(([, number]) => isNumber(number));
      chart.say(`${x.label ?? ""} ${(x.format ?? fmt.number)(value)}: ${
          read.map(([called,
                     number]) => `${drawn.length > 1 ? `${called} ` : ""}${(y.format ?? fmt.number)(number)}`)
              .join(", ")}`);
    };
    frame.root.on("mousemove", function moved() {
      const wanted = xScale.invert(d3.mouse(frame.group.node())[0]);
      const right = d3.bisectLeft(places, wanted);
      point(
          right > 0 && (right === places.length || wanted - places[right - 1] < places[right] - wanted) ?
              right - 1 :
              right);
    });
    if (pointed >= 0) point(pointed);
  });
  onArrows(chart.drawing, (dx) => point(pointed + dx), () => point(0), () => point(places.length - 1));
  this.details({
    title,
    columns: [
      {key: x.label ?? "x", value: (row) => row.at, format: x.format},
      ...drawn.map(
          (one) => ({key: one.name, label: one.name, value: (row) => row.values.get(one), format: y.format}))
    ],
    rows: tableOfSeries(drawn, places)
  });
  return chart;
};

function tableOfSeries(series, places) {
  return places.map((at) => ({at, values: new Map(series.map((one) => [one, seriesAt(one, at)]))}));
}

function drawSeries(group, series, at, {xScale, yScale, steps}) {
  const curve = steps ? d3.curveStepAfter : d3.curveLinear;
  if (series.band) {
    group.append("path")
        .attr("class", "band")
        .attr("fill", categoryInk(at))
        .attr(
            "d",
            d3.area()
                .curve(curve)
                .x((p) => xScale(p[0]))
                .y0((p) => yScale(p[1]))
                .y1((p) => yScale(p[2]))(series.band));
  }
  group.append("path")
      .attr("class", "line")
      .attr("stroke", categoryInk(at))
      .attr("stroke-dasharray", kDashes[at % kDashes.length])
      .attr(
          "d",
          d3.line()
              .defined((p) => isNumber(p[1]))
              .curve(curve)
              .x((p) => xScale(p[0]))
              .y((p) => yScale(p[1]))(series.points));
  if (series.points.length > 60) return;
  for (const [px, py] of series.points) {
    if (isNumber(py))
      group.append("circle")
          .attr("cx", xScale(px))
          .attr("cy", yScale(py))
          .attr("r", 2.5)
          .attr("fill", categoryInk(at));
  }
}

function onArrows(element, move, toFirst, toLast) {
  element.addEventListener("keydown", (event) => {
    const steps = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
    if (steps[event.key])
      move(...steps[event.key]);
    else if (event.key === "Home")
      toFirst();
    else if (event.key === "End")
      toLast();
    else
      return;
    event.preventDefault();
  });
}
