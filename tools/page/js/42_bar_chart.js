// Bars across, one below the other, with what they stand for before and their value behind them.

const kMostBars = 40;
const kBarHeight = 22;

function shortened(text, most) {
  const shown = visible(text);
  return shown.length > most ? `${shown.slice(0, most - 1)}\u2026` : shown;
}

// How wide the column of labels is, and how many letters fit into it.
function labelRoom(labels, width) {
  const longest = d3.max(labels, (text) => visible(text).length) ?? 0;
  const room = Math.min(longest * 7 + 12, Math.floor(width * 0.42));
  return {room, letters: Math.max(4, Math.floor((room - 12) / 6.6))};
}

// {title, rows: [{label, value, low, high, note}], format, base, sorted}: bars begin at `base` (0); low and
// high are an interval around the value. Of many rows the first kMostBars are drawn, all are in the table.
Panel.prototype.barChart = function barChart(
    {title, rows, format = fmt.number, base = 0, valueLabel = "value"}) {
  const known = rows.filter((row) => isNumber(row.value));
  if (known.length === 0) return this.missing(`numbers for "${title}".`);
  const shown = known.slice(0, kMostBars);
  const chart = new Chart(this, title);
  chart.onResize((width) => {
    chart.drawing.replaceChildren();
    const {room, letters} = labelRoom(shown.map((row) => row.label), width);
    const valueRoom = 12 + 7.2 * (d3.max(shown, (row) => format(row.value).length) ?? 0);
    const ends = shown.flatMap((row) => [row.value, row.low, row.high].filter(isNumber));
    const low = Math.min(base, d3.min(ends));
    const high = Math.max(base, d3.max(ends));
    const scale = d3.scaleLinear().domain([low, high === low ? low + 1 : high]).range([
      room, Math.max(room + 20, width - valueRoom)
    ]);
    const root = d3.select(chart.drawing)
                     .append("svg")
                     .attr("width", width)
                     .attr("height", shown.length * kBarHeight + 4)
                     .attr("aria-hidden", "true");
    shown.forEach((row, at) => drawBar(root, row, at * kBarHeight, {scale, base, room, letters, format}));
  });
  if (known.length > shown.length)
    this.note(
        `Shows the first ${shown.length} of ${fmt.integer(known.length)}; the table lists all of them.`);
  const hasInterval = known.some((row) => isNumber(row.low));
  this.details({
    title,
    columns: [
      {key: "name", value: (row) => row.label}, {key: valueLabel, value: (row) => row.value, format},
      ...(hasInterval ? [{key: "low", format}, {key: "high", format}] : []),
      ...(known.some((row) => row.note) ? [{key: "note"}] : [])
    ],
    rows
  });
  return chart;
};

// What a row of bars, intervals or changes is called, left of them.
function drawRowLabel(root, label, x, y, letters, note) {
  root.append("text")
      .attr("class", "bar-label")
      .attr("x", x)
      .attr("y", y)
      .attr("dy", "0.35em")
      .attr("text-anchor", "end")
      .text(shortened(label, letters))
      .append("title")
      .text(visible(note ? `${label}: ${note}` : label));
}

function drawBar(root, row, top, {scale, base, room, letters, format}) {
  const middle = top + kBarHeight / 2;
  drawRowLabel(root, row.label, room - 8, middle, letters, row.note);
  const from = scale(Math.min(base, row.value));
  const to = scale(Math.max(base, row.value));
  root.append("rect")
      .attr("x", from)
      .attr("width", Math.max(1, to - from))
      .attr("y", top + 4)
      .attr("height", kBarHeight - 8)
      .attr("fill", row.ink ?? categoryInk(0));
  if (isNumber(row.low) && isNumber(row.high)) {
    root.append("path")
        .attr("class", "interval")
        .attr(
            "d",
            `M${scale(row.low)} ${middle}H${scale(row.high)}M${scale(row.low)} ${middle - 4}v8M${
                scale(row.high)} ${middle - 4}v8`);
  }
  const end = isNumber(row.high) ? Math.max(to, scale(row.high)) : to;
  root.append("text")
      .attr("class", "bar-value")
      .attr("x", end + 6)
      .attr("y", middle)
      .attr("dy", "0.35em")
      .text(visible(format(row.value)));
}

// {title, rows: [{label, parts: {name: value}}], format, limit: {value, label}}: a bar a row, made of parts;
// a part is the same colour in all rows.
Panel.prototype.stackedBars = function stackedBars({title, rows, format = fmt.number, limit}) {
  const parts = [...new Set(rows.flatMap((row) => Object.keys(row.parts)))].filter(
      (part) => rows.some((row) => row.parts[part] > 0));
  if (parts.length === 0) return this.missing(`numbers for "${title}".`);
  const total = (row) => d3.sum(parts, (part) => row.parts[part] ?? 0);
  const chart = new Chart(this, title);
  chart.legend(parts.map((part, at) => ({label: part, ink: categoryInk(at)})));
  const shown = rows.slice(0, kMostBars);
  chart.onResize((width) => {
    chart.drawing.replaceChildren();
    const {room, letters} = labelRoom(shown.map((row) => row.label), width);
    const valueRoom = 12 + 7.2 * (d3.max(shown, (row) => format(total(row)).length) ?? 0);
    const most = Math.max(d3.max(shown, total), limit ? limit.value : 0);
    const scale = d3.scaleLinear().domain([0, most]).range([room, Math.max(room + 20, width - valueRoom)]);
    const height = shown.length * kBarHeight + (limit ? 18 : 4);
    const root = d3.select(chart.drawing)
                     .append("svg")
                     .attr("width", width)
                     .attr("height", height)
                     .attr("aria-hidden", "true");
    shown.forEach(
        (row, at) =>
            drawStack(root, row, at * kBarHeight, {scale, parts, room, letters, format, total: total(row)}));
    if (limit) drawLimit(root, scale(limit.value), shown.length * kBarHeight, limit.label);
  });
  if (rows.length > shown.length)
    this.note(`Shows the first ${shown.length} of ${fmt.integer(rows.length)}; the table lists all of them.`);
  this.details({
    title,
    columns: [
      {key: "name", value: (row) => row.label}, {key: "total", value: total, format},
      ...parts.map((part) => ({key: part, label: part, value: (row) => row.parts[part] ?? null, format}))
    ],
    rows
  });
  return chart;
};

function drawStack(root, row, top, {scale, parts, room, letters, format, total}) {
  const middle = top + kBarHeight / 2;
  drawRowLabel(root, row.label, room - 8, middle, letters);
  let from = 0;
  parts.forEach((part, at) => {
    const value = row.parts[part] ?? 0;
    if (value <= 0) return;
    root.append("rect")
        .attr("class", "part")
        .attr("x", scale(from))
        .attr("width", Math.max(0.5, scale(from + value) - scale(from)))
        .attr("y", top + 4)
        .attr("height", kBarHeight - 8)
        .attr("fill", categoryInk(at))
        .append("title")
        .text(visible(`${part}: ${format(value)}`));
    from += value;
  });
  root.append("text")
      .attr("class", "bar-value")
      .attr("x", scale(from) + 6)
      .attr("y", middle)
      .attr("dy", "0.35em")
      .text(visible(format(total)));
}

function drawLimit(root, x, height, text) {
  root.append("line").attr("class", "limit").attr("x1", x).attr("x2", x).attr("y1", 0).attr("y2", height + 2);
  root.append("text")
      .attr("class", "axis-label")
      .attr("x", x)
      .attr("y", height + 14)
      .attr("text-anchor", "end")
      .text(visible(text));
}
