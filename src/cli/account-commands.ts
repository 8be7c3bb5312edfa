// Commands on accounts: open, look, limit, freeze, credit, refund.
import type { accountRow } from "../accounts/rows.ts";
import { type Command, type Typed, UsageError, type Workplace } from "./command.ts";
import { firstCallText } from "./first-call.ts";
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

const create: Command = {
  name: "account create",
  takes: [],
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

interface AccountsPage {
  readonly accounts: readonly Account[];
  /** Missing where the gateway is of a release that listed all at once. */
  readonly next_cursor?: string | null;
}

const list: Command = {
  name: "account list",
  takes: [],
  options: {},
  summary: "Lists all accounts",
  async run(_typed, { admin, columns }) {
    const accounts: Account[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const query: string = cursor === "" ? "" : `?cursor=${cursor}`;
      const page: AccountsPage = await admin.call("GET", `/admin/v1/accounts${query}`);
      accounts.push(...page.accounts);
      cursor = page.next_cursor ?? null;
    }
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

const show: Command = {
  name: "account show",
  takes: ["ACCOUNT"],
  options: {},
  summary: "Shows an account",
  async run(typed, { admin }) {
    const json = await admin.call<Account>("GET", accountPath(typed.word("ACCOUNT")));
    return { json, text: accountText(json) };
  },
};

function switchOf(typed: Typed, option: string): boolean | undefined {
  const text = typed.text(option);
  if (text === undefined || text === "on" || text === "off") return text === undefined ? undefined : text === "on";
  throw new UsageError(`--${option} must be on or off`);
}

const limit: Command = {
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
  async run(typed, { admin }) {
    const [cap, rate, inFlight] = ["inference-cap-cents", "requests-per-minute", "in-flight"].map((option) =>
      typed.number(option),
    );
    const json = await admin.call<Account>("PATCH", accountPath(typed.word("ACCOUNT")), {
      inference_cap_cents: cap,
      rate_limit: { requests_per_minute: rate, in_flight: inFlight },
      strict_bounds: switchOf(typed, "strict-bounds"),
    });
    return { json, text: accountText(json) };
  },
};

async function setFrozen(frozen: boolean, typed: Typed, { admin }: Workplace) {
  const json = await admin.call<Account>("PATCH", accountPath(typed.word("ACCOUNT")), { frozen });
  return { json, text: `${json.account_id} is ${json.frozen ? "frozen" : "active"}.` };
}

const freeze: Command = {
  name: "freeze",
  takes: ["ACCOUNT"],
  options: {},
  summary: "Stops all paid calls of an account",
  run: (typed, place) => setFrozen(true, typed, place),
};

const unfreeze: Command = {
  name: "unfreeze",
  takes: ["ACCOUNT"],
  options: {},
  summary: "Lets an account pay again",
  run: (typed, place) => setFrozen(false, typed, place),
};

const credit: Command = {
  name: "credit",
  takes: ["ACCOUNT"],
  options: {
    cents: { value: "CENTS", required: true, meaning: "how much" },
    reference: { value: "TEXT", required: true, meaning: "what it was paid with; the same reference counts once" },
  },
  summary: "Adds credit to an account",
  async run(typed, { admin }) {
    const body = { cents: typed.number("cents"), reference: typed.text("reference") };
    const path = `${accountPath(typed.word("ACCOUNT"))}/credits`;
    const json = await admin.call<{ balance_cents: number; repeated: boolean }>("POST", path, body);
    const done = json.repeated ? "This reference was credited before; nothing was added." : "Credited.";
    return { json, text: `${done} The balance is ${usd(json.balance_cents)}.` };
  },
};

const refund: Command = {
  name: "refund",
  takes: ["TRANSACTION"],
  options: { reason: { value: "TEXT", required: true, meaning: "kept with the refund" } },
  summary: "Gives a charge back, once",
  async run(typed, { admin }) {
    const path = `/admin/v1/transactions/${encodeURIComponent(typed.word("TRANSACTION"))}/refund`;
    const json = await admin.call<{ refunded_usd: string; refund_id: string; repeated: boolean }>("POST", path, {
      reason: typed.text("reason"),
    });
    const done = json.repeated ? "It had been refunded before" : "Refunded";
    return { json, text: `${done}: ${json.refunded_usd} USD, transaction ${json.refund_id}.` };
  },
};

export const ACCOUNT_COMMANDS: readonly Command[] = [create, list, show, limit, freeze, unfreeze, credit, refund];
