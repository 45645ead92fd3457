// Numbers in the field's units. What is no number is "-", never zero.

const kMinus = "\u2212";
const kNothing = "\u2013";

function isNumber(value) { return typeof value === "number" && Number.isFinite(value); }

// 1 234 567 with narrow spaces, so that no country reads a point or a comma wrong.
function grouped(digits) {
  const [whole, part] = digits.replace("-", kMinus).split(".");
  const spaced = whole.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
  return part === undefined ? spaced : `${spaced}.${part}`;
}

// kNarrow spaces must not be shown as unseen characters: U+202F is none of those.
const fmt = {
  // Four significant digits where that says enough; whole numbers whole.
  number(value, wanted = 4) {
    const digits = isNumber(wanted) ? wanted : 4;  // a table passes its row
    if (!isNumber(value)) return kNothing;
    if (Number.isInteger(value)) return grouped(String(value));
    const size = Math.abs(value);
    if (size >= 1e12 || size < 1e-4) return value.toExponential(digits - 1).replace("-", kMinus);
    const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
    return grouped(value.toFixed(Math.min(decimals, 12)));
  },
  fixed(decimals) { return (value) => (isNumber(value) ? grouped(value.toFixed(decimals)) : kNothing); },
  integer(value) { return isNumber(value) ? grouped(String(Math.round(value))) : kNothing; },
  // 0.123: 12.3 %
  percent(value) { return isNumber(value) ? `${grouped((100 * value).toFixed(1))}\u202f%` : kNothing; },
  // 1.25: 1.250 x, a slowdown or a speedup
  ratio(value) {
    return isNumber(value) ? `${grouped(value.toFixed(value < 10 ? 3 : 1))}\u202f\u00d7` : kNothing;
  },
  seconds(value) {
    if (!isNumber(value)) return kNothing;
    const size = Math.abs(value);
    if (size === 0) return "0\u202fs";
    if (size < 1e-3) return `${fmt.number(value * 1e6)}\u202f\u00b5s`;
    if (size < 1) return `${fmt.number(value * 1e3)}\u202fms`;
    if (size < 600) return `${fmt.number(value)}\u202fs`;
    if (size < 7200) return `${fmt.number(value / 60)}\u202fmin`;
    if (size < 172800) return `${fmt.number(value / 3600)}\u202fh`;
    return `${fmt.number(value / 86400)}\u202fdays`;
  },
  hours(value) { return isNumber(value) ? fmt.seconds(value * 3600) : kNothing; },
  // Hours of the clock times GPUs: never days or minutes.
  gpuHours(value) {
    if (!isNumber(value)) return kNothing;
    const size = Math.abs(value);
    return `${size < 100 ? fmt.number(value, size < 10 ? 2 : 3) : fmt.integer(value)}\u202fGPU-hours`;
  },
  bytes(value) {
    if (!isNumber(value)) return kNothing;
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let scaled = value;
    let unit = 0;
    while (Math.abs(scaled) >= 1024 && unit + 1 < units.length) {
      scaled /= 1024;
      unit += 1;
    }
    return `${fmt.number(scaled)}\u202f${units[unit]}`;
  },
  usd(value) {
    return isNumber(value) ? `$${grouped(value.toFixed(Math.abs(value) < 100 ? 2 : 0))}` : kNothing;
  },
  // Any value of a result, as a cell.
  any(value) {
    if (value === null || value === undefined) return kNothing;
    if (typeof value === "number") return fmt.number(value);
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (Array.isArray(value)) return value.length === 0 ? kNothing : value.map(fmt.any).join(", ");
    if (typeof value === "object") {
      const members = Object.entries(value).map(([key, member]) => `${label(key)} ${fmt.any(member)}`);
      return members.length === 0 ? kNothing : members.join("; ");
    }
    return String(value);
  },
  // By the unit at the end of a key of a result.
  of(key) {
    const units = [
      [/(^|_)share_of_/, fmt.percent], [/(^|_)gpu_hours$/, fmt.gpuHours], [/(^|_)bytes$/, fmt.bytes],
      [/_gib$/, (x) => (isNumber(x) ? `${fmt.number(x)}\u202fGiB` : kNothing)],
      [/_us$/, (x) => (isNumber(x) ? fmt.seconds(x * 1e-6) : kNothing)],
      [/_ms$/, (x) => (isNumber(x) ? fmt.seconds(x * 1e-3) : kNothing)], [/_hours?$/, fmt.hours],
      [/_usd$/, fmt.usd], [/_s$/, fmt.seconds]
    ];
    const found = units.find(([unit]) => unit.test(key));
    return (value) => (found && isNumber(value) ? found[1](value) : fmt.any(value));
  },
};

// What a key of a result means, without its unit: recorded_step_s is "recorded step".
function label(key) {
  return String(key)
      .replace("gpu_hours", "GPU-hours")
      .replace(/_(s|us|ms|bytes|gib|usd|hours)$/, "")
      .replace(/_+|-(?!hours)/g, " ");
}

function sentence(text) { return `${text.charAt(0).toUpperCase()}${text.slice(1)}`; }

function plural(count, one, many = `${one}s`) { return `${fmt.integer(count)} ${count === 1 ? one : many}`; }
