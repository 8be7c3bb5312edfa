// Makes the catalog's page quicker to use: search as you type, categories, entries that open in place, copying. Without it each is a page.
const main = document.querySelector("main");
const find = document.querySelector(".find");
const input = find?.querySelector("input[type=search]");
const onlyConfigured = find?.querySelector("input[type=checkbox]");
const chips = [...document.querySelectorAll(".chips a")];
const TYPING_MS = 120;
let category = new URLSearchParams(location.search).get("category") ?? "";
let typing = 0;
let running = new AbortController();

/** Asks the gateway for a part of a page; null where it has been asked for something else since. */
async function part(address, signal) {
  const url = new URL(address, location);
  url.searchParams.set("part", "1");
  try {
    const response = await fetch(url, { signal });
    if (response.ok) return await response.text();
    const soon =
      response.status === 429 ? "Too many requests; wait a minute." : `The gateway answers with ${response.status}.`;
    return `<p class="none" role="alert">${soon}</p>`;
  } catch {
    return signal?.aborted ? null : '<p class="none" role="alert">The gateway cannot be reached.</p>';
  }
}

function viewAddress() {
  const query = new URLSearchParams();
  if (input.value.trim() !== "") query.set("q", input.value.trim());
  if (category !== "") query.set("category", category);
  if (onlyConfigured.checked) query.set("configured", "1");
  return `${location.pathname}${query.size > 0 ? `?${query}` : ""}`;
}

/** Shows what is asked for now; what was asked for before comes too late. */
async function show() {
  clearTimeout(typing);
  running.abort();
  running = new AbortController();
  const address = viewAddress();
  history.replaceState(null, "", address);
  for (const chip of chips) {
    const isCurrent = chip.dataset.category === category;
    chip.setAttribute("aria-current", String(isCurrent));
    if (isCurrent) chip.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  const shown = await part(address, running.signal);
  if (shown === null) return;
  main.innerHTML = shown;
  main.dataset.shows = address;
}

function showSoon() {
  clearTimeout(typing);
  typing = setTimeout(show, TYPING_MS);
}

/** What is inside an entry is fetched when it is first opened. */
async function onToggle({ target }) {
  if (!target.open) return;
  if (target.id !== "" && target.contains(document.activeElement)) history.replaceState(null, "", `#${target.id}`);
  const link = target.querySelector(":scope > .inside > .more");
  if (link === null) return;
  const inside = await part(link.href);
  link.parentElement.innerHTML = inside;
  addCopyButtons(target);
}

/** Opens what the address names; what is not among the lines is searched for. */
async function openNamed() {
  const named = decodeURIComponent(location.hash.slice(1));
  if (named === "") return;
  if (document.getElementById(named) === null && named.includes("/")) {
    input.value = named;
    await show();
  }
  const found = document.getElementById(named);
  if (found === null) return;
  found.open = true;
  found.scrollIntoView({ block: "start" });
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
    show();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const stops = [...main.querySelectorAll(".entry > details > summary, .row")];
    const at = stops.indexOf(document.activeElement);
    if (at === -1 && document.activeElement !== input) return;
    event.preventDefault();
    const to = event.key === "ArrowDown" ? at + 1 : at - 1;
    (to < 0 ? input : stops[to])?.focus();
  }
}

document.addEventListener("toggle", onToggle, true);
if (find !== null) {
  for (const chip of chips) {
    chip.addEventListener("click", (event) => {
      event.preventDefault();
      category = chip.dataset.category === category ? "" : chip.dataset.category;
      show();
      scrollTo({ top: Math.min(scrollY, document.querySelector(".bar").offsetTop) });
    });
  }
  find.addEventListener("submit", (event) => {
    event.preventDefault();
    show();
  });
  input.addEventListener("input", showSoon);
  onlyConfigured.addEventListener("change", show);
  document.addEventListener("keydown", onKey);
  addEventListener("hashchange", openNamed);
  openNamed();
}
