// What runs when on which row: {title, rows: labels, kinds: names, slices: {row, kind, start, duration:
// arrays}, format: of a time, describe: (slice) => text, tracks: (kind) => 0 or 1}. Track 0 is the upper,
// thicker one of a row. The arrow keys go from slice to slice, up and down from row to row; + and - and the
// buttons show less and more of it.

const kTrackHeights = [18, 7];

class Gantt {
  constructor(panel, spec) {
    this.spec = spec;
    this.marked = -1;
    this.chart =
        new Chart(panel, spec.title, "Use the arrow keys to move between slices, + and \u2212 to zoom.");
    const used = new Set(spec.slices.kind);
    this.chart.legend(
        spec.kinds.map((kind, at) => ({label: kind, ink: categoryInk(at), isUsed: used.has(at)}))
            .filter((entry) => entry.isUsed));
    this.canvas = el("canvas");
    this.chart.drawing.append(this.canvas);
    this.end = d3.max(spec.slices.start, (start, at) => start + spec.slices.duration[at]);
    this.order = d3.range(spec.slices.start.length)
                     .sort(
                         (a, b) => spec.slices.row[a] - spec.slices.row[b] ||
                             spec.slices.start[a] - spec.slices.start[b]);
    this.view = [0, this.end];
    this.chart.onResize((width) => this.fit(width));
    this.addZoom();
    this.canvas.addEventListener("mousemove", (event) => this.mark(this.sliceAt(event)));
    onArrows(
        this.chart.drawing, (dx, dy) => this.step(dx, dy), () => this.mark(this.order[0]),
        () => this.mark(this.order[this.order.length - 1]));
    onTheme(() => this.draw());
  }

  addZoom() {
    const button = (text, called, press) =>
        el("button", {type: "button", class: "quiet", "aria-label": called, onclick: press}, text);
    this.chart.element.append(
        el("div", {class: "zoom"}, button("\u2190", "Earlier", () => this.pan(-1)),
           button("\u2192", "Later", () => this.pan(1)), button("+", "Zoom in", () => this.zoom(0.5)),
           button("\u2212", "Zoom out", () => this.zoom(2)),
           button("All", "Show everything", () => this.show(0, this.end))));
    this.chart.drawing.addEventListener("keydown", (event) => {
      if (event.key === "+" || event.key === "=") this.zoom(0.5);
      if (event.key === "-") this.zoom(2);
    });
  }

  show(from, to) {
    const length = Math.min(this.end, Math.max(this.end / 5000, to - from));
    const begin = Math.max(0, Math.min(this.end - length, from));
    this.view = [begin, begin + length];
    this.draw();
  }

  // Around what is marked, else the middle of what is seen.
  zoom(by) {
    const {start, duration} = this.spec.slices;
    const middle =
        this.marked >= 0 ? start[this.marked] + duration[this.marked] / 2 : (this.view[0] + this.view[1]) / 2;
    const half = (by * (this.view[1] - this.view[0])) / 2;
    this.show(middle - half, middle + half);
  }

  pan(by) {
    const step = (by * (this.view[1] - this.view[0])) / 2;
    this.show(this.view[0] + step, this.view[1] + step);
  }

  get rowHeight() { return kTrackHeights[0] + kTrackHeights[1] + 5; }

  fit(width) {
    this.width = width;
    this.left = 12 + 6.6 * (d3.max(this.spec.rows, (text) => text.length) ?? 0);
    this.height = this.spec.rows.length * this.rowHeight + 24;
    this.scale = d3.scaleLinear().range([this.left, width - 8]);
    const dense = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * dense);
    this.canvas.height = Math.round(this.height * dense);
    this.canvas.style.setProperty("width", `${width}px`);
    this.canvas.style.setProperty("height", `${this.height}px`);
    this.draw();
  }

  boxOf(at) {
    const {row, kind, start, duration} = this.spec.slices;
    const track = this.spec.tracks(kind[at]);
    const x = this.scale(start[at]);
    return {
      x,
      width: Math.max(0.6, this.scale(start[at] + duration[at]) - x),
      y: row[at] * this.rowHeight + (track === 0 ? 0 : kTrackHeights[0] + 1),
      height: kTrackHeights[track]
    };
  }

  draw() {
    if (!this.scale) return;
    this.scale.domain(this.view);
    const context = this.canvas.getContext("2d");
    const dense = window.devicePixelRatio || 1;
    context.setTransform(dense, 0, 0, dense, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const inks = this.spec.kinds.map((_, at) => colour(`category-${(at % kCategories) + 1}`));
    const {kind} = this.spec.slices;
    context.save();
    context.beginPath();
    context.rect(this.left, 0, this.width - this.left, this.height);
    context.clip();
    for (let at = 0; at < kind.length; at += 1) {
      const box = this.boxOf(at);
      if (box.x > this.width || box.x + box.width < this.left) continue;
      context.fillStyle = inks[kind[at]];
      context.fillRect(box.x, box.y, box.width > 3 ? box.width - 0.7 : box.width, box.height);
    }
    if (this.marked >= 0) {
      const box = this.boxOf(this.marked);
      context.strokeStyle = colour("focus");
      context.lineWidth = 2;
      context.strokeRect(box.x - 1, box.y - 1, box.width + 2, box.height + 2);
    }
    context.restore();
    this.drawAxis(context);
  }

  drawAxis(context) {
    context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    context.fillStyle = colour("ink-soft");
    context.textBaseline = "middle";
    context.textAlign = "right";
    this.spec.rows.forEach(
        (text, row) =>
            context.fillText(visible(text), this.left - 6, row * this.rowHeight + kTrackHeights[0] / 2));
    context.textAlign = "center";
    for (const tick of this.scale.ticks(Math.max(2, Math.floor(this.width / 110)))) {
      context.fillText(
          visible(this.spec.format(tick)), Math.min(this.scale(tick), this.width - 26), this.height - 10);
    }
  }

  sliceAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    return this.order.find((at) => {
      const slice = this.boxOf(at);
      return x >= slice.x && x <= slice.x + slice.width && y >= slice.y && y <= slice.y + slice.height;
    });
  }

  mark(at) {
    if (at === undefined || at === this.marked) return;
    this.marked = at;
    const begin = this.spec.slices.start[at];
    if (begin < this.view[0] || begin > this.view[1])
      this.show(begin - (this.view[1] - this.view[0]) / 2, begin + (this.view[1] - this.view[0]) / 2);
    this.chart.say(this.spec.describe(at));
    this.draw();
  }

  // Along a row, or to the slice of another row that begins closest.
  step(dx, dy) {
    const {row, start} = this.spec.slices;
    const place = this.order.indexOf(this.marked);
    if (dy === 0) return this.mark(this.order[Math.max(0, Math.min(this.order.length - 1, place + dx))]);
    const wanted = (row[this.marked] ?? 0) + dy;
    const there = this.order.filter((at) => row[at] === wanted);
    const apart = (at) => Math.abs(start[at] - start[this.marked]);
    return this.mark(there.sort((a, b) => apart(a) - apart(b))[0]);
  }
}

Panel.prototype.gantt = function gantt(spec) {
  return new Gantt(this, spec);
};
