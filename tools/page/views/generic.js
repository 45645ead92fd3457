// Any result: its single values as key figures, every array or map of objects as a table.

// What every result begins with; the foot of the page has it.
const kProvenanceKeys =
    ["schema", "version", "revision", "seed", "config_hash", "calibration", "lowest_tier", "config_files"];

function isRecord(value) { return typeof value === "object" && value !== null && !Array.isArray(value); }

function columnsOf(rows) {
  const keys = new Set();
  for (const row of rows)
    for (const key of Object.keys(row)) keys.add(key);
  return [...keys].map((key) => ({key}));
}

// A map whose members are records: a row a member.
function rowsOfMap(map) { return Object.entries(map).map(([key, member]) => ({name: key, ...member})); }

function renderMember(panel, key, value) {
  if (Array.isArray(value)) {
    const section = panel.section(label(key));
    if (value.every(isRecord))
      section.table({title: label(key), columns: columnsOf(value), rows: value});
    else
      section.table({title: label(key), columns: [{key: "value"}], rows: value.map((one) => ({value: one}))});
    return;
  }
  const members = Object.entries(value);
  const section = panel.section(label(key));
  if (members.length > 0 && members.every(([, member]) => isRecord(member))) {
    const rows = rowsOfMap(value);
    section.table({title: label(key), columns: columnsOf(rows), rows});
    return;
  }
  renderMembers(section, value);
}

function renderMembers(panel, members) {
  const single = Object.entries(members).filter(([, value]) => typeof value !== "object" || value === null);
  if (single.length > 12) {
    panel.table({
      title: "values",
      columns: [{key: "name"}, {key: "value", format: (value, row) => fmt.of(row.name)(value)}],
      rows: single.map(([key, value]) => ({name: key, value}))
    });
  } else {
    panel.figures(single.map(([key, value]) => ({label: label(key), value: fmt.of(key)(value)})));
  }
  for (const [key, value] of Object.entries(members)) {
    if (typeof value === "object" && value !== null) renderMember(panel, key, value);
  }
}

function withoutProvenance(result) {
  return Object.fromEntries(Object.entries(result).filter(([key]) => !kProvenanceKeys.includes(key)));
}

const genericView = {
  title: null,
  headline: () => null,
  figures: () => [],
  render: (panel, result) => renderMembers(panel, withoutProvenance(result)),
};
