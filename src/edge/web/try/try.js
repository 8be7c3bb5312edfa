// The playground: asks models side by side, or one action, and shows what comes while it comes: first token, cost, routes.
const root = document.querySelector("[data-try]");
const form = root.querySelector("form");
const answers = document.querySelector("#answers");
const { mode, csrf, url } = root.dataset;
const HEADERS = { "content-type": "application/json", "x-csrf-token": csrf, "x-tollgate-trace": "1" };
if (mode === "sandbox") HEADERS["x-tollgate-sandbox"] = "1";

function element(name, className, text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

function usd(value) {
  return `$${Number(value)
    .toFixed(6)
    .replace(/0{1,4}$/, "")}`;
}

function chosen() {
  const names = [...form.querySelectorAll("[name=model]")].map((input) => input.value.trim());
  return [...new Set(names.filter((name) => name !== ""))];
}

function chatBody(model) {
  const { prompt, system, max, temperature, effort, schema } = form.elements;
  const messages = [{ role: "user", content: prompt.value }];
  if (system.value.trim() !== "") messages.unshift({ role: "system", content: system.value });
  const body = { model, messages, max_tokens: Number(max.value) || 300 };
  if (temperature.value !== "") body.temperature = Number(temperature.value);
  if (effort.value !== "") body.reasoning_effort = effort.value;
  if (schema.value.trim() !== "") {
    const json_schema = { name: "answer", schema: JSON.parse(schema.value) };
    body.response_format = { type: "json_schema", json_schema };
  }
  return body;
}

/** A schema that is no JSON keeps the form from being sent. */
function checkSchema({ target }) {
  if (target.name !== "schema") return;
  try {
    JSON.parse(target.value || "{}");
    target.setCustomValidity("");
  } catch {
    target.setCustomValidity("This is not JSON.");
  }
}

/** The most that the call can cost, as far as a list of prices tells it: four characters a token. */
function bound(model) {
  const known = [...document.querySelectorAll("#models option")].find((option) => option.value === model);
  if (known === undefined) return null;
  const { prompt, system, schema } = form.elements;
  const tokens = (prompt.value.length + system.value.length + schema.value.length) / 4 + 20;
  return (tokens * known.dataset.input + (Number(form.elements.max.value) || 300) * known.dataset.output) / 1e6;
}

function tellPrice() {
  const bounds = chosen().map(bound);
  const unknown = bounds.filter((one) => one === null).length;
  const sum = bounds.reduce((all, one) => all + (one ?? 0), 0);
  const rest = unknown > 0 ? `, and ${unknown} whose price is not listed here` : "";
  document.querySelector("#price").textContent = `About ${usd(sum)} at most${rest}.`;
}

function tellCalls(path, body) {
  const text = JSON.stringify(body, null, 2);
  const shell = text.replaceAll("'", `'\\''`);
  document.querySelector("#as-curl code").textContent =
    `curl ${url}${path} \\\n  -H "Authorization: Bearer $TOLLGATE_API_KEY" -H 'Content-Type: application/json' \\\n  -d '${shell}'`;
  document.querySelector("#as-python code").textContent =
    `import json, os, urllib.request\n\nbody = json.loads(${JSON.stringify(JSON.stringify(body))})\nrequest = urllib.request.Request("${url}${path}", json.dumps(body).encode(), {\n    "Authorization": f"Bearer {os.environ['TOLLGATE_API_KEY']}", "Content-Type": "application/json"})\nprint(json.load(urllib.request.urlopen(request)))`;
  document.querySelector("#as-typescript code").textContent =
    `const answer = await fetch("${url}${path}", {\n  method: "POST",\n  headers: { authorization: \`Bearer \${process.env.TOLLGATE_API_KEY}\`, "content-type": "application/json" },\n  body: JSON.stringify(${text}),\n});\nconsole.log(await answer.json());`;
}

function showLegs(card, attempts) {
  const list = element("ul", "soft");
  for (const { provider, model, ok, class: why, ms } of attempts) {
    list.append(element("li", "", `${provider} ${model}: ${ok ? "answered" : why}, ${ms} ms`));
  }
  card.append(list);
}

async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const data = part
        .split("\n")
        .find((line) => line.startsWith("data: "))
        ?.slice(6);
      if (data !== undefined && data !== "[DONE]") yield JSON.parse(data);
    }
  }
}

async function askModel(model) {
  const card = element("section", "card");
  const said = element("p", "answer");
  const facts = element("p", "soft", "waiting for the answer ...");
  card.append(element("h2", "", model), said, facts);
  answers.append(card);
  const began = performance.now();
  let first = null;
  try {
    const body = { ...chatBody(model), stream: true, stream_options: { include_usage: true } };
    const response = await fetch("/try/chat", { method: "POST", headers: HEADERS, body: JSON.stringify(body) });
    if (!response.ok) {
      const { error } = await response.json();
      facts.textContent = `${response.status}: ${error.message ?? error} ${error.hint ?? ""}`;
      facts.className = "problem";
      return;
    }
    for await (const event of eventsOf(response)) {
      const text = event.choices?.[0]?.delta?.content ?? "";
      if (text !== "") first ??= performance.now() - began;
      said.textContent += text;
      if (event.error !== undefined) said.textContent += ` [${event.error.message}]`;
      if (event.usage) {
        const ms = Math.round(performance.now() - began);
        const { prompt_tokens, completion_tokens, cost } = event.usage;
        const speed = Math.round((completion_tokens * 1_000) / Math.max(1, ms - (first ?? 0)));
        facts.textContent = `first token after ${Math.round(first ?? ms)} ms, all after ${ms} ms; ${prompt_tokens} tokens in, ${completion_tokens} out; ${usd(cost)}; ${speed} tokens/s`;
      }
      if (event.tollgate) showLegs(card, event.tollgate.attempts);
    }
  } catch {
    facts.textContent = "The answer was cut off.";
    facts.className = "problem";
  }
  card.dataset.done = "1";
}

function paramsIn() {
  const params = {};
  for (const field of form.querySelectorAll("[data-type]")) {
    const typed = field.value.trim();
    if (typed === "") continue;
    if (field.dataset.type === "string") params[field.name] = field.value;
    else if (field.dataset.type === "number") params[field.name] = Number(typed);
    else params[field.name] = JSON.parse(typed);
  }
  return params;
}

const chooser = form.querySelector("#file");

/** What the params say of the file that was chosen. */
function tellFile() {
  const [file] = chooser.files;
  if (file === undefined) return;
  form.elements.filename.value = file.name;
  form.elements.size_bytes.value = String(file.size);
  form.elements.mime.value = file.type;
}

/** Sends the bytes of the file that was chosen to where the answer says; what came of it, in words. */
async function sendFile({ put_url: to }) {
  const [file] = chooser?.files ?? [];
  if (file === undefined || to === undefined) return "";
  if (new URL(to).origin !== location.origin) return `; send its bytes by: curl -T FILE '${to}'`;
  const { ok, status } = await fetch(to, { method: "PUT", body: file });
  return ok ? `; ${file.size} bytes were sent` : `; its bytes were not taken: ${status}`;
}

async function askAction(action) {
  const card = element("section", "card");
  const facts = element("p", "soft", "waiting for the answer ...");
  const said = element("pre", "answer");
  card.append(element("h2", "", action), facts, said);
  answers.append(card);
  try {
    const params = paramsIn();
    tellCalls(`/api/run/${action}`, params);
    const began = performance.now();
    const response = await fetch(`/try/run/${action}`, {
      method: "POST",
      headers: HEADERS,
      body: JSON.stringify(params),
    });
    const told = await response.json();
    const ms = Math.round(performance.now() - began);
    facts.textContent =
      told.ok === false
        ? `${told.error}: ${told.message} ${told.hint}`
        : `${ms} ms; ${usd((told.charged_cents ?? 0) / 100)}`;
    if (told.ok === false) facts.className = "problem";
    else facts.textContent += await sendFile(told.data ?? {});
    said.textContent = JSON.stringify(told.data, null, 2);
  } catch (error) {
    facts.textContent = `A field is not JSON, or the answer broke off: ${error.message}`;
    facts.className = "problem";
  }
  card.dataset.done = "1";
}

const KEPT = `tollgate-try ${root.dataset.account}`;
const KEPT_MAX = 20;
const keptBox = document.querySelector("#kept");
const kept = () => JSON.parse(localStorage.getItem(KEPT) ?? "[]");

/** Shows a kept run again: what was asked and what came. */
function restore({ fields, cards }) {
  const own = fields.filter(([name]) => name === "model").map(([, value]) => value);
  for (const [at, input] of form.querySelectorAll("[name=model]").entries()) input.value = own[at] ?? "";
  for (const [name, value] of fields) if (name !== "model") form.elements[name].value = value;
  answers.replaceChildren(
    ...cards.map((parts) => {
      const card = element("section", "card");
      card.append(...parts.map(([name, className, text]) => element(name, className, text)));
      return card;
    }),
  );
  tellPrice();
}

function showKept() {
  const rows = kept().map((run) => {
    const row = element("li", "");
    const words = run.fields.find(([name]) => name === "prompt")[1].slice(0, 80);
    const button = element("button", "plain small", `${new Date(run.at).toLocaleString()}: ${words}`);
    button.addEventListener("click", () => restore(run));
    row.append(button);
    return row;
  });
  keptBox.hidden = rows.length === 0;
  keptBox.querySelector("ul").replaceChildren(...rows);
}

function keep() {
  const cards = [...answers.querySelectorAll(".card")].map((card) =>
    [...card.children].map(({ tagName, className, textContent }) => [tagName, className, textContent]),
  );
  const runs = [{ at: Date.now(), fields: [...new FormData(form)], cards }, ...kept()].slice(0, KEPT_MAX);
  try {
    localStorage.setItem(KEPT, JSON.stringify(runs));
  } catch {
    // The browser has no room: the earlier ones stay.
  }
  showKept();
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  answers.textContent = "";
  if (root.dataset.try === "action") await askAction(root.dataset.action);
  else {
    tellCalls("/api/llm/v1/chat/completions", chatBody(chosen()[0]));
    await Promise.all(chosen().map(askModel));
    keep();
  }
});
if (root.dataset.try === "models") {
  form.addEventListener("input", (event) => {
    checkSchema(event);
    tellPrice();
  });
  keptBox.querySelector(":scope > button").addEventListener("click", () => {
    localStorage.removeItem(KEPT);
    showKept();
  });
  showKept();
  tellPrice();
  tellCalls("/api/llm/v1/chat/completions", chatBody(chosen()[0]));
} else tellCalls(`/api/run/${root.dataset.action}`, JSON.parse(root.dataset.example));
chooser?.addEventListener("change", tellFile);
