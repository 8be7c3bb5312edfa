// What pages do beyond links, forms and copying: times of this place on hover, and parts that the gateway tells anew. Without it all pages work.
function tellLocalTimes(within) {
  for (const time of within.querySelectorAll("time[datetime]")) time.title = new Date(time.dateTime).toLocaleString();
}

/** A part that the gateway tells anew while the page is open; the browser asks again by itself after a restart. */
function follow(part) {
  const source = new EventSource(part.dataset.live);
  source.onmessage = ({ data }) => {
    part.innerHTML = data;
    part.dataset.told = String(Number(part.dataset.told ?? 0) + 1);
    tellLocalTimes(part);
  };
  // The session is over: the page of the sign-in says so.
  source.addEventListener("over", () => location.reload());
}

tellLocalTimes(document);
for (const part of document.querySelectorAll("[data-live]")) follow(part);
// A page of before the sign-out must not come back from memory.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) location.reload();
});

/** The arrow keys move within a chart from day to day, and show the day's figures. */
document.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const chart = event.target.closest?.("[data-chart]");
  if (step === undefined || !chart) return;
  const days = [...chart.querySelectorAll(".cols > li")];
  const at = days.indexOf(event.target);
  days.at(at === -1 ? (step === 1 ? 0 : -1) : Math.min(days.length - 1, Math.max(0, at + step)))?.focus();
  event.preventDefault();
});

/** A link to a dialog of the page opens it in place. */
document.addEventListener("click", (event) => {
  const dialog = document.getElementById(event.target.dataset?.opens);
  if (dialog === null) return;
  event.preventDefault();
  dialog.close();
  dialog.showModal();
});

/** A form in a dialog is sent from there, and its answer shown there: a secret, or what is wrong with a field. */
document.addEventListener("submit", async (event) => {
  const form = event.target;
  const dialog = form.closest("dialog[id]");
  if (dialog === null || form.method === "dialog") return;
  event.preventDefault();
  const response = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
  if (response.redirected) return location.assign(response.url);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const wrong = page.querySelector("main .problem");
  dialog.querySelector(".problem")?.remove();
  if (wrong !== null) return form.before(wrong);
  dialog.replaceChildren(...page.querySelector("main").children);
  addCopyButtons(dialog);
});

/** Ctrl K: the find page's form and links in a dialog; Enter opens the first link. */
const find = document.querySelector(".side .find");
const FIND_MS = 120;

function openFinder() {
  const dialog = document.createElement("dialog");
  const form = find.cloneNode(true);
  const hits = document.createElement("div");
  const input = form.querySelector("input");
  input.type = "text";
  let typing = 0;
  const show = async () => {
    const asked = input.value;
    const response = await fetch(`${find.action}?${new URLSearchParams({ q: asked })}`);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (input.value === asked) hits.replaceChildren(...page.querySelectorAll("main .hits, main .none"));
  };
  input.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(show, FIND_MS);
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    clearTimeout(typing);
    await show();
    const first = hits.querySelector("a");
    if (first !== null) location.href = first.href;
  });
  dialog.addEventListener("close", () => dialog.remove());
  dialog.append(form, hits);
  dialog.setAttribute("aria-label", "Find");
  document.body.append(dialog);
  dialog.showModal();
  show();
}

if (find !== null) {
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (document.querySelector("dialog[open]") === null) openFinder();
  });
}
