// Keys and grants: what each may spend and has spent, and every action on a key. Shared by the account's and the operator's pages.

import type { GroupShown } from "../../../money/accounts/groups.ts";
import type { WhyShown } from "../../../money/accounts/why.ts";
import { type Html, html, type Put } from "../html.ts";
import { type Ask, nothingElse, withQuery } from "../kit/ask.ts";
import { meter } from "../kit/charts.ts";
import {
  buttonForm,
  centsIn,
  type Field,
  field,
  listIn,
  numberIn,
  PERIODS,
  type PostForm,
  postForm,
} from "../kit/forms.ts";
import type { Act, Section, Shown, Visit } from "../kit/sections.ts";
import {
  card,
  dialog,
  dialogLink,
  moneyOfCents,
  nextPage,
  pill,
  rowsOf,
  secretShown,
  table,
  time,
} from "../kit/shown.ts";
import { TREND_DAYS, trends } from "../spending.ts";
import { dollars } from "../words.ts";
import type { KeyMade, KeyShown, KeysShown } from "./answers.ts";
import { callsOfKey } from "./start.ts";

/** How long the old secret stays valid beside a new one, in seconds. */
const OVERLAPS = [
  ["0", "at once"],
  ["3600", "in an hour"],
  ["86400", "in a day"],
  ["604800", "in a week"],
] as const;

/** An account may have a thousand keys; small pages stay light and fast. */
const PAGE = "50";
/** The most keys of an account; all are searched for a part of a name. */
const ALL = "1000";
const FOUND_MAX = 50;

/** The endpoints and pages of an account's keys. */
export interface KeysPlace {
  /** The endpoint of the keys, such as `/api/v1/agents`. */
  readonly api: (visit: Visit) => string;
  /** The page of a key's refused calls. */
  readonly refused: (keyId: string) => string;
  /** Calls to try a new secret with. */
  readonly firstCalls: (secret: string) => Put;
}

function stateOf({ paused, primary, kind, expires_at }: KeyShown): Html {
  const states = [
    primary ? pill("primary") : "",
    kind === "grant" ? pill("grant") : "",
    paused ? pill("paused", "warn") : "",
  ];
  const ends = expires_at === null ? "" : html`<br><span class="soft">until ${time(expires_at)}</span>`;
  return html`${states}${ends}`;
}

function spentOf({ spent_cents, ceiling_cents, ceiling_period }: KeyShown): Html {
  if (ceiling_cents === null) return html`${moneyOfCents(spent_cents)} <span class="soft">today, no ceiling</span>`;
  const used = ceiling_cents === 0 ? 1 : spent_cents / ceiling_cents;
  return html`${moneyOfCents(spent_cents)} <span class="soft">of ${moneyOfCents(ceiling_cents)} a ${ceiling_period ?? "day"}</span>${meter(used)}`;
}

function allowedOf({ models, services }: KeyShown): Html | string {
  if (models === null && services === null) return "everything";
  const words = [...(models ?? ["all models"]), ...(services ?? ["all actions"])];
  return html`<span class="name">${words.length === 0 ? "nothing" : words.join(", ")}</span>`;
}

/** The day on which a key expires, in UTC, as its form shows it. */
const endOf = (key: KeyShown | null) => key?.expires_at?.slice(0, 10) ?? "";

/** A key's limits from the form, as its endpoint takes them. An empty field removes the limit. */
function boundsIn(fields: Readonly<Record<string, string>>) {
  const ceiling = centsIn(fields.ceiling) ?? null;
  return {
    label: fields.label,
    ceiling_cents: ceiling,
    ...(ceiling === null ? {} : { ceiling_period: fields.period }),
    group: fields.group === "" ? null : fields.group,
    services: listIn(fields.services),
    models: listIn(fields.models),
    requests_per_minute: numberIn(fields.rate) ?? null,
    // The form shows only the day: left unchanged, the key keeps its exact time.
    ...(fields.expires === undefined || fields.expires === fields.expires_was
      ? {}
      : { expires_at: fields.expires === "" ? null : `${fields.expires}T00:00:00Z` }),
  };
}

function boundFields(key: KeyShown | null, groups: readonly GroupShown[]): Html {
  const within = key?.id ?? "new";
  const group = [["", "none"], ...groups.map(({ id, name }) => [id, name])] as [string, string][];
  const ceiling = key?.ceiling_cents == null ? "" : dollars(key.ceiling_cents);
  const own: readonly Field[] = [
    { name: "label", label: "Name", value: key?.label ?? "", required: true, placeholder: "what it is for" },
    { name: "ceiling", label: "May spend", note: "dollars, empty: no ceiling", value: ceiling, type: "number" },
    { name: "period", label: "in", value: key?.ceiling_period ?? "day", options: PERIODS },
  ];
  const [models, services] = [key?.models, key?.services].map((all) => all?.join(" ") ?? "");
  const rate = String(key?.requests_per_minute ?? "");
  const more: readonly Field[] = [
    { name: "group", label: "Group", value: key?.group ?? "", options: group },
    { name: "rate", label: "Requests a minute", note: "empty: the account's", value: rate, type: "number" },
    { name: "expires", label: "Ends on", note: "UTC", value: endOf(key), type: "date" },
    { name: "models", label: "Models", note: "empty: all", value: models ?? "", placeholder: "core/cheap core/mid" },
    {
      name: "services",
      label: "Actions",
      note: "empty: all",
      value: services ?? "",
      placeholder: "files brave/search",
    },
  ];
  const fields = (all: readonly Field[]) => html`<div class="fields">${all.map((one) => field(one, within))}</div>`;
  const isPrimary = key?.primary === true;
  return html`${fields(own)}${isPrimary ? "" : fields(more)}`;
}

function moreOf(form: Omit<PostForm, "act">, key: KeyShown, place: KeysPlace, groups: readonly GroupShown[]): Html {
  const own = { ...form, hidden: { id: key.id } };
  const overlap = field({ name: "overlap", label: "The old secret expires", options: OVERLAPS }, key.id);
  const secret = html`${overlap}<div class="buttons"><button class="plain small" aria-label="New secret: ${key.label}">New secret</button></div>`;
  const rotate = key.kind === "grant" ? "" : postForm({ ...own, act: "rotate" }, secret);
  const change = postForm(
    { ...form, act: "change", hidden: { id: key.id, expires_was: endOf(key) } },
    html`${boundFields(key, groups)}<div class="buttons"><button class="small">Save</button></div>`,
  );
  const why = buttonForm({ ...own, act: "why" }, "Would it be refused now?", { label: key.label });
  return html`<p><a href="${place.refused(key.id)}">Refused calls of this key</a></p>${why}${change}${rotate}<p class="soft">Made ${time(key.created_at)} · <code>${key.id}</code></p>`;
}

/** The forms of one key are large, so only the selected key has them. */
function keyActions(key: KeyShown, { form, place, groups, listed }: KeysTable): Html {
  const button = (act: string, words: string, kind = "plain small") =>
    buttonForm({ ...form, act, hidden: { id: key.id } }, words, { label: key.label, kind });
  const pause = key.primary ? "" : key.paused ? button("resume", "Resume") : button("pause", "Pause");
  const revoke = key.primary ? "" : button("revoke", "Revoke", "danger small");
  const isOpen = listed.query.more === key.id;
  const more = withQuery(listed.path, { ...listed.query, more: isOpen ? "" : key.id });
  const link = html`<a class="button plain small" href="${more}#${key.id}" aria-label="${isOpen ? "Less" : "More"} about ${key.label}">${isOpen ? "Less" : "More"}</a>`;
  return html`<span id="${key.id}">${pause} ${revoke} ${link}</span>${isOpen ? moreOf(form, key, place, groups) : ""}`;
}

/** The page and query of a list of keys. */
export interface Listed {
  readonly path: string;
  readonly query: { readonly q: string; readonly cursor: string; readonly more: string };
}

export interface KeysTable {
  readonly form: Omit<PostForm, "act">;
  readonly place: KeysPlace;
  readonly groups: readonly GroupShown[];
  readonly listed: Listed;
  /** A small chart of a key's spending. */
  readonly trend: (keyId: string) => Put;
}

export function listedIn({ path, query }: Visit["request"]): Listed {
  const text = (name: string) => (query.get(name) ?? "").trim().slice(0, 100);
  return { path, query: { q: text("q"), cursor: text("cursor"), more: text("more") } };
}

/** A page of keys, oldest first; or the keys whose name, id or hint contains the search text. `api` returns them under one of two names. */
export async function keysOf(ask: Ask, api: string, { query }: Listed): Promise<KeysShown> {
  const { q, cursor } = query;
  const asked = q === "" ? { limit: PAGE, cursor } : { limit: ALL };
  const found = await ask<Partial<KeysShown> & { keys?: KeysShown["agents"] }>("GET", withQuery(api, asked));
  const all = found.agents ?? found.keys ?? [];
  if (q === "") return { agents: all, next_cursor: found.next_cursor ?? null };
  const words = q.toLowerCase();
  const has = ({ label, id, hint }: KeyShown) => `${label} ${id} ${hint}`.toLowerCase().includes(words);
  return { agents: all.filter(has).slice(0, FOUND_MAX), next_cursor: null };
}

/** Keys with their actions. */
export function keysTable(agents: readonly KeyShown[], made: KeysTable): Html {
  const columns = ["Key", "Spent", `${TREND_DAYS} days|large`, "May call|large", "Last used (UTC)|large", "Do"];
  const nameOf = new Map(made.groups.map(({ id, name }) => [id, name]));
  const rows = rowsOf(agents, (key) => [
    html`<strong class="name">${key.label}</strong> ${stateOf(key)}<br><span class="soft"><code class="large">${key.hint}</code>${key.group === null ? "" : html` ${pill(nameOf.get(key.group) ?? key.group)}`}</span>`,
    spentOf(key),
    made.trend(key.id),
    allowedOf(key),
    time(key.last_used_at),
    keyActions(key, made),
  ]);
  return table("Keys", columns, { rows, none: "No key matches." });
}

/** The search field; omitted where one page shows all keys. */
export function findKey({ path, query }: Listed, { agents, next_cursor: next }: KeysShown): Html | string {
  if (next === null && query.q === "" && query.cursor === "" && agents.length < 10) return "";
  return html`<form method="get" action="${path}"><div class="fields">${field({ name: "q", label: "Part of a key's name, or its id", value: query.q })}<div><button class="plain">Find</button></div></div></form>`;
}

/** The form's action returns to the page that it was sent from. */
export function formOf({ path, query }: Listed, csrf: string): Omit<PostForm, "act"> {
  return { action: withQuery(path, query), csrf };
}

function newKeyForm(form: Omit<PostForm, "act">, groups: readonly GroupShown[]): Html {
  return postForm(
    { ...form, act: "make" },
    html`${boundFields(null, groups)}<div class="buttons"><button>Create a key</button></div>`,
  );
}

function madeShown(made: KeyMade, { firstCalls }: Pick<KeysPlace, "firstCalls">, back: string) {
  const what = html`This is the secret of <strong>${made.label}</strong>.`;
  return secretShown(made.api_key, what, back, firstCalls(made.api_key));
}

/** What currently prevents a key from calling. */
function whyShown(why: WhyShown, back: string): Html {
  const rows = why.reasons.map(({ code, message, hint, until }) => [
    pill(code, "bad"),
    html`${message} <span class="soft">${hint}</span>`,
    until === undefined ? "until it is changed" : time(until),
  ]);
  const none = `Nothing refuses all calls of ${why.label}.`;
  return html`<section class="card">${table("Reasons", ["Error", "Why", "Until (UTC)"], { rows, none })}<p class="soft">The most that one call may cost now: ${why.bounded_by}.</p></section><p><a class="button" href="${back}">Back</a></p>`;
}

/** What the account itself and the operator can do to its keys. */
export function keyActs(place: KeysPlace): Readonly<Record<string, Act>> {
  const { api } = place;
  const one = (visit: Visit) => `${api(visit)}/${encodeURIComponent(visit.fields.id ?? "")}`;
  const patch = (told: string, body: unknown): Act => ({
    told,
    run: (visit) => nothingElse(visit.ask("PATCH", one(visit), body)),
  });
  return {
    make: {
      told: "The key was created",
      run: async (visit) =>
        madeShown(await visit.ask<KeyMade>("POST", api(visit), boundsIn(visit.fields)), place, visit.request.path),
    },
    change: {
      told: "The key was changed",
      async run(visit) {
        const bounds = boundsIn(visit.fields);
        // The primary key's form has only these fields.
        const { label, ceiling_cents, ceiling_period } = bounds;
        const sent = visit.fields.models === undefined ? { label, ceiling_cents, ceiling_period } : bounds;
        return nothingElse(visit.ask("PATCH", one(visit), sent));
      },
    },
    pause: patch("The key is paused: every paid call of it is refused", { paused: true }),
    resume: patch("The key works again", { paused: false }),
    rotate: {
      told: "A new secret was created",
      sure: ({ fields }) =>
        `The old secret stops working ${Object.fromEntries(OVERLAPS)[fields.overlap ?? "0"] ?? "later"}, in every program that has it. Of the primary key it also ends this sign-in.`,
      async run(visit) {
        const body = { overlap_seconds: numberIn(visit.fields.overlap) ?? 0 };
        return madeShown(await visit.ask<KeyMade>("POST", `${one(visit)}/rotate`, body), place, visit.request.path);
      },
    },
    why: {
      told: "Would this key be refused now?",
      run: async (visit) => whyShown(await visit.ask<WhyShown>("GET", `${one(visit)}/why`), visit.request.path),
    },
    revoke: { told: "The key was revoked", run: (visit) => nothingElse(visit.ask("DELETE", one(visit))) },
  };
}

const PATH = "/account/keys";
const NEW = "new";

/** `url`: our own URL, without a trailing slash. */
export function keysSection(url: () => string, epochMs: () => number): Section {
  const own: KeysPlace = {
    api: () => "/api/v1/agents",
    refused: (keyId) => `/account/transactions?status=refused&key=${encodeURIComponent(keyId)}`,
    firstCalls: (secret) => callsOfKey(url(), secret),
  };
  return { path: PATH, place: PATH, acts: keyActs(own), show: (visit) => shown(visit, own, epochMs()) };
}

async function shown({ ask, csrf, request }: Visit, place: KeysPlace, nowMs: number): Promise<Shown> {
  const listed = listedIn(request);
  const keys = await keysOf(ask, "/api/v1/agents", listed);
  const grouped = await ask<{ groups: readonly GroupShown[] }>("GET", "/api/v1/groups");
  const { groups } = grouped;
  const trend = await trends(ask, "/api/v1/usage", { by: "key", ids: keys.agents.map(({ id }) => id), nowMs });
  const made = { form: formOf(listed, csrf), place, groups, listed, trend };
  const isGrant = ({ kind }: KeyShown) => kind === "grant";
  const agents = keys.agents.filter((key) => !isGrant(key));
  const grants = keys.agents.filter(isGrant);
  const isWhole = keys.next_cursor === null && listed.query.cursor === "" && listed.query.q === "";
  const noGrant = isWhole
    ? "No client has a grant yet. A client asks for one by OAuth, and you choose how much it may spend."
    : "No grant is among these.";
  const create = dialog(
    NEW,
    "Create a key",
    newKeyForm({ action: PATH, csrf }, groups),
    request.query.get("open") === NEW,
  );
  return {
    title: "Keys",
    body: html`${dialogLink(NEW, "Create a key", PATH)}${create}${findKey(listed, keys)}${card("Keys", html`${keysTable(agents, made)}${nextPage(request.path, {}, keys.next_cursor)}`)}
${card("Grants to OAuth clients", grants.length === 0 ? html`<p class="none">${noGrant}</p>` : keysTable(grants, made))}`,
  };
}
