// Accounts for the operator: find, open, credit and freeze them, and manage their keys as the account can.

import type { NanoSum } from "../../../core/money.ts";
import type { BudgetsShown } from "../../../money/accounts/budgets.ts";
import type { accountRow, operatorTransactionRow } from "../../../money/accounts/rows.ts";
import type { WholeTransaction } from "../account/answers.ts";
import { budgetsTable } from "../account/budgets.ts";
import { type KeysPlace, keyActs, keysShown } from "../account/keys.ts";
import { type Html, html } from "../html.ts";
import { type Paged, Refused, withQuery } from "../kit/ask.ts";
import { buttonForm, centsIn, postForm, searchForm } from "../kit/forms.ts";
import type { Act, Section, Shown, Visit } from "../kit/sections.ts";
import {
  card,
  dialog,
  dialogLink,
  moneyOfCents,
  nextPage,
  pill,
  secretShown,
  tableOf,
  tiles,
  time,
} from "../kit/shown.ts";
import { TREND_DAYS, trends, type UsageLine } from "../spending.ts";
import { dollars } from "../words.ts";

export type AccountShown = ReturnType<typeof accountRow>;

export interface OperatorLine extends UsageLine {
  readonly upstream_nano_usd: NanoSum;
  readonly absorbed_nano_usd: NanoSum;
  readonly margin_nano_usd: NanoSum;
}

export type AnyTransaction = WholeTransaction & ReturnType<typeof operatorTransactionRow>;

const PATH = "/console/accounts";
/** Each with a line per day: a report has at most a thousand lines. */
const PAGE = "50";
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
  return { path: PATH, acts: { open: openAct }, show: (visit) => accountsShown(visit, epochMs()) };
}

async function accountsShown({ ask, csrf, request }: Visit, nowMs: number): Promise<Shown> {
  const text = (name: string) => (request.query.get(name) ?? "").trim();
  const [cursor, q] = [text("cursor"), text("q")];
  const path = withQuery("/admin/v1/accounts", { limit: PAGE, cursor, q });
  const found = await ask<Paged<"accounts", AccountShown>>("GET", path);
  const ids = found.accounts.map(({ account_id: id }) => id);
  const trend = await trends(ask, "/admin/v1/usage", { by: "account", ids, nowMs });
  const none =
    q === "" ? "There is no account yet. Create one." : "Nothing found. Search for another part of the name.";
  const accounts = tableOf("Accounts", found.accounts, none, {
    Account: (one) =>
      html`<a class="name row" href="${PATH}/${encodeURIComponent(one.account_id)}">${one.name}</a> ${one.kind === "sandbox" ? pill("sandbox", "warn") : ""} ${one.frozen ? pill("frozen", "bad") : ""}<br><code class="soft">${one.account_id}</code>`,
    "Created (UTC)|large": (one) => time(one.created_at),
    [`${TREND_DAYS} days|large`]: (one) => trend(one.account_id),
    "Spent|num large": (one) => moneyOfCents(one.spent_cents),
    "Balance|num": (one) => moneyOfCents(one.balance_cents),
  });
  const open = postForm(
    { action: PATH, csrf, act: "open" },
    [
      { name: "name", label: "Name", required: true },
      { name: "kind", label: "Kind", options: KINDS },
      { name: "credit", label: "Credit", note: "dollars", type: "number" },
    ],
    "Create an account",
  );
  const search = searchForm(PATH, [{ name: "q", label: "Part of a name, an id, or a key's id", value: q }]);
  return {
    title: "Accounts",
    body: html`${dialogLink("new", "Create an account", PATH)}${dialog("new", "Create an account", open, request.query.get("open") === "new")}${search}${card("Accounts", html`${accounts}${nextPage(PATH, { q }, found.next_cursor)}`)}`,
  };
}

const idIn = ({ request }: Visit) => encodeURIComponent(request.params.id ?? "");
const apiOf = (visit: Visit) => `/admin/v1/accounts/${idIn(visit)}`;

function freeze(frozen: boolean, told: string): Act {
  const words = frozen
    ? "All paid calls of this account are refused from now on. Running calls finish and are charged."
    : "This account can make paid calls again.";
  return { told, sure: () => words, run: (visit) => visit.ask("PATCH", apiOf(visit), { frozen }) };
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
  api: apiOf,
  keys: "keys",
  usage: ({ request }) => withQuery("/admin/v1/usage", { account: request.params.id }),
  refused: (keyId) => `/console/calls?status=refused&key=${encodeURIComponent(keyId)}`,
  firstCalls: () => "",
};

function summary(account: AccountShown): Html {
  return tiles([
    ["Balance", moneyOfCents(account.balance_cents), html`of ${moneyOfCents(account.granted_cents)} given`],
    ["Held", moneyOfCents(account.held_cents)],
    ["Spent", moneyOfCents(account.spent_cents)],
    ["Model spending per day", moneyOfCents(account.inference_cap_cents), "cap"],
    ["State", account.frozen ? pill("frozen", "bad") : pill("active", "good"), account.kind],
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
      const { budgets } = await ask<BudgetsShown>("GET", `${apiOf(visit)}/budgets`);
      const keys = await keysShown(visit, KEYS, epochMs());
      const form = { action: request.path, csrf };
      const credit = postForm(
        { ...form, act: "credit" },
        [
          { name: "dollars", label: "Dollars", type: "number", value: "2", required: true },
          { name: "reference", label: "Reference", note: "counts once", value: reference(), required: true },
        ],
        "Add credit",
      );
      const freezing = account.frozen
        ? buttonForm({ ...form, act: "thaw" }, "Unfreeze the account")
        : buttonForm({ ...form, act: "freeze" }, "Freeze the account", { kind: "danger small" });
      const calls = (words: string, status: string) =>
        html`<a href="${withQuery("/console/calls", { status, account: account.account_id })}">${words}</a>`;
      return {
        title: account.name,
        body: html`<p class="lead"><code>${account.account_id}</code>, opened ${time(account.created_at)}</p>${summary(account)}<p>${calls("Transactions", "")} · ${calls("Failed calls", "failed")} · ${calls("Refused calls", "refused")}</p>
<div class="grid">${card("Add credit", credit)}${card("State", freezing)}</div>
${card("Keys", html`${keys.find}${keys.table()}${keys.next}`)}${card("Ceilings", budgetsTable(budgets))}`,
      };
    },
  };
}
