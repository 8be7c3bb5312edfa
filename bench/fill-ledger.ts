// Fills a ledger file with accounts and a month of their calls, exactly as the store would have; SQLite writes the rows.
import { DatabaseSync } from "node:sqlite";
import { mintKey } from "../src/money/accounts/secrets.ts";
import { LEDGER_SCHEMA } from "../src/money/ledger/sqlite/schema.ts";
import { migrate } from "../src/platform/storage/sqlite-unit.ts";

export const DAY_MS = 86_400_000;
export const FILLED_DAYS = 30;
/** Consecutive calls of an account, between calls of others. */
const BURST = 3;
/** The most accounts whose bursts overlap. */
const WINDOW_MAX = 1_000;
const BATCH = 300_000;
const CREDIT_NANO = 10_000_000_000_000;
const CALLS_MAX = 10_000_000;
/** The usage of each charge. */
export const USAGE = `{"inputTokens":1000,"cacheReadTokens":0,"cacheWriteTokens":0,"outputTokens":200,"reasoningTokens":0}`;
const UPSTREAM_NANO = 1_000_000;
const MODELS = 20;
const VENDORS = 4;

/** The schema before reports had sums: the store's first start adds them up. */
const SCHEMA_STEPS = 4;

export interface Fill {
  readonly accounts: number;
  /** Approximate count of credits and charges: each account has one credit and whole bursts of charges. */
  readonly postings: number;
  /** The start of the first day with charges; accounts were opened a day earlier. */
  readonly startMs: number;
  /** Accounts whose keys callers know. */
  readonly known: number;
}

export interface KnownAccount {
  readonly accountId: string;
  readonly keyId: string;
  readonly secret: string;
}

export interface Filled {
  readonly accounts: number;
  readonly postings: number;
  /** Spread evenly over the calling order. */
  readonly known: readonly KnownAccount[];
}

/** The place of charge `n`, as SQL for SQLite and PostgreSQL: its account, its index there, its time and its model. */
export function chargePlaces({ accounts, bursts, startMs }: { accounts: number; bursts: number; startMs: number }) {
  const window = accounts % WINDOW_MAX === 0 ? WINDOW_MAX : accounts;
  const perWindow = BURST * window;
  const windows = (accounts * bursts) / window;
  const windowsPerDay = Math.ceil(windows / FILLED_DAYS);
  const windowMs = Math.floor(DAY_MS / windowsPerDay);
  /** The window of a burst or a charge; the burst of a charge. */
  const burst = `(n / ${perWindow} * ${window} + n % ${perWindow} % ${window})`;
  const dayOf = (w: string) => `(${startMs / DAY_MS} + (${w}) / ${windowsPerDay})`;
  return {
    charges: accounts * bursts * BURST,
    account: `(${burst} % ${accounts})`,
    /** Its index within the account, from 0. */
    place: `(${burst} / ${accounts} * ${BURST} + n % ${perWindow} / ${window})`,
    /** The account's previous charge, where `place` is not 0. */
    before: `CASE WHEN n % ${perWindow} >= ${window} THEN n - ${window}
      ELSE (${burst} - ${accounts}) / ${window} * ${perWindow} + ${(BURST - 1) * window} + (${burst} - ${accounts}) % ${window} END`,
    /** The last charge of burst `b` of account `a`, and its day. */
    lastOf: (a: string, b: string) =>
      `((${b} * ${accounts} + ${a}) / ${window} * ${perWindow} + ${(BURST - 1) * window} + (${b} * ${accounts} + ${a}) % ${window})`,
    dayOfBurst: (a: string, b: string) => dayOf(`(${b} * ${accounts} + ${a}) / ${window}`),
    /** A burst lies within one day, and times never decrease. */
    createdAt: `(${dayOf(`n / ${perWindow}`)} * ${DAY_MS} + n / ${perWindow} % ${windowsPerDay} * ${windowMs} + n % ${perWindow} * ${windowMs} / ${perWindow})`,
    day: dayOf(`n / ${perWindow}`),
    model: `('maker/model-' || (n * 31 % ${MODELS}))`,
    vendor: `('vendor-' || (n * 31 % ${MODELS} % ${VENDORS}))`,
  };
}

/** Whole bursts per account, to match the requested counts. */
export function burstsOf({ accounts, postings }: Pick<Fill, "accounts" | "postings">): number {
  return Math.max(0, Math.round((postings / accounts - 1) / BURST));
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Ids in the gateway's form, the same in every run. */
function idMaker() {
  let seed = 0x2545f491;
  const random = (length: number) => {
    let text = "";
    for (let at = 0; at < length; at++) {
      seed ^= seed << 13;
      seed ^= seed >>> 17;
      seed ^= seed << 5;
      text += ALPHABET[(seed >>> 0) % 62];
    }
    return text;
  };
  const time = (ms: number) => {
    let text = "";
    for (let [at, rest] = [0, ms]; at < 7; at++, rest = Math.floor(rest / 62)) text = ALPHABET[rest % 62] + text;
    return text;
  };
  return { random, ofCall: (ms: number) => time(ms) + random(13) };
}

/** The cost of an account's calls: one of a thousand amounts. */
const amount = (a: string) => `(1234567 + ${a} % 1000)`;
const cents = (nano: string) => `((${nano} + 9999999) / 10000000)`;

/** Writes accounts into a temporary table, and makes the keys of the known ones. */
function nameAccounts(database: DatabaseSync, { accounts, known }: Fill, ids: ReturnType<typeof idMaker>) {
  database.exec(
    "CREATE TEMP TABLE who (a INTEGER PRIMARY KEY, account_id TEXT NOT NULL, key_id TEXT NOT NULL, secret_hash TEXT NOT NULL, hint TEXT NOT NULL)",
  );
  const insert = database.prepare("INSERT INTO who VALUES (?, ?, ?, ?, ?)");
  const knownAccounts: KnownAccount[] = [];
  const step = Math.max(1, Math.floor(accounts / known));
  database.exec("BEGIN");
  for (let a = 0; a < accounts; a++) {
    const [accountId, keyId] = [`acct_${ids.random(21)}`, `key_${ids.random(21)}`];
    if (a % step === 0 && knownAccounts.length < known) {
      const { secret, secretHash, hint } = mintKey(false);
      knownAccounts.push({ accountId, keyId, secret });
      insert.run(a, accountId, keyId, secretHash, hint);
    } else insert.run(a, accountId, keyId, hexText(ids.random(64)), "tg_sk_0000...0000");
  }
  database.exec(
    "COMMIT; CREATE UNIQUE INDEX temp.who_by_account ON who (account_id); CREATE UNIQUE INDEX temp.who_by_key ON who (key_id)",
  );
  return knownAccounts;
}

function hexText(text: string): string {
  return text.replace(/./g, (sign) => "0123456789abcdef"[sign.charCodeAt(0) % 16] ?? "0");
}

/**
 * Writes a ledger of accounts that each have a key, a credit, and a month of charges. The file has the schema before daily sums; the first
 * open adds those.
 */
export function fillLedger(file: string, fill: Fill, say: (line: string) => void = () => {}): Filled {
  const { accounts, startMs } = fill;
  const database = new DatabaseSync(file);
  database.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -2097152; PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY",
  );
  migrate(database, "ledger", LEDGER_SCHEMA.slice(0, SCHEMA_STEPS));
  const ids = idMaker();
  const bursts = burstsOf(fill);
  const at = chargePlaces({ accounts, bursts, startMs });
  database.function("id_of_call", (ms) => ids.ofCall(Number(ms)));
  const known = nameAccounts(database, fill, ids);
  say("accounts have their names");
  const openedAt = `(${startMs - DAY_MS} + a * ${DAY_MS - 1} / ${accounts})`;
  const lastOf = at.lastOf("a", String(bursts - 1));
  const [lastSeq, lastTime] =
    bursts === 0
      ? ["a + 1", openedAt]
      : [`${accounts} + ${lastOf} + 1`, `(SELECT created_at FROM posting p WHERE p.seq = ${accounts} + ${lastOf} + 1)`];
  const series = (from: number, to: number) =>
    `WITH RECURSIVE numbers(n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ${to})`;
  database.exec(`BEGIN;
    INSERT INTO posting (seq, transaction_id, kind, account_id, created_at, amount, charged_cents, reference)
      SELECT a + 1, 'open_' || account_id, 'topup', account_id, ${openedAt}, ${CREDIT_NANO}, 0, 'opening credit' FROM who ORDER BY a;
    COMMIT`);
  say("credits are there");
  for (let from = 0; from < at.charges; from += BATCH) {
    const legs = `json_array(json_array(${at.vendor}, ${at.model}, ${UPSTREAM_NANO}, 400 + n % 200))`;
    database.exec(`BEGIN;
      ${series(from, Math.min(from + BATCH, at.charges))}, placed AS MATERIALIZED (SELECT n, ${at.account} AS a, ${at.place} AS place,
        ${at.createdAt} AS ms, id_of_call(${at.createdAt}) AS id FROM numbers)
      INSERT INTO posting (seq, transaction_id, kind, account_id, key_id, request_id, created_at, day, inference, operation, asked,
        served, provider, amount, charged_cents, upstream, absorbed, usage, estimated, price_version, before_of_account, before_of_key, legs)
        SELECT ${accounts} + n + 1, 'tx_' || id, 'charge', account_id, key_id, 'req_' || id, ms, ${at.day}, 1, 'chat', ${at.model}, ${at.model},
          ${at.vendor}, ${amount("a")}, ${cents(`${amount("a")} * (place + 1)`)} - ${cents(`${amount("a")} * place`)}, ${UPSTREAM_NANO}, 0,
          '${USAGE}', 0, '2026-11-01', CASE WHEN place = 0 THEN a + 1 ELSE ${accounts} + (${at.before}) + 1 END,
          CASE WHEN place > 0 THEN ${accounts} + (${at.before}) + 1 END, ${legs}
        FROM placed CROSS JOIN who USING (a) ORDER BY n;
      COMMIT`);
    if ((from / BATCH) % 10 === 9) say(`${from + BATCH} charges are there`);
  }
  const spent = `${amount("a")} * ${bursts * BURST}`;
  database.exec(`BEGIN;
    INSERT INTO account (account_id, name, kind, created_at, frozen, inference_cap, requests_per_minute, in_flight_max, granted, spent,
      absorbed, clock, last_posting) SELECT account_id, 'bench', 'personal', ${openedAt}, 0, ${CREDIT_NANO}, ${CALLS_MAX}, 20000,
      ${CREDIT_NANO}, ${spent}, 0, ${lastTime}, ${lastSeq} FROM who INDEXED BY who_by_account ORDER BY account_id;
    INSERT INTO api_key (key_id, account_id, is_primary, secret_hash, hint, label, external_id, paused, ceiling, ceiling_period,
      created_at, last_used_at) SELECT key_id, account_id, 1, secret_hash, hint, 'primary', NULL, 0, NULL, NULL, ${openedAt}, NULL
      FROM who INDEXED BY who_by_key ORDER BY key_id;
    COMMIT`);
  say("accounts and keys are there");
  for (const [prefix, name, index] of [
    ["inference:", "account_id", "who_by_account"],
    ["key:", "key_id", "who_by_key"],
  ]) {
    if (bursts === 0) break;
    database.exec(`BEGIN;
      ${series(0, bursts)} INSERT INTO spent_day (scope, day, spent, last_posting, absorbed)
        SELECT '${prefix}' || ${name}, ${at.dayOfBurst("a", "n")}, ${amount("a")} * ${BURST}, ${accounts} + ${at.lastOf("a", "n")} + 1, 0
          FROM who INDEXED BY ${index} CROSS JOIN numbers WHERE true ORDER BY ${name}
        ON CONFLICT (scope, day) DO UPDATE SET spent = spent + excluded.spent, last_posting = MAX(last_posting, excluded.last_posting);
      COMMIT`);
    say(`${prefix} days are there`);
  }
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  return { accounts, postings: accounts + at.charges, known };
}
