// Accounts for the operator: find, open, credit and freeze them, and manage their keys as the account can.
import type { BudgetsShown } from "../../../money/accounts/budgets.ts";
import type { GroupShown } from "../../../money/accounts/groups.ts";
import { budgetsTable } from "../account/budgets.ts";
import { findKey, formOf, type KeysPlace, keyActs, keysOf, keysTable, listedIn } from "../account/keys.ts";
import { type Html, html } from "../html.ts";
import { nothingElse, Refused, withQuery } from "../kit/ask.ts";
import { buttonForm, centsIn, field, postForm } from "../kit/forms.ts";
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
  tiles,
  time,
} from "../kit/shown.ts";
import { TREND_DAYS, trends } from "../spending.ts";
import { dollars } from "../words.ts";
import type { AccountShown } from "./answers.ts";

const PATH = "/console/accounts";
const PAGE = "100";
const KINDS = [
  ["personal", "personal"],
  ["business", "business"],
  ["sandbox", "sandbox"],
] as const;

interface Opened {
  readonly account_id: string;
  readonly api_key: string;
}

const openAct: Act = {
  told: "The account was created",
  async run({ ask, fields }) {
    const credit = centsIn(fields.credit);
    const body = { name: fields.name, kind: fields.kind, ...(credit === undefined ? {} : { credit_cents: credit }) };
    const made = await ask<Opened>("POST", "/admin/v1/accounts", body);
    return secretShown(made.api_key, "This is the account's primary key.", `${PATH}/${made.account_id}`);
  },
};

export function accountsSection(epochMs: () => number): Section {
  return { path: PATH, place: PATH, acts: { open: openAct }, show: (visit) => accountsShown(visit, epochMs()) };
}

async function accountsShown({ ask, csrf, request }: Visit, nowMs: number): Promise<Shown> {
  const [cursor, q] = ["cursor", "q"].map((name) => (request.query.get(name) ?? "").trim()) as [string, string];
  const found = await ask<{ accounts: readonly AccountShown[]; next_cursor: string | null }>(
    "GET",
    withQuery("/admin/v1/accounts", { limit: PAGE, cursor, q }),
  );
  const ids = found.accounts.map(({ account_id: id }) => id);
  const trend = await trends(ask, "/admin/v1/usage", { by: "account", ids, nowMs });
  const columns = ["Account", "Created (UTC)|large", `${TREND_DAYS} days|large`, "Spent|num large", "Balance|num"];
  const rows = rowsOf(found.accounts, (one) => [
    html`<a class="name" href="${PATH}/${encodeURIComponent(one.account_id)}">${one.name}</a> ${one.kind === "sandbox" ? pill("sandbox", "warn") : ""} ${one.frozen ? pill("frozen", "bad") : ""}<br><code class="soft">${one.account_id}</code>`,
    time(one.created_at),
    trend(one.account_id),
    moneyOfCents(one.spent_cents),
    moneyOfCents(one.balance_cents),
  ]);
  const open = postForm(
    { action: PATH, csrf, act: "open" },
    html`<div class="fields">${field({ name: "name", label: "Name", required: true })}${field({ name: "kind", label: "Kind", options: KINDS })}${field({ name: "credit", label: "Credit", note: "dollars", type: "number" })}</div><div class="buttons"><button>Create an account</button></div>`,
  );
  const search = html`<form class="filters" method="get" action="${PATH}" role="search">${field({ name: "q", label: "Part of a name, an id, or a key's id", value: q })}<div class="buttons"><button class="plain">Find</button></div></form>`;
  return {
    title: "Accounts",
    body: html`${dialogLink("new", "Create an account", PATH)}${dialog("new", "Create an account", open, request.query.get("open") === "new")}${card("Accounts", html`${search}${table("Accounts", columns, { rows, none: q === "" ? "There is no account yet. Create one." : "No account has this name or id, and no key has this id." })}${nextPage(PATH, { q }, found.next_cursor)}`)}`,
  };
}

const idIn = ({ request }: Visit) => encodeURIComponent(request.params.id ?? "");
const apiOf = (visit: Visit) => `/admin/v1/accounts/${idIn(visit)}`;

function freeze(frozen: boolean, told: string): Act {
  const words = frozen
    ? "All paid calls of this account are refused from now on. Running calls finish and are charged."
    : "This account can make paid calls again.";
  return { told, sure: () => words, run: (visit) => nothingElse(visit.ask("PATCH", apiOf(visit), { frozen })) };
}

const creditAct: Act = {
  told: "Credit was added",
  sure({ fields, request }) {
    const cents = centsIn(fields.dollars);
    if (typeof cents !== "number") throw new Refused(400, "Dollars: must be an amount such as 2 or 12.50.");
    return `Give $${dollars(cents)} to the account ${request.params.id ?? ""}? It is added to its balance, once for the reference “${(fields.reference ?? "").slice(0, 200)}”.`;
  },
  async run(visit) {
    const { reference } = visit.fields;
    const done = await visit.ask<{ repeated: boolean }>("POST", `${apiOf(visit)}/credits`, {
      cents: centsIn(visit.fields.dollars),
      reference,
    });
    if (done.repeated) throw new Refused(409, "Credit with this reference was given before: nothing was added.");
    return null;
  },
};

const KEYS: KeysPlace = {
  firstCalls: () => "",
  api: (visit) => `${apiOf(visit)}/keys`,
  refused: (keyId) => `/console/calls?status=refused&key=${encodeURIComponent(keyId)}`,
};

function summary(account: AccountShown): Html {
  return tiles([
    {
      name: "Balance",
      value: moneyOfCents(account.balance_cents),
      more: html`of ${moneyOfCents(account.granted_cents)} given`,
    },
    { name: "Held", value: moneyOfCents(account.held_cents) },
    { name: "Spent", value: moneyOfCents(account.spent_cents) },
    { name: "Model spending per day", value: moneyOfCents(account.inference_cap_cents), more: "cap" },
    { name: "State", value: account.frozen ? pill("frozen", "bad") : pill("active", "good"), more: account.kind },
  ]);
}

/** `reference`: unique per form, so that a form that is sent twice counts once. */
export function accountSection(reference: () => string, epochMs: () => number): Section {
  return {
    path: `${PATH}/{id}`,
    place: PATH,
    acts: {
      credit: creditAct,
      freeze: freeze(true, "The account is frozen"),
      thaw: freeze(false, "The account is active again"),
      ...keyActs(KEYS),
    },
    async show(visit) {
      const { ask, csrf, request } = visit;
      const account = await ask<AccountShown>("GET", apiOf(visit));
      const grouped = await ask<{ groups: readonly GroupShown[] }>("GET", `${apiOf(visit)}/groups`);
      const bounded = await ask<BudgetsShown>("GET", `${apiOf(visit)}/budgets`);
      const listed = listedIn(request);
      const keys = await keysOf(ask, `${apiOf(visit)}/keys`, listed);
      const ids = keys.agents.map(({ id }) => id);
      const trend = await trends(ask, "/admin/v1/usage", {
        by: "key",
        account: account.account_id,
        ids,
        nowMs: epochMs(),
      });
      const made = { form: formOf(listed, csrf), place: KEYS, groups: grouped.groups, listed, trend };
      const form = { action: request.path, csrf };
      const credit = postForm(
        { ...form, act: "credit" },
        html`<div class="fields">${field({ name: "dollars", label: "Dollars", type: "number", value: "2", required: true })}${field({ name: "reference", label: "Reference", note: "counts once", value: reference(), required: true })}</div><div class="buttons"><button>Add credit</button></div>`,
      );
      const stand = account.frozen
        ? buttonForm({ ...form, act: "thaw" }, "Unfreeze the account")
        : buttonForm({ ...form, act: "freeze" }, "Freeze the account", { kind: "danger small" });
      const id = encodeURIComponent(account.account_id);
      const links = html`<p><a href="/console/calls?account=${id}">Transactions</a> · <a href="/console/calls?status=failed&account=${id}">Failed calls</a> · <a href="/console/calls?status=refused&account=${id}">Refused calls</a></p>`;
      return {
        title: account.name,
        body: html`<p class="lead"><code>${account.account_id}</code>, opened ${time(account.created_at)}</p>${summary(account)}${links}
<div class="grid">${card("Add credit", credit)}${card("State", stand)}</div>
${card("Keys", html`${findKey(listed, keys)}${keysTable(keys.agents, made)}${nextPage(request.path, {}, keys.next_cursor)}`)}${card("Ceilings", budgetsTable(bounded.budgets))}`,
      };
    },
  };
}
