// What a view draws into: headings, sentences, figures, tables, charts, in this order down the page.

class Panel {
  // Headings of its sections have this `level`; files that are saved begin with `file`.
  constructor(element, level, file) {
    this.element = element;
    this.level = level;
    this.file = file;
  }

  add(element) {
    this.element.append(element);
    return element;
  }

  // A section of its own, with a heading; draw into what it returns.
  section(title, note) {
    const id = newId("section");
    const element = el("section", {"aria-labelledby": id}, el(`h${this.level}`, {id}, title));
    if (note) element.append(el("p", {class: "note"}, note));
    this.add(element);
    return new Panel(element, Math.min(this.level + 1, 6), `${this.file}-${fileName(title)}`);
  }

  // Sections beside each other where there is room.
  columns() { return new Panel(this.add(el("div", {class: "columns"})), this.level, this.file); }

  // A part without a heading, for columns().
  cell() { return new Panel(this.add(el("div")), this.level, this.file); }

  text(...children) { return this.add(el("p", {}, ...children)); }

  note(...children) { return this.add(el("p", {class: "note"}, ...children)); }

  // What should be here and is not, and why: never an empty chart.
  missing(...children) { return this.add(el("p", {class: "missing"}, ...children)); }

  // [{label, value, note}], the value as text.
  figures(figures) {
    if (figures.length === 0) return null;
    return this.add(
        el("dl", {class: "figures"},
           figures.map(
               (figure) =>
                   el("div", {}, el("dt", {}, figure.label),
                      el("dd", {}, el("span", {class: "value"}, name(figure.value)),
                         figure.note ? el("span", {class: "note"}, figure.note) : null)))));
  }

  // A table that is read; see Table.
  table(spec) {
    if (spec.rows.length === 0) return this.note("None.");
    return this.add(new Table({file: this.file, ...spec}).element);
  }

  // The numbers of a chart: a table, made when it is asked for.
  details(spec) {
    const summary = el("summary", {}, `Table: ${spec.title}`);
    const details = el("details", {class: "numbers"}, summary);
    details.addEventListener("toggle", () => {
      if (details.open && details.childElementCount === 1)
        details.append(new Table({file: this.file, ...spec}).element);
    });
    return this.add(details);
  }

  // A part that is closed until somebody opens it; draw into what it returns.
  folded(title) {
    const details = this.add(el("details", {class: "numbers"}, el("summary", {}, title)));
    return new Panel(details, this.level, this.file);
  }

  // A list of sentences.
  list(items) {
    if (items.length === 0) return null;
    return this.add(el("ul", {class: "plain"}, items.map((item) => el("li", {}, item))));
  }
}

function fileName(text) {
  return String(text).toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 40);
}
