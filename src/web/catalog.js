// Makes the catalog's page quicker to use: search as you type, categories, links that open, copying. Without it all is shown.
const find = document.querySelector(".find");
const input = find.querySelector("input[type=search]");
const onlyAvailable = find.querySelector("input[type=checkbox]");
const count = find.querySelector(".count");
const none = document.querySelector(".none");
const chips = [...document.querySelectorAll(".chips a")];
const sections = [...document.querySelectorAll("main > section")];
const entries = sections.flatMap((section) =>
  [...section.querySelectorAll(".list > details, tbody tr[data-text]")].map((element) => ({
    element,
    section,
    text: element.dataset.text,
    available: element.dataset.available !== "no",
    rows: [...element.querySelectorAll(".rows li")].map((row) => ({
      row,
      text: `${element.id} ${row.textContent}`.toLowerCase(),
    })),
    rowsBox: element.querySelector(".rows"),
    /** Opened by the search, not by a hand. */
    opened: false,
  })),
);
let category = "";

const matches = (text, words) => words.every((word) => text.includes(word));

/** Shows the rows of a table that match, or all where none does; tells how many do. */
function showRows({ rows, rowsBox }, words) {
  if (rowsBox === null) return 0;
  const found = new Set(rows.filter(({ text }) => matches(text, words)));
  for (const one of rows) one.row.hidden = found.size > 0 && !found.has(one);
  rowsBox.open = words.length > 0 && found.size > 0 && found.size < rows.length;
  return found.size;
}

/** What was searched for is inside an entry: it is opened, and closed again when it is searched for no more. */
function openFor(entry, isInside) {
  if (isInside === entry.opened) return;
  entry.opened = isInside;
  entry.element.open = isInside;
}

function filter() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const section of sections) section.hidden = true;
  for (const entry of entries) {
    const own = matches(entry.text, words);
    const rows = showRows(entry, words);
    const inCategory = category === "" || entry.section.id === category;
    const fits = inCategory && (own || rows > 0) && (entry.available || !onlyAvailable.checked);
    entry.element.hidden = !fits;
    openFor(entry, fits && rows > 0 && rows < entry.rows.length && (!own || words.length > 1));
    if (!fits) continue;
    shown += 1;
    entry.section.hidden = false;
  }
  none.hidden = shown > 0;
  count.textContent = shown === entries.length ? `${shown} entries` : `${shown} of ${entries.length}`;
  for (const chip of chips) {
    const isCurrent = chip.hash === (category ? `#${category}` : "#all");
    chip.setAttribute("aria-current", String(isCurrent));
    if (isCurrent) chip.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  const query = new URLSearchParams();
  if (input.value !== "") query.set("q", input.value);
  if (category !== "") query.set("category", category);
  history.replaceState(null, "", `${location.pathname}${query.size > 0 ? `?${query}` : ""}${location.hash}`);
}

/** Opens what the address names. */
function openNamed() {
  const named = location.hash === "" ? null : document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (named?.tagName !== "DETAILS") return;
  named.open = true;
  named.scrollIntoView({ block: "start" });
}

/** Where the page is not served safely there is no clipboard, and the old way still works. */
async function copy(code) {
  const text = code.textContent;
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  getSelection().selectAllChildren(code);
  document.execCommand("copy");
  getSelection().removeAllRanges();
}

function addCopyButton(box) {
  const button = document.createElement("button");
  button.className = "copy";
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await copy(box.querySelector("code"));
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select and copy";
    }
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2000);
  });
  box.append(button);
}

/** `/` goes to the search, Escape clears it, the arrows go from one to the next. */
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && document.activeElement !== input) {
    event.preventDefault();
    input.focus();
    input.select();
  } else if (event.key === "Escape" && input.value !== "") {
    input.value = "";
    filter();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const stops = entries
      .filter(({ element }) => !element.hidden)
      .map(({ element }) => element.querySelector("summary"));
    const at = stops.indexOf(document.activeElement);
    if (at === -1 && document.activeElement !== input) return;
    event.preventDefault();
    const to = event.key === "ArrowDown" ? at + 1 : at - 1;
    (to < 0 ? input : stops.filter(Boolean)[to])?.focus();
  }
}

for (const chip of chips) {
  chip.addEventListener("click", (event) => {
    event.preventDefault();
    category = chip.hash === "#all" || chip.hash === `#${category}` ? "" : chip.hash.slice(1);
    filter();
    scrollTo({ top: Math.min(scrollY, document.querySelector(".bar").offsetTop) });
  });
}
for (const box of document.querySelectorAll(".call")) addCopyButton(box);
for (const details of document.querySelectorAll(".list > details")) {
  details.addEventListener("toggle", () => {
    if (details.open && details.contains(document.activeElement)) history.replaceState(null, "", `#${details.id}`);
  });
}
input.addEventListener("input", filter);
onlyAvailable.addEventListener("change", filter);
document.addEventListener("keydown", onKey);
addEventListener("hashchange", openNamed);

const asked = new URLSearchParams(location.search);
input.value = asked.get("q") ?? "";
category = chips.some((chip) => chip.hash === `#${asked.get("category")}`) ? asked.get("category") : "";
find.hidden = false;
filter();
openNamed();
