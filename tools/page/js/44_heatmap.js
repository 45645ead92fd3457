// Cells in rows and columns, any number of them: a canvas, a pixel a cell, enlarged.
//
// {title, rows, columns: labels, value: (row, column) => number or null, describe: (row, column) => text,
// scale: {low, high, label, format}, rowLabel, columnLabel, ink: (value) => colour, text: (value) => what a
// cell says}. The arrow keys move a mark from cell to cell. show(value) draws others in the same cells.

const kCellText = {
  width: 34,
  height: 16
};

// From low (pale) to high (dark), in steps fine enough for the eye, between those of tools/page/palette.def.
const kRampStops = d3.range(Number(colour("ramp-steps"))).map((step) => colour(`ramp-${step}`));
const kRamp = d3.range(256).map((at) => d3.rgb(d3.piecewise(d3.interpolateRgb, kRampStops)(at / 255)));

function rampAt(scale, value) {
  const share = (value - scale.low) / (scale.high - scale.low || 1);
  return kRamp[Math.max(0, Math.min(255, Math.round(share * 255)))];
}

// Black or white on a colour, as tools/chart/heatmap_scale.cpp has it.
function inkOn(rgb) {
  const light = [rgb.r, rgb.g, rgb.b]
                    .map((channel) => channel / 255)
                    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] > 0.179 ? "#141414" : "#ffffff";
}

class Heatmap {
  constructor(panel, spec) {
    this.spec = spec;
    this.value = spec.value;
    this.mark = null;
    this.chart = new Chart(panel, spec.title, "Use the arrow keys to move between cells.");
    this.canvas = el("canvas");
    this.holder = el("div", {class: "cells"}, this.canvas);
    this.chart.drawing.append(this.holder);
    this.chart.onResize((width) => this.fit(width));
    this.canvas.addEventListener("mousemove", (event) => this.moveTo(...this.cellAt(event)));
    this.canvas.addEventListener("click", (event) => this.moveTo(...this.cellAt(event)));
    onArrows(
        this.chart.drawing,
        (dx, dy) => this.moveTo((this.mark?.row ?? 0) + dy, (this.mark?.column ?? -1) + dx),
        () => this.moveTo(0, 0), () => this.moveTo(spec.rows.length - 1, spec.columns.length - 1));
    onTheme(() => this.draw());
    if (spec.scale && !spec.ink) this.chart.element.insertBefore(scaleLegend(spec.scale), this.chart.drawing);
  }

  fit(width) {
    const {rows, columns} = this.spec;
    const longest = d3.max([...rows, this.spec.rowLabel ?? ""], (text) => visible(text).length) ?? 0;
    this.left = Math.min(10 + 6.6 * longest, width * 0.4);
    this.top = 34;
    const room = width - this.left - 2;
    this.cell = {
      width: Math.min(46, Math.max(1, Math.floor(room / columns.length))),
      height: Math.min(26, Math.max(1, Math.floor(Math.max(420, 2 * rows.length) / rows.length)))
    };
    const size = {
      width: Math.ceil(this.left + columns.length * this.cell.width + 2),
      height: this.top + rows.length * this.cell.height + 2
    };
    const dense = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(size.width * dense);
    this.canvas.height = Math.round(size.height * dense);
    this.canvas.style.setProperty("width", `${size.width}px`);
    this.canvas.style.setProperty("height", `${size.height}px`);
    this.draw();
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    return [
      Math.floor((event.clientY - box.top - this.top) / this.cell.height),
      Math.floor((event.clientX - box.left - this.left) / this.cell.width)
    ];
  }

  moveTo(row, column) {
    const {rows, columns, describe} = this.spec;
    if (row < 0 || column < 0 || row >= rows.length || column >= columns.length) return;
    this.mark = {row, column};
    this.chart.say(describe(row, column));
    this.draw();
  }

  show(value) {
    this.value = value;
    this.pixels = null;
    this.draw();
    if (this.mark) this.chart.say(this.spec.describe(this.mark.row, this.mark.column));
  }

  colourOf(value) {
    if (!isNumber(value)) return d3.rgb(colour("no-number"));
    return this.spec.ink ? d3.rgb(this.spec.ink(value)) : rampAt(this.spec.scale, value);
  }

  // All cells, a pixel each; kept until they change.
  cellPixels() {
    const {rows, columns} = this.spec;
    const image = new ImageData(columns.length, rows.length);
    const words = new Uint32Array(image.data.buffer);
    const packed = new Map();
    let at = 0;
    for (let row = 0; row < rows.length; row += 1) {
      for (let column = 0; column < columns.length; column += 1) {
        const value = this.value(row, column);
        const key = this.spec.ink || !isNumber(value) ? value : rampAt(this.spec.scale, value);
        let word = packed.get(key);
        if (word === undefined) {
          const {r, g, b} = this.colourOf(value);
          word = (255 << 24) | (b << 16) | (g << 8) | r;
          packed.set(key, word);
        }
        words[at] = word;
        at += 1;
      }
    }
    const canvas = document.createElement("canvas");
    canvas.width = columns.length;
    canvas.height = rows.length;
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }

  draw() {
    if (!this.cell) return;
    const theme = currentTheme();
    if (!this.pixels || this.pixelsTheme !== theme) {
      this.pixels = this.cellPixels();
      this.pixelsTheme = theme;
    }
    const {rows, columns} = this.spec;
    const context = this.canvas.getContext("2d");
    const dense = window.devicePixelRatio || 1;
    context.setTransform(dense, 0, 0, dense, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.imageSmoothingEnabled = false;
    context.drawImage(
        this.pixels, this.left, this.top, columns.length * this.cell.width, rows.length * this.cell.height);
    this.drawGaps(context);
    this.drawLabels(context);
    this.drawTexts(context);
    if (this.mark) {
      context.strokeStyle = colour("focus");
      context.lineWidth = 2;
      context.strokeRect(
          this.left + this.mark.column * this.cell.width - 1, this.top + this.mark.row * this.cell.height - 1,
          this.cell.width + 1, this.cell.height + 1);
    }
  }

  drawGaps(context) {
    const {width, height} = this.cell;
    const {rows, columns} = this.spec;
    context.fillStyle = colour("paper");
    if (width >= 5)
      for (let at = 1; at <= columns.length; at += 1)
        context.fillRect(this.left + at * width - 1, this.top, 1, rows.length * height);
    if (height >= 5)
      for (let at = 1; at <= rows.length; at += 1)
        context.fillRect(this.left, this.top + at * height - 1, columns.length * width, 1);
  }

  drawLabels(context) {
    const {rows, columns, rowLabel, columnLabel} = this.spec;
    context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    context.fillStyle = colour("ink-soft");
    context.textBaseline = "middle";
    context.textAlign = "right";
    const letters = Math.floor((this.left - 8) / 6);
    const everyRow = Math.ceil(13 / this.cell.height);
    rows.forEach((text, at) => {
      if (at % everyRow === 0)
        context.fillText(shortened(text, letters), this.left - 6, this.top + (at + 0.5) * this.cell.height);
    });
    context.textAlign = "center";
    const longest = d3.max(columns, (text) => visible(text).length) ?? 1;
    const everyColumn = Math.ceil((7 * longest + 6) / this.cell.width);
    columns.forEach((text, at) => {
      if (at % everyColumn === 0)
        context.fillText(visible(text), this.left + (at + 0.5) * this.cell.width, this.top - 8);
    });
    context.textAlign = "left";
    if (columnLabel) context.fillText(visible(columnLabel), this.left, 8);
    context.textAlign = "right";
    if (rowLabel)
      context.fillText(visible(rowLabel), this.left - 6, this.top - (this.cell.height < 14 ? 18 : 8));
  }

  drawTexts(context) {
    const {rows, columns, text} = this.spec;
    if (!text || this.cell.width < (this.spec.textWidth ?? kCellText.width) ||
        this.cell.height < kCellText.height)
      return;
    context.textAlign = "center";
    for (let row = 0; row < rows.length; row += 1) {
      for (let column = 0; column < columns.length; column += 1) {
        const value = this.value(row, column);
        context.fillStyle = inkOn(this.colourOf(value));
        context.fillText(
            visible(text(value)), this.left + (column + 0.5) * this.cell.width - 0.5,
            this.top + (row + 0.5) * this.cell.height);
      }
    }
  }
}

function scaleLegend({low, high, label: text, format = fmt.number}) {
  const ramp = el("canvas", {width: 128, height: 1, class: "ramp", "aria-hidden": "true"});
  const context = ramp.getContext("2d");
  for (let at = 0; at < 128; at += 1) {
    context.fillStyle = kRamp[at * 2].toString();
    context.fillRect(at, 0, 1, 1);
  }
  return el(
      "p", {class: "scale"}, `${text ?? ""} `, el("span", {}, format(low)), ramp,
      el("span", {}, format(high)), el("span", {class: "no-number", "aria-hidden": "true"}), "unknown");
}

// The cells as a table: a row a cell.
function cellTable({title, rows, columns, value, scale, rowLabel = "row", columnLabel = "column"}) {
  const cells = [];
  rows.forEach(
      (rowText, row) => columns.forEach(
          (columnText, column) => cells.push({rowText, columnText, value: value(row, column)})));
  return {
    title,
    rows: cells,
    columns: [
      {key: rowLabel, value: (cell) => cell.rowText}, {key: columnLabel, value: (cell) => cell.columnText},
      {key: scale?.label ?? "value", value: (cell) => cell.value, format: scale?.format}
    ]
  };
}

Panel.prototype.heatmap = function heatmap(spec) {
  const map = new Heatmap(this, spec);
  if (spec.table !== null) this.details(spec.table ?? cellTable(spec));
  return map;
};
