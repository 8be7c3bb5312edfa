// Keys and grants: what each may spend and has spent, and every action on a key. Shared by the account's and the operator's pages.

import type { GroupShown } from "../../../money/accounts/groups.ts";
import type { WhyShown } from "../../../money/accounts/why.ts";
import { has } from "../find.ts";
import { type Html, html, type Put } from "../html.ts";
import { type Paged, withQuery } from "../kit/ask.ts";
import { meter } from "../kit/charts.ts";
import {
  buttonForm,
  centsIn,
  type Field,
  type FormBase,
  listIn,
  numberIn,
  PERIODS,
  postForm,
  searchForm,
} from "../kit/forms.ts";
import type { Act, Section, Shown, Visit } from "../kit/sections.ts";
import { card, dialog, dialogLink, moneyOfCents, nextPage, pill, secretShown, tableOf, time } from "../kit/shown.ts";
import { TREND_DAYS, trends } from "../spending.ts";
import { dollars } from "../words.ts";
import type { KeyMade, KeyShown } from "./answers.ts";
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
  readonly api: (visit: Visit) => string;
  readonly keys: "agents" | "keys";
  /** The endpoint of usage reports, with its filters. */
  readonly usage: (visit: Visit) => string;
  readonly refused: (keyId: string) => string;
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

function boundFields(key: KeyShown | null, groups: readonly GroupShown[]): readonly Field[] {
  const group = [["", "none"], ...groups.map(({ id, name }) => [id, name])] as [string, string][];
  const ceiling = key?.ceiling_cents == null ? "" : dollars(key.ceiling_cents);
  const own: readonly Field[] = [
    { name: "label", label: "Name", value: key?.label ?? "", required: true, placeholder: "what it is for" },
    { name: "ceiling", label: "May spend", note: "dollars, empty: no ceiling", value: ceiling, type: "number" },
    { name: "period", label: "in", value: key?.ceiling_period ?? "day", options: PERIODS },
  ];
  if (key?.primary === true) return own;
  const [models = "", services = ""] = [key?.models, key?.services].map((all) => all?.join(" ") ?? "");
  const rate = String(key?.requests_per_minute ?? "");
  return [
    ...own,
    { name: "group", label: "Group", value: key?.group ?? "", options: group },
    { name: "rate", label: "Requests a minute", note: "empty: the account's", value: rate, type: "number" },
    { name: "expires", label: "Ends on", note: "UTC", value: endOf(key), type: "date" },
    { name: "models", label: "Models", note: "empty: all", value: models, placeholder: "core/cheap core/mid" },
    { name: "services", label: "Actions", note: "empty: all", value: services, placeholder: "files brave/search" },
  ];
}

function moreOf(key: KeyShown, { form, place, groups }: KeysTable): Html {
  const { id, label } = key;
  const [own, within] = [{ ...form, hidden: { id } }, id];
  const overlap: Field = { name: "overlap", label: "The old secret expires", options: OVERLAPS };
  const button = { kind: "plain small", label, within };
  const rotate = key.kind === "grant" ? "" : postForm({ ...own, act: "rotate" }, [overlap], "New secret", button);
  const hidden = { id, expires_was: endOf(key) };
  const change = postForm({ ...form, act: "change", hidden }, boundFields(key, groups), "Save", {
    kind: "small",
    within,
  });
  const why = buttonForm({ ...own, act: "why" }, "Explain refusals", { label });
  return html`<p><a href="${place.refused(id)}">Refused calls of this key</a></p>${why}${change}${rotate}<p class="soft">Created ${time(key.created_at)} · <code>${id}</code></p>`;
}

/** The forms of one key are large, so only the selected key has them. */
function keyActions(key: KeyShown, made: KeysTable): Html {
  const { form, listed } = made;
  const button = (act: string, words: string, kind = "plain small") =>
    buttonForm({ ...form, act, hidden: { id: key.id } }, words, { label: key.label, kind });
  const pause = key.primary ? "" : key.paused ? button("resume", "Resume") : button("pause", "Pause");
  const revoke = key.primary ? "" : button("revoke", "Revoke", "danger small");
  const isOpen = listed.query.more === key.id;
  const more = withQuery(listed.path, { ...listed.query, more: isOpen ? "" : key.id });
  const words = isOpen ? "Less" : "More";
  const link = html`<a class="button plain small" href="${more}#${key.id}" aria-label="${words} about ${key.label}">${words}</a>`;
  return html`<span id="${key.id}">${pause} ${revoke} ${link}</span>${isOpen ? moreOf(key, made) : ""}`;
}

interface Listed {
  readonly path: string;
  readonly query: { readonly q: string; readonly cursor: string; readonly more: string };
}

interface KeysTable {
  readonly form: FormBase;
  readonly place: KeysPlace;
  readonly groups: readonly GroupShown[];
  readonly listed: Listed;
  readonly trend: (keyId: string) => Put;
}

function listedIn({ path, query }: Visit["request"]): Listed {
  const text = (name: string) => (query.get(name) ?? "").trim().slice(0, 100);
  return { path, query: { q: text("q"), cursor: text("cursor"), more: text("more") } };
}

/** A page of keys, oldest first; or the keys whose name, id or hint contains the search text. */
async function keysOf(visit: Visit, { api, keys }: KeysPlace, { q, cursor }: Listed["query"]) {
  const path = withQuery(`${api(visit)}/${keys}`, q === "" ? { limit: PAGE, cursor } : { limit: ALL });
  const { [keys]: all, next_cursor: next } = await visit.ask<Paged<KeysPlace["keys"], KeyShown>>("GET", path);
  if (q === "") return { agents: all, next };
  const isNamed = ({ label, id, hint }: KeyShown) => has(`${label} ${id} ${hint}`, q);
  return { agents: all.filter(isNamed).slice(0, FOUND_MAX), next: null };
}

function keysTable(keys: readonly KeyShown[], made: KeysTable): Html {
  const nameOf = new Map(made.groups.map(({ id, name }) => [id, name]));
  const groupOf = ({ group }: KeyShown) => (group === null ? "" : html` ${pill(nameOf.get(group) ?? group)}`);
  return tableOf("Keys", keys, "No key matches.", {
    Key: (key) =>
      html`<strong class="name">${key.label}</strong> ${stateOf(key)}<br><span class="soft"><code class="large">${key.hint}</code>${groupOf(key)}</span>`,
    Spent: spentOf,
    [`${TREND_DAYS} days|large`]: ({ id }) => made.trend(id),
    "May call|large": allowedOf,
    "Last used (UTC)|large": (key) => time(key.last_used_at),
    Actions: (key) => keyActions(key, made),
  });
}

/** An account's keys: a search field where they do not fit on one page, and the keys with their actions. */
export async function keysShown(visit: Visit, place: KeysPlace, nowMs: number) {
  const { ask, csrf, request } = visit;
  const listed = listedIn(request);
  const { path, query } = listed;
  const { agents, next } = await keysOf(visit, place, query);
  const { groups } = await ask<{ groups: readonly GroupShown[] }>("GET", `${place.api(visit)}/groups`);
  const trend = await trends(ask, place.usage(visit), { by: "key", ids: agents.map(({ id }) => id), nowMs });
  // A form's action returns to the page that it was sent from.
  const made = { form: { action: withQuery(path, query), csrf }, place, groups, listed, trend };
  const isWhole = next === null && query.q === "" && query.cursor === "";
  const find = searchForm(path, [{ name: "q", label: "Part of a key's name, or its id", value: query.q }]);
  return {
    groups,
    isWhole,
    find: isWhole && agents.length < 10 ? "" : find,
    table: (kind?: KeyShown["kind"]) =>
      keysTable(kind === undefined ? agents : agents.filter((key) => key.kind === kind), made),
    grants: agents.filter(({ kind }) => kind === "grant").length,
    next: nextPage(path, { q: query.q }, next),
  };
}

function madeShown(made: KeyMade, { firstCalls }: Pick<KeysPlace, "firstCalls">, back: string) {
  const what = html`This is the secret of <strong>${made.label}</strong>.`;
  return secretShown(made.api_key, what, back, firstCalls(made.api_key));
}

/** What currently prevents a key from calling. */
function whyShown(why: WhyShown, back: string): Html {
  const reasons = tableOf("Reasons", why.reasons, `Nothing refuses all calls of ${why.label}.`, {
    Error: ({ code }) => pill(code, "bad"),
    Why: ({ message, hint }) => html`${message} <span class="soft">${hint}</span>`,
    "Until (UTC)": ({ until }) => (until === undefined ? "until it is changed" : time(until)),
  });
  return html`<section class="card">${reasons}<p class="soft">The most that one call may cost now: ${why.bounded_by}.</p></section><p><a class="button" href="${back}">Back</a></p>`;
}

/** What the account itself and the operator can do to its keys. */
export function keyActs(place: KeysPlace): Readonly<Record<string, Act>> {
  const api = (visit: Visit) => `${place.api(visit)}/${place.keys}`;
  const one = (visit: Visit) => `${api(visit)}/${encodeURIComponent(visit.fields.id ?? "")}`;
  const patch = (told: string, body: unknown): Act => ({ told, run: (visit) => visit.ask("PATCH", one(visit), body) });
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
        return visit.ask("PATCH", one(visit), sent);
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
      told: "What refuses this key",
      run: async (visit) => whyShown(await visit.ask<WhyShown>("GET", `${one(visit)}/why`), visit.request.path),
    },
    revoke: { told: "The key was revoked", run: (visit) => visit.ask("DELETE", one(visit)) },
  };
}

const PATH = "/account/keys";
const NEW = "new";

export function keysSection(url: () => string, epochMs: () => number): Section {
  const own: KeysPlace = {
    api: () => "/api/v1",
    keys: "agents",
    usage: () => "/api/v1/usage",
    refused: (keyId) => `/account/transactions?status=refused&key=${encodeURIComponent(keyId)}`,
    firstCalls: (secret) => callsOfKey(url(), secret),
  };
  return { path: PATH, acts: keyActs(own), show: (visit) => shown(visit, own, epochMs()) };
}

async function shown(visit: Visit, place: KeysPlace, nowMs: number): Promise<Shown> {
  const keys = await keysShown(visit, place, nowMs);
  const noGrant = keys.isWhole
    ? "No client has a grant yet. A client asks for one by OAuth, and you choose how much it may spend."
    : "No grant is among these.";
  const form = { action: PATH, csrf: visit.csrf, act: "make" };
  const create = postForm(form, boundFields(null, keys.groups), "Create a key", { within: NEW });
  const isOpen = visit.request.query.get("open") === NEW;
  const grants = keys.grants === 0 ? html`<p class="none">${noGrant}</p>` : keys.table("grant");
  return {
    title: "Keys",
    body: html`${dialogLink(NEW, "Create a key", PATH)}${dialog(NEW, "Create a key", create, isOpen)}${keys.find}${card("Keys", html`${keys.table("key")}${keys.next}`)}${card("Grants to OAuth clients", grants)}`,
  };
}
