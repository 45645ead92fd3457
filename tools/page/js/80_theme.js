// Light or dark: what the system says, until the button says otherwise.

const kThemeKey = "goodput-theme";

// Pages that are opened as files may not have a store.
function storedTheme() {
  try {
    return localStorage.getItem(kThemeKey);
  } catch {
    return null;
  }
}

function storeTheme(theme) {
  try {
    localStorage.setItem(kThemeKey, theme);
  } catch {
    // Then the choice lasts as long as the page.
  }
}

function currentTheme() { return document.documentElement.dataset.theme; }

// Canvases are drawn in colours, not in variables: they listen.
const themeListeners = [];
function onTheme(listener) { themeListeners.push(listener); }

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  for (const listener of themeListeners) listener();
}

// The value of a colour of tools/page/palette.def now: colour("category-1").
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function themeButton() {
  const button = el("button", {type: "button", class: "quiet theme"});
  const show = () => {
    button.textContent = currentTheme() === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", currentTheme() === "dark" ? "Use light colors" : "Use dark colors");
  };
  button.addEventListener("click", () => {
    const theme = currentTheme() === "dark" ? "light" : "dark";
    storeTheme(theme);
    setTheme(theme);
    show();
  });
  show();
  return button;
}

function startTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const wanted = () => storedTheme() ?? (system.matches ? "dark" : "light");
  setTheme(wanted());
  system.addEventListener("change", () => setTheme(wanted()));
  // Paper is light.
  addEventListener("beforeprint", () => setTheme("light"));
  addEventListener("afterprint", () => setTheme(wanted()));
}
