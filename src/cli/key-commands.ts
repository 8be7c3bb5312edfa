// Commands on an account's keys.
import type { keyRow } from "../accounts/rows.ts";
import type { WhyShown } from "../accounts/why.ts";
import { systemClock } from "../clock.ts";
import { accountPath } from "./account-commands.ts";
import { type Command, type Typed, UsageError, type Workplace } from "./command.ts";
import { RULES, rulesOf } from "./group-commands.ts";
import { pairs, table } from "./text.ts";

type Key = ReturnType<typeof keyRow> & { readonly api_key?: string };

function keyPath(typed: Typed): string {
  return `${accountPath(typed.word("ACCOUNT"))}/keys/${encodeURIComponent(typed.word("KEY"))}`;
}

function ceilingText(key: Key): string {
  return key.ceiling_cents === null ? "none" : `${(key.ceiling_cents / 100).toFixed(2)} USD a ${key.ceiling_period}`;
}

function listText(list: readonly string[] | null): string {
  if (list === null) return "all";
  return list.length === 0 ? "none" : list.join(", ");
}

function limitPairs(key: Key): readonly (readonly [name: string, value: string])[] {
  return [
    ["label", key.label],
    ["ceiling", ceilingText(key)],
    ["services", listText(key.services)],
    ["models", listText(key.models)],
    ["addresses", listText(key.addresses)],
    ["group", key.group ?? "none"],
    ...(key.old_secret_until === null ? [] : [["old secret until", key.old_secret_until] as const]),
    ["expires", key.expires_at ?? "never"],
  ];
}

function secretText(key: Key): string {
  return pairs([["id", key.id], ["key", `${key.api_key}  (shown this once)`], ...limitPairs(key)]);
}

function stateText(key: Key): string {
  if (key.expires_at !== null && Date.parse(key.expires_at) <= systemClock.epochMs()) return "expired";
  return key.paused ? "paused" : "active";
}

const LIMITS = {
  "ceiling-cents": { value: "CENTS", meaning: "most it may spend in a period; or none" },
  "ceiling-period": { value: "day|week|month", meaning: "the period, month without it" },
  services: { value: "LIST", meaning: "services or service/action it may call, by commas; or all, or none" },
  models: { value: "LIST", meaning: "models or tiers it may ask for, by commas; or all, or none" },
  addresses: { value: "LIST", meaning: "addresses and ranges it may be used from, by commas; or all" },
  group: { value: "GROUP", meaning: "the group that it is in; or none" },
  ...RULES,
  "expires-at": { value: "TIME", meaning: "when it stops working, such as 2027-01-31T12:00:00Z; or never" },
};

/** A list by commas as the API wants it: null for `all`, empty for `none`. */
function listOf(typed: Typed, option: string): readonly string[] | null | undefined {
  const text = typed.text(option);
  if (text === undefined || text === "all") return text === undefined ? undefined : null;
  return text === "none" ? [] : text.split(",").map((entry) => entry.trim());
}

/** What of a key's limits was typed; the rest is left out. */
function limitsOf(typed: Typed) {
  const expires = typed.text("expires-at");
  return {
    ceiling_cents: typed.text("ceiling-cents") === "none" ? null : typed.number("ceiling-cents"),
    ceiling_period: typed.text("ceiling-period"),
    services: listOf(typed, "services"),
    models: listOf(typed, "models"),
    addresses: listOf(typed, "addresses"),
    expires_at: expires === "never" ? null : expires,
    group: typed.text("group") === "none" ? null : typed.text("group"),
    ...rulesOf(typed),
  };
}

const create: Command = {
  name: "key create",
  takes: ["ACCOUNT"],
  options: {
    label: { value: "TEXT", meaning: "what it is for" },
    ...LIMITS,
    "external-id": { value: "TEXT", meaning: "your own name for it, unique in the account" },
  },
  summary: "Makes an agent key and shows it, once",
  async run(typed, { admin }) {
    const json = await admin.call<Key>("POST", `${accountPath(typed.word("ACCOUNT"))}/keys`, {
      label: typed.text("label"),
      external_id: typed.text("external-id"),
      ...limitsOf(typed),
    });
    return { json, text: secretText(json) };
  },
};

const list: Command = {
  name: "key list",
  takes: ["ACCOUNT"],
  options: {},
  summary: "Lists an account's keys",
  async run(typed, { admin, columns }) {
    const keys: Key[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const path: string = `${accountPath(typed.word("ACCOUNT"))}/keys${cursor === "" ? "" : `?cursor=${cursor}`}`;
      const page = await admin.call<{ keys: Key[]; next_cursor: string | null }>("GET", path);
      keys.push(...page.keys);
      cursor = page.next_cursor;
    }
    const rows = keys.map((key) => [
      key.id,
      key.primary ? `${key.label} *` : key.label,
      key.hint,
      stateText(key),
      ceilingText(key),
      (key.spent_cents / 100).toFixed(2),
      key.last_used_at ?? "never",
      listText(key.services),
      listText(key.models),
      key.group ?? "none",
      key.expires_at ?? "never",
    ]);
    const known = ["KEY", "LABEL (* PRIMARY)", "HINT", "STATE", "CEILING", "SPENT USD", "LAST USED"];
    return { json: { keys }, text: table([...known, "SERVICES", "MODELS", "GROUP", "EXPIRES"], rows, columns) };
  },
};

const limit: Command = {
  name: "key limit",
  takes: ["ACCOUNT", "KEY"],
  options: LIMITS,
  summary: "Changes what an agent key may spend and call, and until when; running gateways obey at once",
  async run(typed, { admin }) {
    const limits = limitsOf(typed);
    if (Object.values(limits).every((value) => value === undefined)) throw new UsageError("Name what is to change.");
    const json = await admin.call<Key>("PATCH", keyPath(typed), limits);
    return { json, text: pairs([["id", json.id], ...limitPairs(json)]) };
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
  options: {
    "overlap-seconds": {
      value: "SECONDS",
      meaning: "how long the old secret stays good beside the new one; 0 by itself",
    },
  },
  summary: "Swaps a key's secret; the old one stops at once, or after an overlap",
  async run(typed, { admin }) {
    const json = await admin.call<Key>("POST", `${keyPath(typed)}/rotate`, {
      overlap_seconds: typed.number("overlap-seconds"),
    });
    return { json, text: secretText(json) };
  },
};

function whyText({ key_id: id, label, reasons, bounded_by: bound, recent = [] }: WhyShown): string {
  const refused = reasons.map(
    ({ code, message, hint, until }) => `- ${code}: ${message} ${until === undefined ? hint : `Until ${until}.`}`,
  );
  const rows = recent.map(({ at, status, code, asked, message }) =>
    [at, status, code, asked, message].map((value) => String(value ?? "-")),
  );
  return [
    `${id} (${label}) ${reasons.length === 0 ? "may call; nothing refuses it." : "is refused:"}`,
    ...refused,
    `The most that one call may cost now: ${bound}.`,
    rows.length === 0
      ? "No call of it was refused or failed lately."
      : table(["WHEN", "STATUS", "CODE", "ASKED", "WHY"], rows),
  ].join("\n");
}

const why: Command = {
  name: "key why",
  takes: ["ACCOUNT", "KEY"],
  options: {
    model: { value: "NAME", meaning: "whether it may ask for this model or tier" },
    action: { value: "SERVICE/ACTION", meaning: "whether it may call this action" },
    address: { value: "ADDRESS", meaning: "whether it may be used from this address" },
  },
  summary: "Says why calls of a key are refused, or would be, and what its last refused calls were told",
  async run(typed, { admin }) {
    const asked = ["model", "action", "address"].flatMap((name) => {
      const value = typed.text(name);
      return value === undefined ? [] : [[name, value] as const];
    });
    const query = asked.length === 0 ? "" : `?${new URLSearchParams(Object.fromEntries(asked))}`;
    const json = await admin.call<WhyShown>("GET", `${keyPath(typed)}/why${query}`);
    return { json, text: whyText(json) };
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
  limit,
  pausing("key pause", true, "Refuses every paid call of a key until it is resumed"),
  pausing("key resume", false, "Lets a paused key pay again"),
  rotate,
  why,
  revoke,
];
