// The page: a section a result, those of one kind compared before them, and where the numbers come from.

function kindTitle(result) {
  return viewOf(result).title ?? label(String(result.schema).split("/")[0].replace(/^goodput\./, ""));
}

function provenance(panel, results) {
  const rows = [
    ["schema", "schema"], ["version", "version"], ["revision", "revision"], ["seed", "seed"],
    ["config_hash", "config hash"], ["calibration", "calibration"], ["lowest_tier", "lowest tier"],
    ["config_files", "config files"]
  ].map(([key, text]) => ({key: text, values: results.map(({result}) => result[key])}));
  panel.table({
    title: "provenance",
    columns: [
      {key: "key", label: "item"},
      ...results.map(({name: called}, at) => ({
                       key: called || "value",
                       label: called || "this result",
                       value: (row) => row.values[at],
                       format: (value) => (typeof value === "number" ? String(value) : fmt.any(value)),
                     }))
    ],
    rows
  });
  panel.note(
      "Tiers, best first: measured, literature, datasheet, model, assumed. The lowest tier is the weakest one that any number here depends on.");
}

// One row a figure, one column a result.
function comparison(panel, results) {
  const all = results.map(({result}) => attempt(() => viewOf(result).figures(result), [], []));
  const labels = [...new Set(all.flat().map((figure) => figure.label))];
  if (labels.length === 0) return;
  const rows =
      labels.map((text) => ({
                   figure: text,
                   values: all.map((figures) => figures.find((figure) => figure.label === text)?.value)
                 }));
  panel.section(`Comparison: ${kindTitle(results[0].result)}`).table({
    title: "key figures of all results",
    columns: [
      {key: "figure"},
      ...results.map(({name: called}, at) => ({key: called, label: called, value: (row) => row.values[at]}))
    ],
    rows
  });
}

// What a part of a view makes of a result. Results are made by other versions, and by hand: one that a view
// cannot read is still shown, by the generic view.
function attempt(part, otherwise, failures) {
  try {
    return part();
  } catch (error) {
    failures.push(error.message);
    return otherwise;
  }
}

function renderResult(parent, {name: called, result}) {
  const parts = viewOf(result);
  const failures = [];
  const headline = attempt(() => parts.headline(result), null, failures);
  const id = newId("result");
  const article = el(
      "article", {"aria-labelledby": id},
      el("p", {class: "kind"}, kindTitle(result), called ? " \u00b7 " : null, called ? name(called) : null),
      el("h1", {id}, headline ?? kindTitle(result)));
  parent.append(article);
  const panel = new Panel(article, 2, fileName(kindTitle(result)));
  panel.figures(attempt(() => parts.figures(result), [], failures));
  attempt(() => parts.render(panel, result), null, failures);
  if (failures.length === 0) return;
  const rest = panel.section("All values");
  rest.missing(`something that this page needs (${failures.join("; ")}). The rest follows.`);
  genericView.render(rest, result);
}

function renderAll(main, results) {
  const kinds = new Map();
  for (const one of results) {
    const kind = one.result.schema;
    kinds.set(kind, [...(kinds.get(kind) ?? []), one]);
  }
  for (const same of kinds.values()) {
    if (same.length > 1) comparison(new Panel(main, 2, "compared"), same);
    const parent = el("div", {class: same.length > 1 ? "results several" : "results"});
    main.append(parent);
    for (const one of same) renderResult(parent, one);
  }
}

function start() {
  startTheme();
  const results = JSON.parse(document.getElementById("results").textContent);
  const main = el("main", {id: "main", tabindex: "-1"});
  const foot = el("footer");
  document.body.append(
      el("a", {class: "skip", href: "#main"}, "Skip to the results"),
      el("header", {class: "page-head"}, el("span", {class: "wordmark"}, "goodput"), themeButton()), main,
      foot);
  renderAll(main, results);
  provenance(new Panel(foot, 2, "provenance").section("Where these numbers come from"), results);
}
