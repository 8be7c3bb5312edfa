// The playground: models side by side on one prompt, or an action by a form generated from its schema. In the sandbox until the person
// switches to live.

import type { PriceShown } from "../../../actions/run/descriptor.ts";
import { isRecord, stringOf } from "../../../core/json.ts";
import type { OwnAccount } from "../account/answers.ts";
import { actionsFor } from "../find.ts";
import { type Html, html } from "../html.ts";
import { type Ask, bodyOr } from "../kit/ask.ts";
import { TRY_SCRIPT } from "../kit/assets.ts";
import { field } from "../kit/forms.ts";
import type { Section, Shown, Visit } from "../kit/sections.ts";
import { callBox, card, switchOf } from "../kit/shown.ts";
import { fullPriceWords } from "../words.ts";

const PATH = "/try";
/** The initial choices of the four model fields. */
const FIRST = ["core/cheap", "core/mid", "", ""];
const EFFORTS = [["", "the model's own"], ...["none", "low", "medium", "high"].map((one) => [one, one])] as [
  string,
  string,
][];

interface Priced {
  readonly model: string;
  readonly kind: string;
  readonly prompt_usd_per_million: number;
  readonly completion_usd_per_million: number;
}
interface Pricing {
  /** `price_max`: the price of the most expensive candidate. */
  readonly tier_prices: readonly (Priced & { readonly price_max: Omit<Priced, "model" | "kind"> })[];
  readonly models: readonly Priced[];
}
interface Descriptor {
  readonly description: string;
  readonly params: { readonly properties?: Readonly<Record<string, unknown>>; readonly required?: readonly string[] };
  readonly price: PriceShown;
  readonly example: Readonly<Record<string, unknown>>;
}
interface Mode {
  readonly isLive: boolean;
  readonly mayBeLive: boolean;
}

function switches({ isLive, mayBeLive }: Mode, rest: string): Html {
  if (!mayBeLive)
    return html`<p class="told warn">This is a sandbox account: it has play money, and no provider is called.</p>`;
  const choices = switchOf("What it costs", [
    { href: `${PATH}?${rest}`, name: "Sandbox: play money", isOn: !isLive },
    { href: `${PATH}?${rest}&live=1`, name: "Live: real providers", isOn: isLive },
  ]);
  const words = isLive
    ? html`<p class="told warn" role="alert">Live: real providers answer, and your account pays for each call.</p>`
    : html`<p class="told">Sandbox: the answers are simulated, and your account pays nothing.</p>`;
  return html`${choices}${words}`;
}

const SAME = html`<section class="card"><h2>The same call from a program</h2>
<h3>curl</h3><div id="as-curl">${callBox("")}</div><h3>Python</h3><div id="as-python">${callBox("")}</div><h3>TypeScript</h3><div id="as-typescript">${callBox("")}</div></section>`;
const NEEDS = html`<noscript><p class="problem">The playground needs scripts, because it shows answers while they stream.</p></noscript>`;

interface Frame {
  readonly kind: "models" | "action";
  readonly csrf: string;
  /** What the browser has kept belongs to this account. */
  readonly account: string;
  readonly mode: Mode;
  readonly url: string;
  readonly action?: string;
  readonly example?: unknown;
}

function framed({ kind, csrf, account, mode, url, action = "", example = {} }: Frame, inside: Html): Html {
  const name = mode.isLive || !mode.mayBeLive ? "own" : "sandbox";
  return html`<div class="panes"><section class="card" data-try="${kind}" data-csrf="${csrf}" data-account="${account}" data-mode="${name}" data-url="${url}" data-action="${action}" data-example="${JSON.stringify(example)}">${inside}</section>
<div class="grid" id="answers" aria-live="polite"><p class="none">Run it, and the answers stream in here.</p></div></div>
<details class="card" id="kept" hidden><summary>The last twenty, kept in this browser alone</summary><ul></ul><button class="plain small">Forget them</button></details>${SAME}`;
}

async function models({ ask, request }: Visit, frame: Omit<Frame, "kind">): Promise<Html> {
  const pricing = await bodyOr(ask<Pricing>("GET", "/api/llm/v1/pricing"), { tier_prices: [], models: [] });
  // The estimate is the maximum cost of a call, so a tier has the price of its most expensive candidate.
  const tiers = pricing.tier_prices.map(({ price_max, ...tier }) => ({ ...tier, ...price_max }));
  const listed = [...tiers, ...pricing.models.filter(({ kind }) => kind === "chat")];
  const options = listed.map(
    ({ model, prompt_usd_per_million: input, completion_usd_per_million: output }) =>
      html`<option value="${model}" data-input="${input}" data-output="${output}">$${input} in, $${output} out</option>`,
  );
  const asked = (request.query.get("model") ?? "").slice(0, 200);
  const places = (asked === "" ? FIRST : [asked, "", "", ""]).map(
    (model, at) =>
      html`<div><label for="model-${at}">Model ${at + 1}</label><input id="model-${at}" name="model" list="models" value="${model}" autocomplete="off" spellcheck="false"></div>`,
  );
  const form = html`${NEEDS}<form><label for="prompt">Prompt</label><textarea id="prompt" name="prompt" required>Say hello in one sentence.</textarea>
<div class="fields">${places}</div>
<details><summary>Settings</summary><label for="system">System prompt</label><textarea id="system" name="system"></textarea>
<div class="fields">${field({ name: "max", label: "Maximum tokens", type: "number", value: "300" })}${field({ name: "temperature", label: "Temperature", note: "empty: the model's own", type: "number" })}${field({ name: "effort", label: "Reasoning", options: EFFORTS })}</div>
<label for="schema">JSON schema of the answer</label><textarea id="schema" name="schema" spellcheck="false" placeholder='{"type": "object"}'></textarea></details>
<datalist id="models">${options}</datalist><p id="price" class="soft" role="status"></p><div class="buttons"><button>Run</button></div></form>`;
  return framed({ ...frame, kind: "models" }, form);
}

/** The field of a param: free text, options, or JSON where it is structured. */
function paramField(
  name: string,
  schema: unknown,
  { required, example }: { readonly required: boolean; readonly example: unknown },
): Html {
  const { type, description, enum: all } = isRecord(schema) ? schema : {};
  const kind = type === "string" ? "string" : type === "number" || type === "integer" ? "number" : "json";
  const value =
    example === undefined ? "" : typeof example === "string" && kind === "string" ? example : JSON.stringify(example);
  const note = stringOf(description) ?? "";
  const must = required ? html` required` : "";
  const box = Array.isArray(all)
    ? html`<select id="p-${name}" name="${name}" data-type="${kind}"><option value=""></option>${all.map((one) => html`<option${one === example ? html` selected` : ""}>${String(one)}</option>`)}</select>`
    : html`<input id="p-${name}" name="${name}" data-type="${kind}" value="${value}" placeholder="${kind === "json" ? "JSON" : ""}" spellcheck="false" autocomplete="off"${must}>`;
  return html`<div><label for="p-${name}">${name}${required ? "" : html` <small>optional</small>`}</label>${box}<small class="soft">${note}</small></div>`;
}

async function action({ ask }: Visit, id: string, frame: Omit<Frame, "kind">): Promise<Html> {
  const path = id.split("/").map(encodeURIComponent).join("/");
  const told = await ask<{ data?: Descriptor } & Descriptor>("GET", `/api/run/${path}`);
  const { description, params, price, example } = told.data ?? told;
  const { properties = {}, required = [] } = params;
  const fields = Object.entries(properties).map(([name, schema]) =>
    paramField(name, schema, { required: required.includes(name), example: example[name] }),
  );
  // The file's bytes are uploaded to the URL in the call's answer.
  const file =
    "size_bytes" in properties ? html`<div><label for="file">File</label><input id="file" type="file"></div>` : "";
  const form = html`${NEEDS}<p>${description}</p><form><div class="fields">${file}${fields}</div><p id="price" class="soft" role="status">${fullPriceWords(price)}</p><div class="buttons"><button>Run</button></div></form>`;
  return framed({ ...frame, kind: "action", action: id, example }, form);
}

async function found(ask: Ask, words: string, live: string): Promise<Html> {
  const rows = (await actionsFor(ask, words)).map(({ service, action: name, description }) => {
    const id = `${service}/${name}`;
    return html`<li><a href="${PATH}?${new URLSearchParams({ action: id }).toString()}${live}">${id}</a> <span class="soft">${description}</span></li>`;
  });
  return rows.length === 0 ? html`<p class="none">No action matches.</p>` : html`<ul>${rows}</ul>`;
}

/** `url`: our own URL, without a trailing slash. */
export function trySection(url: () => string): Section {
  return {
    path: PATH,
    place: PATH,
    async show(visit): Promise<Shown> {
      const { ask, request } = visit;
      const account = await ask<OwnAccount>("GET", "/api/v1/account");
      const mayBeLive = account.kind !== "sandbox";
      const mode = { mayBeLive, isLive: mayBeLive && request.query.get("live") === "1" };
      const id = (request.query.get("action") ?? "").slice(0, 200);
      const words = (request.query.get("q") ?? "").trim().slice(0, 300);
      const live = mode.isLive ? "&live=1" : "";
      const find = html`<form method="get" action="${PATH}">${mode.isLive ? html`<input type="hidden" name="live" value="1">` : ""}<div class="fields">${field({ name: "q", label: "Find an action by what it does", value: words })}<div><button class="plain">Find</button></div></div></form>`;
      const above = html`${switches(mode, new URLSearchParams(id === "" ? {} : { action: id }).toString())}`;
      const below = card("Actions", html`${find}${words === "" ? "" : await found(ask, words, live)}`);
      const frame = { csrf: visit.csrf, account: account.account_id, mode, url: url() };
      const shown = id === "" ? await models(visit, frame) : await action(visit, id, frame);
      return {
        title: id === "" ? "Playground" : `Try ${id}`,
        body: html`${above}${shown}${below}`,
        scripts: [TRY_SCRIPT.href],
      };
    },
  };
}
