// Commands for accounts: open, show, limit, freeze, credit, refund.
import type { Setup } from "../gateway/setup.ts";
import type { accountRow } from "../money/accounts/rows.ts";
import { type AdminClient, allOf } from "./admin-client.ts";
import { type Command, CommandError, requesting, type Typed, UsageError } from "./command.ts";
import { pairs, table, usd } from "./text.ts";

type Account = ReturnType<typeof accountRow>;

export function accountPath(accountId: string): string {
  return `/admin/v1/accounts/${encodeURIComponent(accountId)}`;
}

function accountText(account: Account): string {
  return pairs([
    ["account", account.account_id],
    ["name", account.name],
    ["kind", account.kind],
    ["state", account.frozen ? "frozen" : "active"],
    ["balance", usd(account.balance_cents)],
    ["held", usd(account.held_cents)],
    ["spent", usd(account.spent_cents)],
    ["a day on models", usd(account.inference_cap_cents)],
    ["requests a minute", String(account.rate_limit.requests_per_minute)],
    ["calls in flight", String(account.rate_limit.in_flight)],
    ["bounds", account.strict_bounds ? "strict: its calls have cost more than they held" : "usual"],
    ["created", account.created_at],
  ]);
}

function kindOf(typed: Typed): "sandbox" | "business" | "personal" {
  if (typed.flag("sandbox") && typed.flag("business"))
    throw new UsageError("--sandbox and --business exclude each other");
  if (typed.flag("sandbox")) return "sandbox";
  return typed.flag("business") ? "business" : "personal";
}

/** A model to call, and a note where it is only a placeholder; null: none is available. */
function modelOf(setup: Setup, sandbox: boolean): { readonly model: string; readonly word: string } | null {
  if (sandbox && setup.tiers[0] !== undefined) return { model: `core/${setup.tiers[0].id}`, word: "" };
  if (setup.first_model !== null) return { model: setup.first_model, word: "" };
  const any = setup.providers.find(({ on, serves_any }) => on && serves_any);
  if (any === undefined) return null;
  return { model: `${any.id}/MODEL`, word: `(MODEL: \`tollgate check --provider ${any.id}\` lists what it serves.)` };
}

/** A call to paste, below a new key; empty where the gateway does not say enough. */
async function firstCallText(admin: AdminClient, key: string, sandbox: boolean): Promise<string> {
  const setup = await admin.call<Setup>("GET", "/admin/v1/providers").catch((error: unknown) => {
    if (error instanceof CommandError) return null;
    throw error;
  });
  if (setup === null) return "";
  const found = modelOf(setup, sandbox);
  if (found === null) return "\n\nNo provider of models is configured yet: `tollgate config` lists the variables.";
  const body = { model: found.model, messages: [{ role: "user", content: "Hello" }] };
  const lines = [
    `curl ${setup.url}/api/llm/v1/chat/completions \\`,
    `  -H 'Authorization: Bearer ${key}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(body)}'`,
  ];
  return ["", "", "A first call:", "", ...lines, ...(found.word === "" ? [] : ["", found.word])].join("\n");
}

const create: Command = {
  name: "account create",
  options: {
    name: { value: "NAME", required: true, meaning: "whose account it is" },
    "credit-cents": { value: "CENTS", meaning: "credit to begin with, instead of the welcome credit" },
    sandbox: { value: null, meaning: "play credit; its calls never reach a vendor" },
    business: { value: null, meaning: "the larger welcome credit" },
  },
  summary: "Opens an account and shows its primary key, once",
  async run(typed, { admin }) {
    const credit = typed.number("credit-cents");
    const json = await admin.call<{ account_id: string; api_key: string; balance_cents: number }>(
      "POST",
      "/admin/v1/accounts",
      { name: typed.text("name"), kind: kindOf(typed), ...(credit === undefined ? {} : { credit_cents: credit }) },
    );
    const text = pairs([
      ["account", json.account_id],
      ["key", `${json.api_key}  (shown this once)`],
      ["balance", usd(json.balance_cents)],
    ]);
    return { json, text: text + (await firstCallText(admin, json.api_key, kindOf(typed) === "sandbox")) };
  },
};

const list: Command = {
  name: "account list",
  summary: "Lists all accounts",
  async run(_typed, { admin, columns }) {
    const accounts = await allOf<Account>(admin, "/admin/v1/accounts", "accounts");
    const json = { accounts };
    const rows = accounts.map((account) => [
      account.account_id,
      account.name,
      account.kind,
      account.frozen ? "frozen" : "active",
      (account.balance_cents / 100).toFixed(2),
      (account.spent_cents / 100).toFixed(2),
    ]);
    return { json, text: table(["ACCOUNT", "NAME", "KIND", "STATE", "BALANCE USD", "SPENT USD"], rows, columns) };
  },
};

const show = requesting<Account>({
  name: "account show",
  takes: ["ACCOUNT"],
  summary: "Shows an account",
  request: (typed) => ["GET", accountPath(typed.word("ACCOUNT"))],
  shown: accountText,
});

function switchOf(typed: Typed, option: string): boolean | undefined {
  const text = typed.text(option);
  if (text === undefined || text === "on" || text === "off") return text === undefined ? undefined : text === "on";
  throw new UsageError(`--${option} must be on or off`);
}

const limit = requesting<Account>({
  name: "account limit",
  takes: ["ACCOUNT"],
  options: {
    "inference-cap-cents": { value: "CENTS", meaning: "most it may spend on models in a UTC day" },
    "requests-per-minute": { value: "COUNT", meaning: "requests it may make in a minute" },
    "in-flight": { value: "COUNT", meaning: "paid calls it may have running at once" },
    "strict-bounds": {
      value: "on|off",
      meaning: "whether its holds are made from bytes; off clears what its calls did",
    },
  },
  summary: "Changes what an account may do; running gateways obey at once",
  request(typed) {
    const change = {
      inference_cap_cents: typed.number("inference-cap-cents"),
      rate_limit: { requests_per_minute: typed.number("requests-per-minute"), in_flight: typed.number("in-flight") },
      strict_bounds: switchOf(typed, "strict-bounds"),
    };
    return ["PATCH", accountPath(typed.word("ACCOUNT")), change];
  },
  shown: accountText,
});

const freezing = (name: string, frozen: boolean, summary: string) =>
  requesting<Account>({
    name,
    takes: ["ACCOUNT"],
    summary,
    request: (typed) => ["PATCH", accountPath(typed.word("ACCOUNT")), { frozen }],
    shown: (account) => `${account.account_id} is ${account.frozen ? "frozen" : "active"}.`,
  });

const credit = requesting<{ balance_cents: number; repeated: boolean }>({
  name: "credit",
  takes: ["ACCOUNT"],
  options: {
    cents: { value: "CENTS", required: true, meaning: "how much" },
    reference: { value: "TEXT", required: true, meaning: "what it was paid with; the same reference counts once" },
  },
  summary: "Adds credit to an account",
  request(typed) {
    const body = { cents: typed.number("cents"), reference: typed.text("reference") };
    return ["POST", `${accountPath(typed.word("ACCOUNT"))}/credits`, body];
  },
  shown({ balance_cents, repeated }) {
    const done = repeated ? "This reference was credited before; nothing was added." : "Credited.";
    return `${done} The balance is ${usd(balance_cents)}.`;
  },
});

const refund = requesting<{ refunded_usd: string; refund_id: string; repeated: boolean }>({
  name: "refund",
  takes: ["TRANSACTION"],
  options: { reason: { value: "TEXT", required: true, meaning: "kept with the refund" } },
  summary: "Gives a charge back, once",
  request(typed) {
    const path = `/admin/v1/transactions/${encodeURIComponent(typed.word("TRANSACTION"))}/refund`;
    return ["POST", path, { reason: typed.text("reason") }];
  },
  shown({ refunded_usd, refund_id, repeated }) {
    const done = repeated ? "It had been refunded before" : "Refunded";
    return `${done}: ${refunded_usd} USD, transaction ${refund_id}.`;
  },
});

export const ACCOUNT_COMMANDS: readonly Command[] = [
  create,
  list,
  show,
  limit,
  freezing("freeze", true, "Stops all paid calls of an account"),
  freezing("unfreeze", false, "Lets an account pay again"),
  credit,
  refund,
];
