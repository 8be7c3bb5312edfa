// Makes the catalog's page quicker to use: search as you type, and keys. Without it the search is a form.
const find = document.querySelector(".find");
const input = find?.querySelector("input[type=search]");
const TYPING_MS = 120;
let typing = 0;
let running = new AbortController();

/** Shows the view that the form names now, in place; an earlier request is aborted. */
async function show() {
  clearTimeout(typing);
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const fields = [...new FormData(find)].map(([name, value]) => [name, value.trim()]);
  const query = new URLSearchParams(fields.filter(([, value]) => value !== ""));
  const address = `/catalog${query.size > 0 ? `?${query}` : ""}`;
  history.replaceState(null, "", address);
  const main = document.querySelector("main");
  try {
    const response = await fetch(address, { signal });
    if (!response.ok) throw new Error(response.status === 429 ? "Too many requests. Wait a minute." : response.status);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const part of ["main", ".chips"])
      document.querySelector(part).replaceChildren(...page.querySelector(part).childNodes);
    main.dataset.shows = address;
  } catch (error) {
    if (!signal.aborted) main.textContent = `The search failed: ${error.message}`;
  }
}

/** `/` goes to the search, Escape clears it, the arrows go from one entry to the next. */
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && document.activeElement !== input) {
    event.preventDefault();
    input.select();
  } else if (event.key === "Escape" && input.value !== "") {
    input.value = "";
    show();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const stops = [...document.querySelectorAll("main .row")];
    const at = stops.indexOf(document.activeElement);
    if (at === -1 && document.activeElement !== input) return;
    event.preventDefault();
    const to = event.key === "ArrowDown" ? at + 1 : at - 1;
    (to < 0 ? input : stops[to])?.focus();
  }
}

if (find !== null) {
  find.addEventListener("submit", (event) => {
    event.preventDefault();
    show();
  });
  find.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(show, TYPING_MS);
  });
  document.addEventListener("keydown", onKey);
  const key = document.querySelector("details:target");
  if (key !== null) key.open = true;
}
