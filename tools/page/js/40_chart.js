// What all charts have: a figure that is drawn again when its width changes, axes, a legend, a line that says what is
// pointed at, and the numbers as a table.

const kChartHeight = 260;
const kCategories = 10;
const kDashes = ["", "7 3", "2 3", "9 3 2 3", "5 2", "1 2", "12 4", "4 4"];

// The ink of the nth of several things: Okabe and Ito's colours in turn.
function categoryInk(at) {
  return `var(--category-${(at % kCategories) + 1})`;
}

class Chart {
  // `describe` says what to do with keys, for those who cannot point.
  constructor(panel, title, keys) {
    const caption = el("figcaption", {}, title);
    this.drawing = el("div", {class: "drawing", tabindex: keys ? "0" : null, role: keys ? "application" : null,
                              "aria-label": keys ? `${title}. ${keys}` : null});
    this.readout = el("output", {class: "readout", "aria-live": "polite"});
    this.element = panel.add(el("figure", {class: "chart"}, caption, this.drawing, keys ? this.readout : null));
    this.width = 0;
  }

  say(text) {
    this.readout.replaceChildren(document.createTextNode(visible(text)));
  }

  // Calls draw(width) now and whenever there is more or less room.
  onResize(draw) {
    const check = () => {
      const width = Math.floor(this.drawing.clientWidth);
      if (width === this.width || width === 0) return;
      this.width = width;
      draw(width);
    };
    new ResizeObserver(check).observe(this.drawing);
    check();
  }

  legend(entries) {
    if (entries.length < 2) return;
    const list = el("ul", {class: "legend"}, entries.map(({label: text, ink, dash}) => el("li", {},
      svg("svg", {width: 22, height: 10, "aria-hidden": "true"},
          dash === undefined ? svg("rect", {width: 12, height: 10, x: 5, fill: ink})
                             : svg("line", {x1: 0, x2: 22, y1: 5, y2: 5, stroke: ink, "stroke-width": 2, "stroke-dasharray": dash})),
      name(text))));
    this.element.insertBefore(list, this.drawing);
  }
}

// {label, format, from, log}: an axis of a chart.
function axisScale(axis, values, range) {
  const finite = values.filter(isNumber);
  let low = d3.min(finite) ?? 0;
  let high = d3.max(finite) ?? 1;
  if (isNumber(axis.from)) low = Math.min(low, axis.from);
  if (low === high) high = low === 0 ? 1 : low + Math.abs(low) * 0.1;
  if (axis.log && low > 0) return d3.scaleLog().domain([low, high]).range(range);
  return d3.scaleLinear().domain([low, high]).nice(5).range(range);
}

// What stands at a tick: as few digits as it needs, where a value has four.
function tickText(axis) {
  if (axis.format === fmt.percent) return (value) => `${grouped(String(Number((100 * value).toFixed(3))))}\u202f%`;
  if (axis.format === fmt.ratio || !axis.format) return (value) => grouped(String(Number(value.toPrecision(6))));
  return axis.format;
}

// Of whole numbers (steps, nodes, layers) only whole ticks.
function ticksOf(axis, scale, count) {
  const ticks = scale.ticks(count);
  return axis.isWhole ? ticks.filter(Number.isInteger) : ticks;
}

function drawAxes(group, {x, y, xScale, yScale, width, height}) {
  const ticks = Math.max(2, Math.floor(width / 90));
  const grid = group.append("g").attr("class", "grid");
  for (const tick of yScale.ticks(5)) grid.append("line").attr("x1", 0).attr("x2", width).attr("y1", yScale(tick)).attr("y2", yScale(tick));
  group.append("g").attr("class", "axis").attr("transform", `translate(0,${height})`)
    .call(d3.axisBottom(xScale).tickValues(ticksOf(x, xScale, ticks)).tickSizeOuter(0).tickFormat((value) => visible(tickText(x)(value))));
  group.append("g").attr("class", "axis").call(d3.axisLeft(yScale).ticks(5).tickSizeOuter(0).tickFormat((value) => visible(tickText(y)(value))));
  group.append("text").attr("class", "axis-label").attr("x", width).attr("y", height + 36).attr("text-anchor", "end").text(visible(x.label ?? ""));
  group.append("text").attr("class", "axis-label").attr("x", -46).attr("y", -12).text(visible(y.label ?? ""));
}

// The frame of a chart with two axes: {group, width, height} inside the margins.
function plotFrame(chart, width, height = kChartHeight, left = 58) {
  const margin = {top: 28, right: 14, bottom: 44, left};
  chart.drawing.replaceChildren();
  const root = d3.select(chart.drawing).append("svg").attr("width", width).attr("height", height).attr("aria-hidden", "true");
  const group = root.append("g").attr("transform", `translate(${margin.left},${margin.top})`);
  return {root, group, margin, width: Math.max(40, width - margin.left - margin.right), height: height - margin.top - margin.bottom};
}
