// Commands on an account's keys.
import { accountPath } from "./account-commands.ts";
import type { Command, Typed, Workplace } from "./command.ts";
import { pairs, table } from "./text.ts";

interface Key {
  readonly id: string;
  readonly label: string;
  readonly external_id: string | null;
  readonly primary: boolean;
  readonly hint: string;
  readonly paused: boolean;
  readonly ceiling_cents: number | null;
  readonly ceiling_period: string | null;
  readonly spent_cents: number;
  readonly last_used_at: string | null;
  readonly api_key?: string;
}

function keyPath(typed: Typed): string {
  return `${accountPath(typed.word("ACCOUNT"))}/keys/${encodeURIComponent(typed.word("KEY"))}`;
}

function ceilingText(key: Key): string {
  return key.ceiling_cents === null ? "none" : `${(key.ceiling_cents / 100).toFixed(2)} USD a ${key.ceiling_period}`;
}

function secretText(key: Key): string {
  return pairs([
    ["id", key.id],
    ["key", `${key.api_key}  (shown this once)`],
    ["label", key.label],
    ["ceiling", ceilingText(key)],
  ]);
}

const create: Command = {
  name: "key create",
  takes: ["ACCOUNT"],
  options: {
    label: { value: "TEXT", meaning: "what it is for" },
    "ceiling-cents": { value: "CENTS", meaning: "most it may spend in a period" },
    "ceiling-period": { value: "day|week|month", meaning: "the period, month without it" },
    "external-id": { value: "TEXT", meaning: "your own name for it, unique in the account" },
  },
  summary: "Makes an agent key and shows it, once",
  async run(typed, { admin }) {
    const json = await admin.call<Key>("POST", `${accountPath(typed.word("ACCOUNT"))}/keys`, {
      label: typed.text("label"),
      ceiling_cents: typed.number("ceiling-cents"),
      ceiling_period: typed.text("ceiling-period"),
      external_id: typed.text("external-id"),
    });
    return { json, text: secretText(json) };
  },
};

const list: Command = {
  name: "key list",
  takes: ["ACCOUNT"],
  options: {},
  summary: "Lists an account's keys",
  async run(typed, { admin }) {
    const { keys } = await admin.call<{ keys: Key[] }>("GET", accountPath(typed.word("ACCOUNT")));
    const rows = keys.map((key) => [
      key.id,
      key.primary ? `${key.label} *` : key.label,
      key.hint,
      key.paused ? "paused" : "active",
      ceilingText(key),
      (key.spent_cents / 100).toFixed(2),
      key.last_used_at ?? "never",
    ]);
    const heading = ["KEY", "LABEL (* PRIMARY)", "HINT", "STATE", "CEILING", "SPENT USD", "LAST USED"];
    return { json: { keys }, text: table(heading, rows) };
  },
};

function pausing(name: string, paused: boolean, summary: string): Command {
  return {
    name,
    takes: ["ACCOUNT", "KEY"],
    options: {},
    summary,
    async run(typed: Typed, { admin }: Workplace) {
      const json = await admin.call<Key>("PATCH", keyPath(typed), { paused });
      return { json, text: `${json.id} is ${json.paused ? "paused" : "active"}.` };
    },
  };
}

const rotate: Command = {
  name: "key rotate",
  takes: ["ACCOUNT", "KEY"],
  options: {},
  summary: "Swaps a key's secret; the old one stops at once",
  async run(typed, { admin }) {
    const json = await admin.call<Key>("POST", `${keyPath(typed)}/rotate`);
    return { json, text: secretText(json) };
  },
};

const revoke: Command = {
  name: "key revoke",
  takes: ["ACCOUNT", "KEY"],
  options: {},
  summary: "Revokes a key for good",
  async run(typed, { admin }) {
    const json = await admin.call("DELETE", keyPath(typed));
    return { json, text: `${typed.word("KEY")} is revoked.` };
  },
};

export const KEY_COMMANDS: readonly Command[] = [
  create,
  list,
  pausing("key pause", true, "Refuses every paid call of a key until it is resumed"),
  pausing("key resume", false, "Lets a paused key pay again"),
  rotate,
  revoke,
];
