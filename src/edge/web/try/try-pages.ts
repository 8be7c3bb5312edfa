// The playground: a conversation with up to four models side by side, or one action with a form made from its schema. In the sandbox
// until the person switches to live.

import type { Descriptor, indexRow } from "../../../actions/run/descriptor.ts";
import type { JsonSchema } from "../../../actions/run/params-schema.ts";
import type { pricingAnswer } from "../../../catalog/price-answers.ts";
import type { Steps } from "../../../core/slices.ts";
import type { OwnAccount } from "../account/answers.ts";
import { type Html, html, type Put } from "../html.ts";
import { bodyOr, withQuery } from "../kit/ask.ts";
import { TRY_SCRIPT } from "../kit/assets.ts";
import { field } from "../kit/forms.ts";
import type { Section, Shown, Visit } from "../kit/sections.ts";
import { callBox, problem, switchOf } from "../kit/shown.ts";
import { curl, fullPriceWords, paramsShown } from "../words.ts";

const PATH = "/try";
const PANES = 4;
const FIRST = ["core/cheap", "core/mid"];
const EFFORTS = ["", "none", "low", "medium", "high"].map(
  (one) => [one, one === "" ? "the model's own" : one] as const,
);
const HELLO = "Say hello in one sentence.";

type PricingAnswer = ReturnType<typeof pricingAnswer> extends Steps<infer Answer> ? Answer : never;
type Pricing = Pick<PricingAnswer, "tier_prices" | "models">;

type IndexRow = ReturnType<typeof indexRow>;

function area(name: string, label: string, placeholder = "", more: Put = ""): Html {
  return html`<div><label for="${name}">${label}</label><textarea id="${name}" name="${name}" rows="2" spellcheck="false" placeholder="${placeholder}"${more}></textarea></div>`;
}

/** Fields with the same list of options; an empty one is left out. */
function places(name: string, label: string, list: string, values: readonly (string | undefined)[]): readonly Html[] {
  return Array.from({ length: PANES }, (_, at) => {
    const id = `${name}-${at}`;
    return html`<div><label for="${id}">${label} ${at + 1} <small></small></label><input id="${id}" name="${name}" list="${list}" value="${values[at] ?? ""}" placeholder="none" autocomplete="off" spellcheck="false"></div>`;
  });
}

/** What a conversation calls; `composer` is below the answers: what to send. `query` leads here. */
async function models({ ask, request }: Visit) {
  const pricing = await bodyOr(ask<Pricing>("GET", "/api/llm/v1/pricing"), { tier_prices: [], models: [] });
  // The estimate is the maximum cost of a call, so a tier has the price of its most expensive candidate.
  const tiers = pricing.tier_prices.map(({ price_max, ...tier }) => ({ ...tier, ...price_max }));
  const listed = [...tiers, ...pricing.models.filter(({ kind }) => kind === "chat")];
  const options = listed.map(
    ({ model, prompt_usd_per_million: input, completion_usd_per_million: output }) =>
      html`<option value="${model}" data-input="${input}" data-output="${output}">$${input} in, $${output} out</option>`,
  );
  const index = await bodyOr(ask<{ readonly data: readonly IndexRow[] }>("GET", "/api/run"), { data: [] });
  const actions = index.data.map(
    ({ service, action: name, price_cents }) => html`<option value="${service}/${name}">${price_cents}¢</option>`,
  );
  const named = request.query.getAll("model").map((one) => one.slice(0, 200));
  const chosen = named.length === 0 ? FIRST : named;
  const json = html` data-type="json"`;
  return {
    title: "Playground",
    path: "/api/llm/v1/chat/completions",
    example: { model: chosen[0], messages: [{ role: "user", content: HELLO }] },
    query: {},
    settings: html`${places("model", "Model", "models", chosen)}<datalist id="models">${options}</datalist>${area("system", "System prompt")}
<div class="fields">${field({ name: "max", label: "Maximum tokens", type: "number", value: "300" })}${field({ name: "temperature", label: "Temperature", placeholder: "default", type: "number" })}</div>${field({ name: "effort", label: "Reasoning", options: EFFORTS })}
<details id="tools"><summary>Tools</summary>${places("tool", "Action", "actions", [])}<datalist id="actions">${actions}</datalist>${area("functions", "Your functions", '[{"name": "add", "parameters": {"type": "object"}}]', json)}</details>
<details><summary>JSON schema</summary>${area("schema", "JSON schema of the answer", '{"type": "object"}', json)}</details>`,
    composer: html`<label for="prompt">Message</label><textarea id="prompt" name="prompt" rows="2" required aria-describedby="price">${HELLO}</textarea>
<input id="files" aria-label="Files: images, PDF or text" type="file" multiple accept="image/*,application/pdf,text/*,.md,.csv,.json,.xml,.yaml">`,
  };
}

/** How the page's script reads a param's field; `either` accepts plain text or JSON. */
function typeOf({ items, anyOf, const: only, type = typeof only }: JsonSchema, example: unknown): string {
  if (type === "string") return "string";
  if (type === "number" || type === "integer") return "number";
  if (type === "array" && (items as JsonSchema | undefined)?.type === "string") return "list";
  const isText = typeof example === "string" || (Array.isArray(anyOf) && anyOf.some((one) => one.type === "string"));
  return isText ? "either" : "json";
}

function paramField(name: string, schema: JsonSchema, example: unknown, { required, notes }: ParamNotes): Html {
  const type = typeOf(schema, example);
  const value = Array.isArray(example) && type === "list" ? example.join("\n") : example;
  const text = typeof value === "string" && type !== "json" ? value : (JSON.stringify(value) ?? "");
  const attributes = html` id="p-${name}" name="${name}" data-type="${type}"${required ? html` required` : ""} aria-describedby="n-${name}"`;
  const all = schema.type === "boolean" ? [true, false] : schema.enum;
  const options = Array.isArray(all) ? ["", ...all.map(String)] : null;
  const box = options
    ? html`<select${attributes}>${options.map((one) => html`<option${one === text ? html` selected` : ""}>${one}</option>`)}</select>`
    : type === "json" || type === "list"
      ? html`<textarea${attributes} rows="2" placeholder="${type === "list" ? "one per line" : "JSON"}" spellcheck="false">${text}</textarea>`
      : html`<input${attributes} value="${text}"${type === "number" ? html` inputmode="decimal"` : ""} spellcheck="false" autocomplete="off">`;
  return html`<div><label for="p-${name}">${name}</label>${box}<small class="soft" id="n-${name}">${notes}</small></div>`;
}
type ParamNotes = Pick<ReturnType<typeof paramsShown>[number], "required" | "notes">;

/** The same of one action. */
async function action({ ask, request }: Visit, id: string) {
  const { action: _, live: __, ...row } = Object.fromEntries(request.query);
  const path = `/api/run/${id.split("/").map(encodeURIComponent).join("/")}`;
  const answer = await ask<{ data?: Descriptor } & Descriptor>("GET", withQuery(path, row));
  const { description, params, price, example, table } = answer.data ?? answer;
  const properties = (params.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  const limit = price.max_cost_required ? price.max_cents : undefined;
  const shown = paramsShown(params).map((one) => ({
    required: one.required || one.name in example,
    box: paramField(one.name, properties[one.name] ?? {}, example[one.name], one),
  }));
  const boxes = (required: boolean) => shown.filter((one) => one.required === required).map(({ box }) => box);
  const optional = boxes(false);
  const rest = html`<details><summary>${optional.length} more params</summary><div class="fields">${optional}</div></details>`;
  // The file's bytes are uploaded to the URL in the call's answer.
  const file = "size_bytes" in properties ? html`<label for="file">File</label><input id="file" type="file">` : "";
  const rows =
    table === undefined
      ? ""
      : html`<p><a href="/catalog/actions/${id}">Choose one of ${table.count} ${table.param}s</a></p>`;
  return {
    title: `Try ${id}`,
    path,
    example,
    query: { action: id, ...row },
    settings: html`<p>${description}</p>${rows}${file}${boxes(true)}${limit === undefined ? "" : paramField("max_cost_cents", { type: "number" }, limit, { required: true, notes: "The call is refused if it can cost more" })}${optional.length === 0 ? "" : rest}`,
    composer: html`<p>${fullPriceWords(price)}</p>`,
  };
}

export function trySection(url: () => string): Section {
  return {
    path: PATH,
    async show(visit): Promise<Shown> {
      const { ask, request, csrf } = visit;
      const account = await ask<OwnAccount>("GET", "/api/v1/account");
      const isSandbox = account.kind === "sandbox";
      const isLive = !isSandbox && request.query.get("live") === "1";
      const id = (request.query.get("action") ?? "").slice(0, 200);
      const { title, settings, composer, path, example, query } = await (id === "" ? models(visit) : action(visit, id));
      const choices = [
        { href: withQuery(PATH, query), name: "Sandbox: play money", isOn: !isLive },
        { href: withQuery(PATH, { ...query, live: "1" }), name: "Live: real providers", isOn: isLive },
      ];
      const words = isLive
        ? html`<p class="told warn" role="alert">Live: real providers answer, and your account pays for each call.</p>`
        : html`<p class="told">Sandbox: answers are simulated, and no provider is called.</p>`;
      const program = ["curl", "Python", "TypeScript"].map(
        (name, at) =>
          html`<details${at === 0 ? html` open` : ""}><summary>${name}</summary><div data-code="${name}">${callBox(name === "curl" ? curl(`${url()}${path}`, example) : "")}</div></details>`,
      );
      const shown = html`<div class="grid" id="answers"><p class="none">Send a call, and the answers stream in here.</p></div>`;
      const below = html`<div class="card composer">${composer}<div class="buttons"><button>${id === "" ? "Send" : "Run"}</button><button type="button" id="stop" class="plain" disabled>Stop</button><button type="button" id="clear" class="plain">Clear</button><span id="price" class="soft" role="status"></span></div></div>`;
      const body = html`${isSandbox ? "" : switchOf("What it costs", choices)}${words}
<noscript>${problem("The playground streams answers by a script. Without scripts, send the call below from a shell.")}</noscript>
<form class="panes" data-try="${path}" data-kind="${id === "" ? "models" : "action"}" data-csrf="${csrf}" data-account="${account.account_id}" data-mode="${isLive || isSandbox ? "own" : "sandbox"}" data-url="${url()}" data-example="${JSON.stringify(example)}">
<details class="card" open><summary>${id === "" ? "Settings" : "Params"}</summary>${settings}</details>
<div>${id === "" ? html`${shown}${below}` : html`${below}${shown}`}</div></form>
<details class="card" id="kept" hidden><summary>Last twenty conversations, kept in this browser alone</summary><ul></ul><button class="plain small">Forget them</button></details>
<section class="card"><h2>Copy as code</h2>${program}</section>
<p><a href="/catalog">Find an action in the catalog</a> and try it here.</p>`;
      return { title, body, scripts: [TRY_SCRIPT.href] };
    },
  };
}
