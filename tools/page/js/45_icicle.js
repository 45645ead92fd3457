// Parts of parts: {title, root: {name, value, children}, format}. A row a level, as wide as its share; the
// arrow keys go through the parts.

const kLevelHeight = 40;

Panel.prototype.icicle = function icicle({title, root, format = fmt.number}) {
  const tree =
      d3.hierarchy(root).sum((node) => (node.children ? 0 : node.value)).sort((a, b) => b.value - a.value);
  if (!(tree.value > 0)) return this.missing(`numbers for "${title}".`);
  const chart = new Chart(this, title, "Use the left and right arrow keys to move between parts.");
  const nodes = tree.descendants();
  const tops = tree.children ?? [];
  const inkOf = (node) =>
      (node.depth === 0 ? "var(--sunken)" : categoryInk(tops.indexOf(node.ancestors().slice(-2)[0])));
  const pathOf = (node) =>
      node.ancestors().reverse().slice(node.depth > 0 ? 1 : 0).map((one) => one.data.name).join(" / ");
  let pointed = -1;
  let point = () => {};
  chart.onResize((width) => {
    chart.drawing.replaceChildren();
    d3.partition().size([width, (tree.height + 1) * kLevelHeight])(tree);
    const canvas = d3.select(chart.drawing)
                       .append("svg")
                       .attr("width", width)
                       .attr("height", (tree.height + 1) * kLevelHeight)
                       .attr("aria-hidden", "true");
    const boxes = nodes.map(
        (node, at) => drawIcicleBox(canvas, node, inkOf(node), format).on("mouseover", () => point(at)));
    point = (place) => {
      if (pointed >= 0) boxes[pointed].attr("stroke", null);
      pointed = Math.max(0, Math.min(nodes.length - 1, place));
      boxes[pointed].attr("stroke", "var(--focus)");
      chart.say(`${pathOf(nodes[pointed])}: ${format(nodes[pointed].value)}, ${
          fmt.percent(nodes[pointed].value / tree.value)}`);
    };
    if (pointed >= 0) point(pointed);
  });
  onArrows(
      chart.drawing, (dx, dy) => point(pointed + dx + dy), () => point(0), () => point(nodes.length - 1));
  this.details({
    title,
    columns: [
      {key: "part", value: pathOf}, {key: "value", value: (node) => node.value, format},
      {key: "share", value: (node) => node.value / tree.value, format: fmt.percent}
    ],
    rows: nodes.slice(1)
  });
  return chart;
};

// The box's rect, which is what a pointer hits.
function drawIcicleBox(canvas, node, ink, format) {
  const width = Math.max(0.5, node.x1 - node.x0 - 1);
  const rect = canvas.append("rect")
                   .attr("x", node.x0)
                   .attr("y", node.y0)
                   .attr("width", width)
                   .attr("height", kLevelHeight - 2)
                   .attr("fill", ink)
                   .attr(
                       "fill-opacity",
                       node.depth === 0     ? 1 :
                           node.depth === 1 ? 0.5 :
                                              0.25)
                   .attr("stroke-width", 2);
  if (node.depth > 0)
    canvas.append("rect")
        .attr("x", node.x0)
        .attr("y", node.y0)
        .attr("width", width)
        .attr("height", 3)
        .attr("fill", ink)
        .attr("pointer-events", "none");
  const letters = Math.floor((width - 8) / 6.4);
  if (letters < 4) return rect;
  const text = (y, content) => canvas.append("text")
                                   .attr("class", "on-part")
                                   .attr("pointer-events", "none")
                                   .attr("x", node.x0 + 5)
                                   .attr("y", node.y0 + y)
                                   .text(shortened(content, letters));
  text(15, node.data.name);
  text(29, format(node.value));
  return rect;
}
