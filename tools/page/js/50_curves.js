// Lines with their own places on one axis, read off anywhere by straight lines between their points; marks on
// them for what happened, and upright lines for limits.
//
// {title, x, y, series: [{name, points: [[x, y], ...], marks: [{x, text}], ink}], verticals: [{x, label}],
// height}. Left and right go along the axis, up and down from mark to mark.

const kCurveStops = 100;

// Of more series than there are colours the dashes tell those of one colour apart.
function seriesDash(at) { return kDashes[(at + 3 * Math.floor(at / kCategories)) % kDashes.length]; }

// What a line looks like: its own ink and no dashes, or those of its place.
function seriesLook(one, at) {
  return one.ink ? {ink: one.ink, dash: ""} : {ink: categoryInk(at), dash: seriesDash(at)};
}

// Of two points of one x, a leap, what it leaps to; nothing beyond the ends.
function curveAt(points, x) {
  const place = d3.bisector((point) => point[0]).right(points, x);
  if (place === 0) return null;
  const [x0, y0] = points[place - 1];
  if (place === points.length) return x === x0 ? y0 : null;
  const [x1, y1] = points[place];
  return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}

Panel.prototype.curves = function curves({title, x, y, series, verticals = [], height = kChartHeight}) {
  const drawn = series.filter((one) => one.points.length > 1);
  if (drawn.length === 0) return this.missing(`numbers for "${title}".`);
  const chart = new Chart(
      this, title,
      "Use the left and right arrow keys to read the values, up and down to move between marks.");
  chart.legend(drawn.map((one, at) => ({label: one.name, ...seriesLook(one, at)})));
  const marks = curveMarks(drawn);
  const xs =
      [...drawn.flatMap((one) => one.points.map((point) => point[0])), ...verticals.map((line) => line.x)];
  const range = d3.extent(xs);
  let wanted = null;
  let read = () => {};
  const readMark = (by) => {
    const next = by > 0 ? marks.find((mark) => mark.x > (wanted ?? -Infinity)) :
                          marks.filter((mark) => mark.x < (wanted ?? Infinity)).pop();
    if (next) read(next.x);
  };
  chart.onResize((width) => {
    const frame = plotFrame(chart, width, height);
    const xScale = d3.scaleLinear().domain(range[0] === range[1] ? [range[0], range[0] + 1] : range).range([
      0, frame.width
    ]);
    const yScale = axisScale(
        {from: 0, ...y}, drawn.flatMap((one) => one.points.map((point) => point[1])), [frame.height, 0]);
    drawAxes(frame.group, {x, y, xScale, yScale, width: frame.width, height: frame.height});
    for (const line of verticals) drawVertical(frame, xScale(line.x), line.label);
    drawCurves(frame.group, drawn, xScale, yScale);
    drawMarks(frame.group, marks, xScale, yScale);
    const hair = frame.group.append("line")
                     .attr("class", "hair")
                     .attr("y1", 0)
                     .attr("y2", frame.height)
                     .attr("visibility", "hidden");
    read = (place) => {
      wanted = Math.max(range[0], Math.min(range[1], place));
      hair.attr("x1", xScale(wanted)).attr("x2", xScale(wanted)).attr("visibility", "visible");
      chart.say(curvesText({drawn, marks, x, y}, wanted, (range[1] - range[0]) / (2 * kCurveStops)));
    };
    frame.root.on("mousemove", () => read(xScale.invert(d3.mouse(frame.group.node())[0])));
    if (wanted !== null) read(wanted);
  });
  onArrows(
      chart.drawing,
      (dx, dy) =>
          (dy !== 0 ? readMark(dy) : read((wanted ?? range[0]) + (dx * (range[1] - range[0])) / kCurveStops)),
      () => read(range[0]), () => read(range[1]));
  this.details(curvesTable({title, x, y, drawn}));
  return chart;
};

// The marks of all lines, each at the height of its own.
function curveMarks(series) {
  const marks = series.flatMap(
      (one, at) =>
          (one.marks ?? []).map((mark) => ({...mark, name: one.name, at, y: curveAt(one.points, mark.x)})));
  return marks.filter((mark) => isNumber(mark.y)).sort((a, b) => a.x - b.x);
}

function curvesTable({title, x, y, drawn}) {
  const columns = [
    {key: "name"}, {key: x.label, value: (row) => row.x, format: x.format},
    {key: y.label, value: (row) => row.y, format: y.format}
  ];
  return {
    title,
    columns,
    rows: drawn.flatMap((one) => one.points.map(([px, py]) => ({name: one.name, x: px, y: py})))
  };
}

function drawCurves(group, series, xScale, yScale) {
  const line = d3.line().x((point) => xScale(point[0])).y((point) => yScale(point[1]));
  series.forEach((one, at) => {
    const {ink, dash} = seriesLook(one, at);
    group.append("path")
        .attr("class", "line")
        .attr("stroke", ink)
        .attr("stroke-dasharray", dash)
        .attr("d", line(one.points));
  });
}

// Crosses, smaller where there are many.
function drawMarks(group, marks, xScale, yScale) {
  const size = marks.length > 60 ? 2.5 : 4;
  for (const mark of marks) {
    const [x, y] = [xScale(mark.x), yScale(mark.y)];
    const cross =
        `M${x - size} ${y - size}L${x + size} ${y + size}M${x + size} ${y - size}L${x - size} ${y + size}`;
    group.append("path").attr("class", "event").attr("stroke", categoryInk(mark.at)).attr("d", cross);
  }
}

// The values at a place, and what happened within `near` of it.
function curvesText({drawn, marks, x, y}, place, near) {
  const values = drawn.map((one) => [one.name, curveAt(one.points, place)])
                     .filter(([, value]) => isNumber(value))
                     .map(([called, value]) => `${drawn.length > 1 ? `${called} ` : ""}${y.format(value)}`);
  const happened = [...new Set(
      marks.filter((mark) => Math.abs(mark.x - place) <= near).map((mark) => `${mark.name} ${mark.text}`))];
  return [`${x.label} ${x.format(place)}: ${values.join(", ")}`, ...happened.slice(0, 4)].join(" \u00b7 ");
}

function drawVertical(frame, x, text) {
  frame.group.append("line")
      .attr("class", "limit")
      .attr("x1", x)
      .attr("x2", x)
      .attr("y1", -6)
      .attr("y2", frame.height);
  const isRight = x > frame.width / 2;
  frame.group.append("text")
      .attr("class", "axis-label")
      .attr("x", isRight ? x - 5 : x + 5)
      .attr("y", -8)
      .attr("text-anchor", isRight ? "end" : "start")
      .text(visible(text));
}
