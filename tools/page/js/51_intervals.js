// Numbers with what is known of them: a dot and its interval a row, one below the other, against a line that
// means "no difference".
//
// {title, label, rows: [{label, value, low, high, tolerance: [low, high], ink, note}], base, format, tick,
// log}. Up and down go from row to row.

const kMostIntervals = 200;

function intervalText(row, format) {
  const interval = isNumber(row.low) ? ` (95 % interval ${format(row.low)} to ${format(row.high)})` : "";
  return `${row.label}: ${format(row.value)}${interval}${row.note ? ` \u00b7 ${row.note}` : ""}`;
}

function intervalScale(rows, {base, log}, range) {
  const ends = rows.flatMap((row) => [row.value, row.low, row.high, ...(row.tolerance ?? [])])
                   .filter(isNumber)
                   .concat(base);
  let [low, high] = d3.extent(ends);
  if (low === high) [low, high] = [low - Math.abs(low || 1) * 0.1, high + Math.abs(high || 1) * 0.1];
  if (log && low > 0) return d3.scaleLog().domain([low / 1.05, high * 1.05]).range(range);
  const room = (high - low) * 0.04;
  return d3.scaleLinear().domain([low - room, high + room]).range(range);
}

Panel.prototype.intervals = function intervals(
    {title, label: axisLabel = "", rows, base = 0, format = fmt.number, tick, log = false}) {
  const known = rows.filter((row) => isNumber(row.value));
  if (known.length === 0) return this.missing(`numbers for "${title}".`);
  const shown = known.slice(0, kMostIntervals);
  const chart = new Chart(this, title, "Use the up and down arrow keys to move between rows.");
  let pointed = -1;
  let point = () => {};
  chart.onResize((width) => {
    chart.drawing.replaceChildren();
    const {room, letters} = labelRoom(shown.map((row) => row.label), width);
    const bottom = shown.length * kBarHeight + 4;
    const scale = intervalScale(shown, {base, log}, [room, width - 16]);
    const root = d3.select(chart.drawing)
                     .append("svg")
                     .attr("width", width)
                     .attr("height", bottom + 40)
                     .attr("aria-hidden", "true");
    drawIntervalAxis(root, {scale, room, width, bottom, format, tick, axisLabel});
    const lit = drawLitRow(root, width);
    shown.forEach((row, at) => drawIntervalBand(root, row, at * kBarHeight, scale));
    drawHair(root, scale(base), bottom);
    shown.forEach((row, at) => drawIntervalRow(root, row, at * kBarHeight, {scale, room, letters}));
    point = (place) => {
      pointed = Math.max(0, Math.min(shown.length - 1, place));
      lit.attr("y", pointed * kBarHeight).attr("visibility", "visible");
      chart.say(intervalText(shown[pointed], format));
    };
    root.on("mousemove", () => point(Math.floor(d3.mouse(root.node())[1] / kBarHeight)));
    if (pointed >= 0) point(pointed);
  });
  onArrows(
      chart.drawing, (dx, dy) => point(pointed + dx + dy), () => point(0), () => point(shown.length - 1));
  if (known.length > shown.length)
    this.note(
        `Shows the first ${shown.length} of ${fmt.integer(known.length)}; the table lists all of them.`);
  this.details({
    title,
    columns: [
      {key: "name", value: (row) => row.label}, {key: "value", format}, {key: "low", format},
      {key: "high", format}, ...(rows.some((row) => row.note) ? [{key: "note"}] : [])
    ],
    rows
  });
  return chart;
};

// The row that is pointed at, once one is.
function drawLitRow(root, width) {
  return root.append("rect")
      .attr("class", "lit")
      .attr("x", 0)
      .attr("width", width)
      .attr("height", kBarHeight)
      .attr("visibility", "hidden");
}

// Where there is no change.
function drawHair(root, x, bottom) {
  root.append("line").attr("class", "hair").attr("x1", x).attr("x2", x).attr("y1", 0).attr("y2", bottom);
}

function drawIntervalAxis(
    root, {scale, room, width, bottom, format, tick: text = tickText({format}, scale), axisLabel}) {
  for (const tick of ticksOf({format}, scale, Math.max(3, Math.floor((width - room) / 80)))) {
    root.append("g")
        .attr("class", "grid")
        .append("line")
        .attr("x1", scale(tick))
        .attr("x2", scale(tick))
        .attr("y1", 0)
        .attr("y2", bottom);
    root.append("text")
        .attr("x", scale(tick))
        .attr("y", bottom + 16)
        .attr("text-anchor", "middle")
        .text(visible(text(tick)));
  }
  root.append("text")
      .attr("class", "axis-label")
      .attr("x", width - 4)
      .attr("y", bottom + 34)
      .attr("text-anchor", "end")
      .text(visible(axisLabel));
}

function drawIntervalBand(root, row, top, scale) {
  if (!row.tolerance) return;
  const [low, high] = row.tolerance.map(scale);
  root.append("rect")
      .attr("class", "tolerance")
      .attr("x", low)
      .attr("width", Math.max(1, high - low))
      .attr("y", top + 3)
      .attr("height", kBarHeight - 6);
}

function drawIntervalRow(root, row, top, {scale, room, letters}) {
  const middle = top + kBarHeight / 2;
  const ink = row.ink ?? categoryInk(0);
  drawRowLabel(root, row.label, room - 12, middle, letters);
  if (isNumber(row.low) && isNumber(row.high)) {
    root.append("path")
        .attr("class", "whisker")
        .attr("stroke", ink)
        .attr(
            "d",
            `M${scale(row.low)} ${middle}H${scale(row.high)}M${scale(row.low)} ${middle - 4}v8M${
                scale(row.high)} ${middle - 4}v8`);
  }
  root.append("circle").attr("cx", scale(row.value)).attr("cy", middle).attr("r", 4).attr("fill", ink);
}
