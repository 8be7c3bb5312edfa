// The playground: up to four conversations beside each other, or one action. Answers are shown while they stream.
const form = document.querySelector("[data-try]");
const answers = document.querySelector("#answers");
const empty = answers.firstElementChild;
const { try: path, kind, mode, csrf, url, account, example } = form.dataset;
const { prompt, files, file, stop, system, max, temperature, effort, functions, schema } = form.elements;
const HEADERS = { "content-type": "application/json", "x-csrf-token": csrf, "x-tollgate-trace": "1" };
if (mode === "sandbox") HEADERS["x-tollgate-sandbox"] = "1";
/** What to do about a refusal, by its status: words, and a link. */
const ADVICE = {
  401: ["Your session is over.", "Sign in", `/sign-in?next=${encodeURIComponent(location.pathname)}`],
  402: ["Top up, or send less.", "Balance and budgets", "/account/budgets"],
  413: ["Attach fewer or smaller files."],
  429: ["Wait a moment, then try again."],
  503: ["Try again, or choose another model."],
};
let panes = [];
let openedAt = Date.now();
let running = null;

function element(name, className = "", ...children) {
  const made = document.createElement(name);
  made.className = className;
  made.append(...children);
  return made;
}

function button(words, act) {
  const made = Object.assign(element("button", "plain small", words), { type: "button" });
  made.addEventListener("click", act);
  return made;
}

function problem(...words) {
  return Object.assign(element("p", "problem", ...words), { role: "alert" });
}

const USD = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", maximumFractionDigits: 6 });

/** Calls an endpoint as the playground, which a session may. Throws a refusal as what to show: what was wrong, what to do, and where. */
async function send(to, body) {
  const own = to.replace(/^.*(\/chat)\/completions$/, "/try$1").replace(/^\/api\/run/, "/try/run");
  const init = { method: "POST", headers: HEADERS, body: JSON.stringify(body), signal: running.signal };
  const response = await fetch(own, init);
  if (response.ok) return response;
  const { error, message = error?.message ?? error, hint = error?.hint ?? "" } = await response.json();
  const [words, link, href] = ADVICE[Math.min(response.status, 503)] ?? [""];
  const wait = response.headers.get("retry-after");
  const seconds = wait === null ? "" : ` The gateway asks for ${wait} seconds.`;
  const more = link === undefined ? "" : Object.assign(element("a", "", link), { href });
  throw problem(`${response.status}: ${message} ${hint} ${words}${seconds} `, more, " ");
}

/** Does some work; shows at a place why it failed. */
async function attempt(place, work, ...more) {
  try {
    await work();
  } catch (failure) {
    const shown =
      failure instanceof Error ? problem(running?.signal.aborted ? "Stopped. " : "The answer was cut off. ") : failure;
    shown.append(...more);
    place.append(shown);
  }
}

/** The bytes of files would hide the rest of a call. */
function jsonOf(body, indent) {
  const short = (_name, value) => (/^data:.{60}/.test(value) ? `${value.slice(0, 60)}...` : value);
  return JSON.stringify(body, short, indent);
}

const CODE = {
  curl: (body) =>
    `curl ${url}${path} \\\n  -H "Authorization: Bearer $TOLLGATE_API_KEY" -H 'Content-Type: application/json' \\\n  -d '${body.replaceAll("'", `'\\''`)}'`,
  Python: (body) =>
    `import json, os, urllib.request\n\nbody = json.loads(${JSON.stringify(body)})\nrequest = urllib.request.Request("${url}${path}", json.dumps(body).encode(), {\n    "Authorization": f"Bearer {os.environ['TOLLGATE_API_KEY']}", "Content-Type": "application/json"})\nprint(json.load(urllib.request.urlopen(request)))`,
  TypeScript: (body) =>
    `const answer = await fetch("${url}${path}", {\n  method: "POST",\n  headers: { authorization: \`Bearer \${process.env.TOLLGATE_API_KEY}\`, "content-type": "application/json" },\n  body: JSON.stringify(${body}),\n});\nconsole.log(await answer.json());`,
};

function showCode(body) {
  for (const box of document.querySelectorAll("[data-code]"))
    box.querySelector("code").textContent = CODE[box.dataset.code](jsonOf(body, 2));
}

/** How a field's text is read, by its type. */
const READ = {
  string: (text) => text,
  number: Number,
  list: (text) => text.split("\n").filter((line) => line.trim() !== ""),
  json: JSON.parse,
  either: (text) => (/^\s*[[{]/.test(text) ? JSON.parse(text) : text),
};

function readField({ value, dataset }) {
  return value.trim() === "" ? undefined : READ[dataset.type](value);
}

/** A field that cannot be read keeps the form from being sent. */
function checkField({ target }) {
  if (target.dataset.type === undefined) return;
  target.setCustomValidity("");
  try {
    readField(target);
  } catch {
    target.setCustomValidity("This is not JSON.");
  }
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
      const data = /^data: (.*)$/m.exec(part)?.[1];
      if (data !== undefined && data !== "[DONE]") yield JSON.parse(data);
    }
  }
}

const named = (name) => [...form.querySelectorAll(`[name=${name}]`)].map(({ value }) => value.trim()).filter(Boolean);

/** The actions that models may call, by the names of their functions. */
const known = new Map();
const nameOf = (id) => id.replace("/", "__");

async function loadActions() {
  for (const id of named("tool")) {
    if (known.has(nameOf(id))) continue;
    const response = await fetch(`/api/run/${encodeURI(id)}`);
    if (!response.ok) throw problem(`There is no action ${id}. Choose one from the list.`);
    const { description, params: parameters, price } = (await response.json()).data;
    const cents = price.cents ?? price.max_cents;
    known.set(nameOf(id), { id, cents, tool: { name: nameOf(id), description, parameters } });
  }
}

function chatBody(model, entries) {
  const messages = entries.map(({ message }) => message);
  if (system.value.trim() !== "") messages.unshift({ role: "system", content: system.value });
  const body = { model, messages, max_tokens: Number(max.value) || 300 };
  if (temperature.value !== "") body.temperature = Number(temperature.value);
  if (effort.value !== "") body.reasoning_effort = effort.value;
  const actions = named("tool").map((id) => known.get(nameOf(id))?.tool ?? { name: nameOf(id) });
  const tools = [...actions, ...(readField(functions) ?? [])];
  if (tools.length > 0) body.tools = tools.map((one) => ({ type: "function", function: one }));
  const wanted = readField(schema);
  if (wanted) body.response_format = { type: "json_schema", json_schema: { name: "answer", schema: wanted } };
  return body;
}

function asked(parts = []) {
  const text = prompt.value;
  const content = parts.length === 0 ? text : [{ type: "text", text }, ...parts];
  return { text, files: [...files.files].map(({ name }) => name), message: { role: "user", content } };
}

/** Shows the most that the next turn can cost, by the listed prices and four characters a token, and the call as code. */
function showCost() {
  if (form.querySelector("[data-type]:invalid") !== null) return;
  let sum = 0;
  const more = files.files.length > 0 ? ["the files"] : [];
  for (const [at, field] of form.querySelectorAll("[name=model]").entries()) {
    const model = field.value.trim();
    const { input, output } = [...field.list.options].find(({ value }) => value === model)?.dataset ?? {};
    field.labels[0].lastChild.textContent = input ? `$${input} in, $${output} out per million` : "";
    if (model === "") continue;
    const body = chatBody(model, [...(panes[at]?.entries ?? []), asked()]);
    if (at === 0) showCode(body);
    if (input) sum += ((jsonOf(body).length / 4) * input + body.max_tokens * output) / 1e6;
    else more.push(`${model}, whose price is not listed`);
  }
  document.querySelector("#price").textContent =
    `About ${USD.format(sum)} at most${more.map((one) => `, and ${one}`).join("")}.`;
}

/** An attached file as a part of a message. */
async function partOf(one) {
  const text = await one.text();
  if (!/^image\/|^application\/pdf$/.test(one.type)) {
    if (text.includes("\0")) throw problem(`${one.name} is not an image, a PDF or text. Choose other files.`);
    return { type: "text", text: `${one.name}:\n${text}` };
  }
  const data = await new Promise((resolve) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result));
    reader.readAsDataURL(one);
  });
  if (one.type.startsWith("image/")) return { type: "image_url", image_url: { url: data } };
  return { type: "file", file: { filename: one.name, file_data: data } };
}

function openPane(model, entries = []) {
  const log = Object.assign(element("div", "log"), { role: "log" });
  const pane = { model, log, entries, card: element("section", "card", element("h2", "", model), log) };
  for (const entry of entries) log.append(...shown(entry));
  return pane;
}

/** What is shown of a message: the text, then what was attached or measured. */
function shown({ text, files: names = [], facts = "", routes = [], tool, message }) {
  if (tool) return [element("details", "", element("summary", "", tool), element("pre", "answer", message.content))];
  const more = names.length > 0 ? `Attached: ${names.join(", ")}` : facts;
  const list = routes.map((route) => element("li", "", route));
  return [
    element("p", facts ? "answer" : "answer asked", text),
    element("p", "soft", more),
    element("ul", "soft", ...list),
  ];
}

const DECLINED = "The user declined this call.";

/** Shows a tool call, and returns its result: of the action once the person agrees, or what the person types for a function. */
function consent({ log }, { function: { name, arguments: text } }) {
  if (running.signal.aborted) return DECLINED;
  const { promise, resolve } = Promise.withResolvers();
  const { id, cents } = known.get(name) ?? {};
  const typed = Object.assign(element("textarea"), { ariaLabel: `Result of ${name}` });
  async function run() {
    yes.disabled = no.disabled = true;
    if (id === undefined) return resolve(typed.value);
    try {
      const response = await send(`/api/run/${id}`, { ...JSON.parse(text), max_cost_cents: cents });
      resolve(JSON.stringify((await response.json()).data));
    } catch (failure) {
      resolve(failure.textContent ?? `The call failed: ${failure.message}`);
    }
  }
  const yes = button(id === undefined ? "Send the result" : `Run for up to ${cents}¢`, run);
  const no = button("Decline", () => resolve(DECLINED));
  const call = element("pre", "answer", `${id ?? name} ${text}`);
  const box = element("div", "asked", call, id === undefined ? typed : "", element("div", "buttons", yes, no));
  running.signal.addEventListener("abort", no.click.bind(no));
  log.append(box);
  answers.scrollIntoView({ block: "end" });
  return promise.finally(() => box.remove());
}

/** Adds the fragments of tool calls up. */
function addCalls(calls, fragments) {
  for (const { index, id, function: { name = "", arguments: text = "" } = {} } of fragments) {
    calls[index] ??= { id, type: "function", function: { name: "", arguments: "" } };
    calls[index].function.name += name;
    calls[index].function.arguments += text;
  }
}

/** Streams one answer of a model; returns its entry. */
async function stream({ model, entries }, said) {
  const entry = { text: "", facts: "Stopped.", routes: [] };
  const calls = [];
  const began = performance.now();
  let first = null;
  const body = { ...chatBody(model, entries), stream: true, stream_options: { include_usage: true } };
  for await (const { choices, error, usage, tollgate } of eventsOf(await send(path, body))) {
    const { content, tool_calls = [] } = choices?.[0]?.delta ?? {};
    if (content || tool_calls.length > 0) first ??= performance.now() - began;
    addCalls(calls, tool_calls);
    entry.text += content ?? "";
    said.textContent = entry.text;
    if (error) throw problem(`${error.message} ${error.hint ?? ""} `);
    if (usage) {
      const { prompt_tokens, completion_tokens, cost } = usage;
      const ms = Math.round(performance.now() - began);
      const speed = Math.round((completion_tokens * 1_000) / Math.max(1, ms - (first ?? 0)));
      entry.facts = `${speed} tokens/s; first token after ${Math.round(first ?? ms)} ms, all after ${ms} ms; ${prompt_tokens} tokens in, ${completion_tokens} out; ${USD.format(cost)}`;
    }
    for (const { provider, model: served, ok, class: why, ms } of tollgate?.attempts ?? [])
      entry.routes.push(`${provider} ${served}: ${ok ? "answered" : why}, ${ms} ms`);
  }
  entry.message = { role: "assistant", content: entry.text, ...(calls.length > 0 && { tool_calls: calls }) };
  return entry;
}

function add({ log, entries }, entry) {
  entries.push(entry);
  log.append(...shown(entry));
}

/** One answer of a model, and the rounds of tools that it calls. */
async function turn(pane) {
  const said = element("p", "answer", "...");
  const box = element("div", "", said);
  pane.log.append(box);
  const again = () => {
    if (!stop.disabled) return;
    box.remove();
    start([pane]);
  };
  await attempt(
    box,
    async () => {
      const entry = await stream(pane, said);
      box.remove();
      add(pane, entry);
      for (const call of entry.message.tool_calls ?? []) {
        const message = { role: "tool", tool_call_id: call.id, content: await consent(pane, call) };
        add(pane, { tool: `${call.function.name} ${call.function.arguments}`, message });
      }
      if (entry.message.tool_calls && !running.signal.aborted) await turn(pane);
    },
    button("Try again", again),
  );
}

/** Runs turns until they end or the person stops them. */
async function start(turns) {
  running = new AbortController();
  stop.disabled = false;
  const done = turns.map(async (pane) => {
    await turn(pane);
    pane.card.dataset.done = pane.entries.length;
  });
  await Promise.all(done);
  stop.disabled = true;
  keep();
  showCost();
  answers.scrollIntoView({ block: "end" });
}

function show(all) {
  panes = all;
  answers.replaceChildren(...(all.length === 0 ? [empty] : all.map(({ card }) => card)));
}

/** Sends the message to every model, each with the conversation so far. */
async function converse() {
  const parts = await Promise.all([...files.files].map(partOf));
  await loadActions();
  show(named("model").map((model, at) => (panes[at]?.model === model ? panes[at] : openPane(model))));
  const entry = asked(parts);
  for (const pane of panes) add(pane, entry);
  prompt.value = "";
  files.value = "";
  await start(panes);
}

/** Sends the bytes of the chosen file to the URL in the answer; returns the outcome in words. */
async function sendFile({ put_url: to }) {
  const [one] = file?.files ?? [];
  if (one === undefined || to === undefined) return "";
  if (new URL(to).origin !== location.origin) return `; send its bytes by: curl -T FILE '${to}'`;
  const { ok, status } = await fetch(to, { method: "PUT", body: one });
  return ok ? `; ${one.size} bytes were sent` : `; its bytes were not taken: ${status}`;
}

/** Runs an action and shows its result; the result of a job needs another call. */
async function runAction(to, params) {
  const card = element("section", "card", element("h2", "", to.replace("/api/run/", "")));
  answers.replaceChildren(card);
  running = new AbortController();
  stop.disabled = false;
  const began = performance.now();
  await attempt(card, async () => {
    const { data, charged_cents = 0 } = await (await send(to, params)).json();
    const ms = Math.round(performance.now() - began);
    const facts = `${ms} ms; ${USD.format(charged_cents / 100)}${await sendFile(data ?? {})}`;
    card.append(element("p", "soft", facts), element("pre", "answer", JSON.stringify(data, null, 2)));
    const { job_id } = data ?? {};
    if (job_id) card.append(button("Get the result", () => runAction("/api/run/core/result", { job_id })));
  });
  stop.disabled = true;
  card.dataset.done = "1";
}

const KEPT = `tollgate-try ${account}`;
const KEPT_MAX = 20;
const keptBox = document.querySelector("#kept");
const kept = () =>
  JSON.parse(localStorage.getItem(KEPT) ?? "[]").filter(({ conversations }) => conversations?.length > 0);
const settings = () => [...form.elements].filter(({ name, type }) => name && type !== "file");

function restore({ at, values, conversations }) {
  for (const [place, field] of settings().entries()) field.value = values[place] ?? "";
  show(conversations.map(({ model, entries }) => openPane(model, entries)));
  openedAt = at;
  showCost();
}

function showKept() {
  const rows = kept().map((one) => {
    const words = `${new Date(one.at).toLocaleString()}: ${one.conversations[0].entries[0].text.slice(0, 80)}`;
    return element(
      "li",
      "",
      button(words, () => restore(one)),
    );
  });
  keptBox.hidden = rows.length === 0;
  keptBox.querySelector("ul").replaceChildren(...rows);
}

/** Keeps the conversation in place of its earlier state. Files are too large to keep; their names stay. */
function keep() {
  if (panes.length === 0) return;
  const entryOf = ({ message, ...rest }) => {
    const { content } = message;
    if (!Array.isArray(content)) return { message, ...rest };
    return {
      ...rest,
      message: { ...message, content: `${rest.text}\n(no longer attached: ${rest.files.join(", ")})` },
    };
  };
  const conversations = panes.map(({ model, entries }) => ({ model, entries: entries.map(entryOf) }));
  const earlier = kept().filter(({ at }) => at !== openedAt);
  const one = { at: openedAt, values: settings().map(({ value }) => value), conversations };
  try {
    localStorage.setItem(KEPT, JSON.stringify([one, ...earlier].slice(0, KEPT_MAX)));
  } catch {
    // The browser has no room: the earlier ones stay.
  }
  showKept();
}

/** A message is being sent, from the reading of its files on. */
let sending = false;

form.addEventListener("input", checkField);
const opened = ({ target }) => {
  for (const box of form.querySelectorAll("details")) box.open ||= box.contains(target);
};
form.addEventListener("invalid", opened, true);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!stop.disabled || sending) return;
  if (kind === "models") {
    sending = true;
    return attempt(answers, converse).finally(() => {
      sending = false;
    });
  }
  const params = [...form.querySelectorAll("[data-type]")].map((field) => [field.name, readField(field)]);
  const given = Object.fromEntries(params.filter(([, value]) => value !== undefined));
  showCode(given);
  return runAction(path, given);
});
stop.addEventListener("click", () => running.abort());
form.elements.clear.addEventListener("click", () => {
  running?.abort();
  openedAt = Date.now();
  show([]);
});
if (kind === "models") {
  if (innerWidth < 768) form.querySelector("details").open = false;
  form.addEventListener("input", showCost);
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  keptBox.lastElementChild.addEventListener("click", () => {
    localStorage.removeItem(KEPT);
    showKept();
  });
  showKept();
  showCost();
} else showCode(JSON.parse(example));
file?.addEventListener("change", () => {
  const [one] = file.files;
  const facts = { filename: one?.name, size_bytes: one?.size, mime: one?.type };
  for (const [name, value] of Object.entries(facts)) form.elements[name].value = value ?? "";
});
