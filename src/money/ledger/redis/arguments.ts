// The arguments of each script, in order. One list builds the arguments and the names by which Lua reads them.

/** The first arguments of every script that needs the time. */
const TIME = ["gateway", "leapt", "given"] as const;
const POST = ["hold_id", "amount", "upstream", "beside", "detail", "absorb_reason"] as const;
const IDEMPOTENCY = ["idempotency", "fingerprint", "keep_ms", "effect"] as const;
const NEW_KEY = ["key_id", "profile", "ceiling", "period", "external"] as const;

export const ARGUMENTS = {
  /** Followed by scope, maximum and code of each slot. */
  reserve: [
    ...(["hold_id", "key_id", "amount", "lease_ms", "inference", "meta", "idempotency", "fingerprint"] as const),
    ...(["keep_ms", "window_limit", "window_seconds", "effect", "on_expire"] as const),
  ],
  extend: ["hold_id", "amount", "accrued", "lease_ms"],
  standing: ["hold_id"],
  /** Followed by the holds' ids. */
  renew: ["lease_ms"],
  post: POST,
  settle_orphan: [...POST, "key_id", "inference", "meta", "placed_at", "placed_amount", ...IDEMPOTENCY, "why"],
  void: ["hold_id", "fate", "upstream", "meta", "placed_at", ...IDEMPOTENCY],
  state: ["hold_id"],
  overdue: ["count"],
  expire: ["hold_id", "detail"],
  open: [
    ...(["credit_id", "credit", "credit_detail", "name", "kind", "cap", "rpm", "in_flight"] as const),
    ...([...NEW_KEY, "about"] as const),
  ],
  create_key: [...NEW_KEY, "keys_max"],
  write_key: [
    ...(["key_id", "profile_before", "paused_before", "ceiling_before", "period_before"] as const),
    ...(["profile", "paused", "ceiling", "period"] as const),
  ],
  delete_key: ["key_id", "external"],
  credit: ["id", "kind", "amount", "reference", "detail"],
  note: ["account", "lease_ms"],
  looked: ["account", "score", "next_end"],
  due: ["count"],
  archivable: ["count", "age_ms", "kept", "least_age_ms"],
  trim: ["from", "to"],
  archive_due: ["count"],
  archive_looked: ["account", "score", "next_look"],
  exporter: ["who", "ms"],
  first_end: [],
  told: [],
  /** Followed by the texts of the events. */
  drop_told: [],
  /** Followed by names and values of fields. */
  write_account: [],
} as const;

/** One script each. */
export type Transition = keyof typeof ARGUMENTS;

/** Scripts that do not depend on a clock. */
export const TIMELESS: readonly string[] = [
  ...(["write_key", "delete_key", "exporter", "standing"] satisfies Transition[]),
  ...(["first_end", "told", "drop_told", "write_account"] satisfies Transition[]),
];

export type Given<Name extends Transition> = Readonly<Record<(typeof ARGUMENTS)[Name][number], string | number>>;

/** A script's arguments after the time, in order. */
export function argumentsOf<Name extends Transition>(name: Name, given: Given<Name>): (string | number)[] {
  const names: readonly (typeof ARGUMENTS)[Name][number][] = ARGUMENTS[name];
  return names.map((argument) => given[argument]);
}

/** A Lua table for each script: `A[RESERVE.amount]` is the argument `amount`; the list arguments begin at `A[RESERVE.rest]`. */
export function argumentsLua(): string {
  const table = (name: string, names: readonly string[]) =>
    `local ${name} = { ${names.map((argument, at) => `${argument} = ${at + 1}`).join(", ")} }\n`;
  const scripts = Object.entries(ARGUMENTS).map(([name, names]) =>
    names.length === 0 ? "" : table(name.toUpperCase(), [...(TIMELESS.includes(name) ? [] : TIME), ...names, "rest"]),
  );
  return table("TIME", TIME) + scripts.join("");
}
