// Tables: sorted by any column, in pages of kPageRows, and as CSV.

const kPageRows = 1000;
const kTallRows = 15;  // more scroll in a window of their own

// A cell that begins so is a formula to a spreadsheet: a name from a trace must not become one.
function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  let text = typeof value === "object" ? JSON.stringify(value) : String(value);
  if (/^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

function csvText(columns, rows) {
  const lines = [
    columns.map((column) => csvCell(column.key)),
    ...rows.map((row) => columns.map((column) => csvCell(valueAt(row, column))))
  ];
  return `${lines.map((line) => line.join(",")).join("\r\n")}\r\n`;
}

function download(file, text) {
  const link = el("a", {download: file});
  link.href = URL.createObjectURL(new Blob([text], {type: "text/csv"}));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function valueAt(row, column) { return column.value ? column.value(row) : row[column.key]; }

function isNumeric(rows, column) {
  let seen = false;
  for (const row of rows) {
    const value = valueAt(row, column);
    if (value === null || value === undefined) continue;
    if (typeof value !== "number") return false;
    seen = true;
  }
  return seen;
}

// Sentences, which want more room than names.
function hasLongText(rows, column) {
  return rows.slice(0, kPageRows).some((row) => {
    const value = valueAt(row, column);
    return typeof value === "string" && value.length > 36;
  });
}

function compareValues(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(fmt.any(a)).localeCompare(String(fmt.any(b)), "en", {numeric: true});
}

// A cell that is not broken into lines.
function oneLine(text) { return el("span", {class: "one-line"}, text); }

// {title, columns: [{key, label, format, value}], rows, file}: `key` names the column in CSV and, without
// `value` (a function of the row), the member that it shows; the rows are shown in their order until a
// heading is pressed.
class Table {
  constructor({title, columns, rows, file = "table"}) {
    this.columns =
        columns.map((column) => ({label: label(column.key), format: fmt.of(column.key), ...column}));
    for (const column of this.columns) {
      column.isNumeric = isNumeric(rows, column);
      column.kind = column.isNumeric ? "number" : hasLongText(rows, column) ? "long" : "";
    }
    this.rows = rows;
    this.shown = rows;
    this.file = file;
    this.page = 0;
    this.sort = {column: null, descending: false};
    this.headings = this.columns.map((column) => this.makeHeading(column));
    this.body = el("tbody");
    this.pager = el("div", {class: "pager"});
    const caption = el("caption", {class: "visually-hidden"}, title);
    const table = el("table", {}, caption, el("thead", {}, el("tr", {}, this.headings)), this.body);
    const csv = el("button", {type: "button", class: "quiet", onclick: () => this.save()}, "CSV");
    csv.setAttribute("aria-label", `Download ${title} as CSV`);
    this.scroller =
        el("div", {
          class: rows.length > kTallRows ? "table-scroll tall" : "table-scroll",
          role: "region",
          "aria-label": title,
          tabindex: "0"
        },
           table);
    this.element =
        el("div", {class: "table"}, this.scroller, el("div", {class: "table-foot"}, this.pager, csv));
    this.show();
  }

  makeHeading(column) {
    const button =
        el("button", {type: "button", class: "sort", onclick: () => this.sortBy(column)}, column.label);
    return el("th", {scope: "col", class: column.kind}, button);
  }

  sortBy(column) {
    const descending = this.sort.column === column ? !this.sort.descending : column.isNumeric;
    this.sort = {column, descending};
    const turn = descending ? -1 : 1;
    const keyed = this.rows.map((row) => [valueAt(row, column), row]);
    this.shown = keyed.sort((a, b) => turn * compareValues(a[0], b[0])).map(([, row]) => row);
    this.columns.forEach((one, at) => {
      if (one === column)
        this.headings[at].setAttribute("aria-sort", descending ? "descending" : "ascending");
      else
        this.headings[at].removeAttribute("aria-sort");
    });
    this.page = 0;
    this.show();
  }

  save() { download(`${this.file}.csv`, csvText(this.columns, this.shown)); }

  show() {
    const from = this.page * kPageRows;
    const rows = this.shown.slice(from, from + kPageRows);
    this.body.replaceChildren(...rows.map((row) => this.makeRow(row)));
    this.showPager(from, from + rows.length);
  }

  makeRow(row) {
    return el("tr", {}, this.columns.map((column, at) => {
      const text = column.format(valueAt(row, column), row);
      const content = text instanceof Node ? text : column.isNumeric ? text : name(text);
      return at === 0 ? el("th", {scope: "row", class: column.kind}, content) :
                        el("td", {class: column.kind}, content);
    }));
  }

  showPager(from, to) {
    const count = this.rows.length;
    if (count <= kPageRows) {
      this.pager.replaceChildren(el("span", {}, plural(count, "row")));
      return;
    }
    const turn = (by, text, isOff) =>
        el("button", {
          type: "button",
          class: "quiet",
          disabled: isOff,
          onclick: () => {
            this.page += by;
            this.show();
          }
        },
           text);
    this.pager.replaceChildren(
        turn(-1, "Previous", this.page === 0),
        el("span", {"aria-live": "polite"},
           `rows ${fmt.integer(from + 1)} to ${fmt.integer(to)} of ${fmt.integer(count)}`),
        turn(1, "Next", to >= count));
  }
}
