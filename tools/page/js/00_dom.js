// Elements of the page. Text gets into it here alone, as text: nothing that a result holds is ever markup.

// Control characters, and those that turn the direction of what follows or take no room, by their code: a
// name must not reorder or hide what stands around it.
const kUnseen = new RegExp(
    "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e" +
        "\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}]",
    "gu");

// Letters that run from right to left, and what stands between them: isolated, for the digits and marks
// behind would run with them.
const kRightToLeft =
    "[\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}]";
const kTurned = new RegExp(`${kRightToLeft}(?:[^A-Za-z0-9]*${kRightToLeft})*`, "gu");

function visible(text) {
  return String(text)
      .replace(
          kUnseen,
          (mark) => `\u27e8U+${mark.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`)
      .replace(kTurned, (turned) => `\u2068${turned}\u2069`);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on"))
      element.addEventListener(name.slice(2), value);
    else
      element.setAttribute(name, value === true ? "" : visible(value));
  }
  for (const child of children.flat()) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  }
  return element;
}

// el("p", {class: "note", onclick: f}, "text", element, ...)
function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

// A name from a result: its letters may run from right to left, what stands beside it does not.
function name(text) { return el("bdi", {}, text); }

let idsGiven = 0;
function newId(kind) {
  idsGiven += 1;
  return `${kind}-${idsGiven}`;
}
