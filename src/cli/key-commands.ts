// Commands for an account's keys.

import { systemClock } from "../core/clock.ts";
import type { keyRow } from "../money/accounts/rows.ts";
import type { WhyShown } from "../money/accounts/why.ts";
import { accountPath } from "./account-commands.ts";
import { allOf } from "./admin-client.ts";
import { type Command, requesting, type Typed } from "./command.ts";
import { ceilingText, listOf, listText, named, PERIOD, RULES, rulesOf } from "./group-commands.ts";
import { pairs, table } from "./text.ts";

type Key = ReturnType<typeof keyRow> & { readonly api_key?: string };

const keysPath = (typed: Typed) => `${accountPath(typed.word("ACCOUNT"))}/keys`;
const keyPath = (typed: Typed) => `${keysPath(typed)}/${encodeURIComponent(typed.word("KEY"))}`;

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
  "ceiling-period": PERIOD,
  services: { value: "LIST", meaning: "services or service/action it may call, by commas; or all, or none" },
  models: { value: "LIST", meaning: "models or tiers it may ask for, by commas; or all, or none" },
  addresses: { value: "LIST", meaning: "addresses and ranges it may be used from, by commas; or all" },
  group: { value: "GROUP", meaning: "the group that it is in; or none" },
  ...RULES,
  "expires-at": { value: "TIME", meaning: "when it stops working, such as 2027-01-31T12:00:00Z; or never" },
};

/** The typed limits of a key; others are absent. */
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

const create = requesting<Key>({
  name: "key create",
  takes: ["ACCOUNT"],
  options: {
    label: { value: "TEXT", meaning: "what it is for" },
    ...LIMITS,
    "external-id": { value: "TEXT", meaning: "your own name for it, unique in the account" },
  },
  summary: "Makes an agent key and shows it, once",
  request(typed) {
    const body = { label: typed.text("label"), external_id: typed.text("external-id"), ...limitsOf(typed) };
    return ["POST", keysPath(typed), body];
  },
  shown: secretText,
});

const list: Command = {
  name: "key list",
  takes: ["ACCOUNT"],
  summary: "Lists an account's keys",
  async run(typed, { admin, columns }) {
    const keys = await allOf<Key>(admin, keysPath(typed), "keys");
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

const limit = requesting<Key>({
  name: "key limit",
  takes: ["ACCOUNT", "KEY"],
  options: LIMITS,
  summary: "Changes what an agent key may spend and call, and until when; running gateways obey at once",
  request: (typed) => ["PATCH", keyPath(typed), named(limitsOf(typed))],
  shown: (key) => pairs([["id", key.id], ...limitPairs(key)]),
});

const pausing = (name: string, paused: boolean, summary: string) =>
  requesting<Key>({
    name,
    takes: ["ACCOUNT", "KEY"],
    summary,
    request: (typed) => ["PATCH", keyPath(typed), { paused }],
    shown: (key) => `${key.id} is ${key.paused ? "paused" : "active"}.`,
  });

const rotate = requesting<Key>({
  name: "key rotate",
  takes: ["ACCOUNT", "KEY"],
  options: {
    "overlap-seconds": {
      value: "SECONDS",
      meaning: "how long the old secret stays good beside the new one; 0 by itself",
    },
  },
  summary: "Swaps a key's secret; the old one stops at once, or after an overlap",
  request: (typed) => ["POST", `${keyPath(typed)}/rotate`, { overlap_seconds: typed.number("overlap-seconds") }],
  shown: secretText,
});

function whyText({ key_id: id, label, reasons, bounded_by: bound, recent = [] }: WhyShown): string {
  const refused = reasons.map(
    ({ code, message, hint, until }) => `- ${code}: ${message} ${until === undefined ? hint : `Until ${until}.`}`,
  );
  const rows = recent.map(({ at, status, code, asked, reason }) =>
    [at, status, code, asked, reason].map((value) => String(value ?? "-")),
  );
  return [
    `${id} (${label}) ${reasons.length === 0 ? "may call; nothing refuses it." : "is refused:"}`,
    ...refused,
    `The most that one call may cost now: ${bound}.`,
    rows.length === 0
      ? "No call of it was refused or failed lately."
      : table(["WHEN", "STATUS", "CODE", "ASKED", "REASON"], rows),
  ].join("\n");
}

const why = requesting<WhyShown>({
  name: "key why",
  takes: ["ACCOUNT", "KEY"],
  options: {
    model: { value: "NAME", meaning: "whether it may ask for this model or tier" },
    action: { value: "SERVICE/ACTION", meaning: "whether it may call this action" },
    address: { value: "ADDRESS", meaning: "whether it may be used from this address" },
  },
  summary: "Says why calls of a key are refused, or would be, and what its last refused calls were told",
  request(typed) {
    const asked = ["model", "action", "address"].flatMap((name) => {
      const value = typed.text(name);
      return value === undefined ? [] : [[name, value] as const];
    });
    const query = asked.length === 0 ? "" : `?${new URLSearchParams(Object.fromEntries(asked))}`;
    return ["GET", `${keyPath(typed)}/why${query}`];
  },
  shown: whyText,
});

const revoke = requesting({
  name: "key revoke",
  takes: ["ACCOUNT", "KEY"],
  summary: "Revokes a key for good",
  request: (typed) => ["DELETE", keyPath(typed)],
  shown: (_answer, typed) => `${typed.word("KEY")} is revoked.`,
});

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
