// What all charts have: a figure that is drawn again when its width changes, axes, a legend, a line that says
// what is pointed at, and the numbers as a table.

const kChartHeight = 260;
const kCategories = 10;
const kDashes = ["", "7 3", "2 3", "9 3 2 3", "5 2", "1 2", "12 4", "4 4"];

// The ink of the nth of several things: Okabe and Ito's colours in turn.
function categoryInk(at) { return `var(--category-${(at % kCategories) + 1})`; }

class Chart {
  // `describe` says what to do with keys, for those who cannot point.
  constructor(panel, title, keys) {
    const caption = el("figcaption", {}, title);
    this.drawing = el("div", {
      class: "drawing",
      tabindex: keys ? "0" : null,
      role: keys ? "application" : null,
      "aria-label": keys ? `${title}. ${keys}` : null
    });
    this.readout = el("output", {class: "readout", "aria-live": "polite"});
    this.element =
        panel.add(el("figure", {class: "chart"}, caption, this.drawing, keys ? this.readout : null));
    this.width = 0;
  }

  say(text) { this.readout.replaceChildren(document.createTextNode(visible(text))); }

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
    const list = el(
        "ul", {class: "legend"},
        entries.map(
            ({label: text, ink, dash, shape}) => el(
                "li", {},
                svg("svg", {width: 22, height: 10, "aria-hidden": "true"},
                    shape !== undefined ? svg("path", {d: shape, transform: "translate(11,5)", fill: ink}) :
                        dash === undefined ? svg("rect", {width: 12, height: 10, x: 5, fill: ink}) :
                                             svg("line", {
                                               x1: 0,
                                               x2: 22,
                                               y1: 5,
                                               y2: 5,
                                               stroke: ink,
                                               "stroke-width": 2,
                                               "stroke-dasharray": dash
                                             })),
                name(text))));
    this.element.insertBefore(list, this.drawing);
  }
}

// {label, format, from, log, isTight}: an axis of a chart, from round number to round number unless it is
// tight.
function axisScale(axis, values, range) {
  const finite = values.filter(isNumber);
  let low = d3.min(finite) ?? 0;
  let high = d3.max(finite) ?? 1;
  if (isNumber(axis.from)) low = Math.min(low, axis.from);
  if (low === high) high = low === 0 ? 1 : low + Math.abs(low) * 0.1;
  if (axis.log && low > 0) return d3.scaleLog().domain([low, high]).range(range);
  const room = axis.isTight ? (high - low) * 0.04 : 0;
  const scale = d3.scaleLinear().domain([low - room, high + room]).range(range);
  return axis.isTight ? scale : scale.nice(5);
}

// Seconds as people count them, the largest unit of which an axis shows one or more.
const kTimeUnits = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "\u00b5s"]];

function timeUnit(seconds) {
  return kTimeUnits.find(([size]) => seconds >= 1.5 * size) ?? kTimeUnits[kTimeUnits.length - 1];
}

function shortNumber(value) { return grouped(String(Number(value.toPrecision(6)))); }

// 120 000, but 1.2 M: what stands beside an axis is short.
function countTick(value) {
  const size = Math.abs(value);
  const [unit, text] = [[1e12, "T"], [1e9, "G"], [1e6, "M"]].find(([one]) => size >= one) ?? [1, ""];
  return text ? `${shortNumber(value / unit)}\u202f${text}` : shortNumber(value);
}

function usdTick(value) {
  return Math.abs(value) >= 1e4 && Math.abs(value) < 1e6 ? `$${shortNumber(value / 1e3)}\u202fk` :
                                                           `$${countTick(value)}`;
}

// What stands at a tick: as few digits as it needs, where a value has four.
function tickText(axis, scale) {
  if (axis.format === fmt.percent)
    return (value) => `${grouped(String(Number((100 * value).toFixed(3))))}\u202f%`;
  if (axis.format === fmt.usd) return usdTick;
  if (axis.format === fmt.seconds && scale) {
    const [size, unit] = timeUnit(Math.max(...scale.domain().map(Math.abs)));
    return (value) => (value === 0 ? "0" : `${shortNumber(value / size)}\u202f${unit}`);
  }
  if (axis.format === fmt.ratio || axis.format === fmt.number || axis.format === fmt.integer || !axis.format)
    return countTick;
  return axis.format;
}

// Of whole numbers (steps, nodes, layers) only whole ticks, of times round ones of their unit, of a log axis
// as many as fit.
function ticksOf(axis, scale, count) {
  if (scale.base && scale.domain()[1] / scale.domain()[0] < 10) return d3.ticks(...scale.domain(), count);
  if (scale.base) {
    const all = scale.ticks(count);
    const leads = (digits) => all.filter((tick) => digits.includes(Number(tick.toExponential()[0])));
    return [all, leads([1, 2, 5]), leads([1])].find((ticks) => ticks.length <= count + 1) ?? leads([1]);
  }
  if (axis.format === fmt.seconds) {
    const [size] = timeUnit(Math.max(...scale.domain().map(Math.abs)));
    const [low, high] = scale.domain();
    return d3.ticks(low / size, high / size, count).map((tick) => tick * size);
  }
  const ticks = scale.ticks(count);
  return axis.isWhole ? ticks.filter(Number.isInteger) : ticks;
}

function drawAxes(group, {x, y, xScale, yScale, width, height}) {
  const ticks = Math.max(3, Math.floor(width / 90));
  const grid = group.append("g").attr("class", "grid");
  for (const tick of ticksOf(y, yScale, 5))
    grid.append("line").attr("x1", 0).attr("x2", width).attr("y1", yScale(tick)).attr("y2", yScale(tick));
  group.append("g")
      .attr("class", "axis")
      .attr("transform", `translate(0,${height})`)
      .call(d3.axisBottom(xScale)
                .tickValues(ticksOf(x, xScale, ticks))
                .tickSizeOuter(0)
                .tickFormat((value) => visible(tickText(x, xScale)(value))));
  group.append("g")
      .attr("class", "axis")
      .call(d3.axisLeft(yScale)
                .tickValues(ticksOf(y, yScale, 5))
                .tickSizeOuter(0)
                .tickFormat((value) => visible(tickText(y, yScale)(value))));
  group.append("text")
      .attr("class", "axis-label")
      .attr("x", width)
      .attr("y", height + 36)
      .attr("text-anchor", "end")
      .text(visible(x.label ?? ""));
  group.append("text").attr("class", "axis-label").attr("x", -54).attr("y", -12).text(visible(y.label ?? ""));
}

// The frame of a chart with two axes: {group, width, height} inside the margins.
function plotFrame(chart, width, height = kChartHeight, left = 66) {
  const margin = {top: 28, right: 22, bottom: 44, left};
  chart.drawing.replaceChildren();
  const root = d3.select(chart.drawing)
                   .append("svg")
                   .attr("width", width)
                   .attr("height", height)
                   .attr("aria-hidden", "true");
  const group = root.append("g").attr("transform", `translate(${margin.left},${margin.top})`);
  return {
    root,
    group,
    margin,
    width: Math.max(40, width - margin.left - margin.right),
    height: height - margin.top - margin.bottom
  };
}
