// The ledger's tables. Derived values are not stored: the held amount is the sum of the live holds. Only reports have stored sums.
import { LEDGER_TABLES, SQLITE_RUN_COLUMN, sqliteSums } from "../usage/sums.ts";

/** Each step runs once, in order; append steps, never change them. Money in nano-USD, times in ms since the epoch. */
export const LEDGER_SCHEMA: readonly string[] = [
  `
  CREATE TABLE account (
    account_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    frozen INTEGER NOT NULL,
    inference_cap INTEGER NOT NULL CHECK (inference_cap >= 0),
    requests_per_minute INTEGER NOT NULL,
    in_flight_max INTEGER NOT NULL,
    granted INTEGER NOT NULL,
    spent INTEGER NOT NULL CHECK (spent >= 0 AND spent <= granted),
    absorbed INTEGER NOT NULL CHECK (absorbed >= 0),
    clock INTEGER NOT NULL,
    last_posting INTEGER
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE api_key (
    key_id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES account (account_id),
    is_primary INTEGER NOT NULL,
    secret_hash TEXT NOT NULL UNIQUE,
    hint TEXT NOT NULL,
    label TEXT NOT NULL,
    external_id TEXT,
    paused INTEGER NOT NULL,
    ceiling INTEGER CHECK (ceiling >= 0),
    ceiling_period TEXT,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    UNIQUE (account_id, external_id)
  ) STRICT, WITHOUT ROWID;

  -- Live holds only: a hold that ends leaves as a posting or as a tombstone.
  CREATE TABLE hold (
    hold_id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES account (account_id),
    key_id TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    accrued INTEGER NOT NULL CHECK (accrued BETWEEN 0 AND amount),
    day INTEGER NOT NULL,
    inference INTEGER NOT NULL,
    slots TEXT NOT NULL,
    owner TEXT NOT NULL,
    lease_ms INTEGER NOT NULL,
    on_expire TEXT NOT NULL,
    effect TEXT NOT NULL,
    parent_id TEXT,
    request_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    asked TEXT NOT NULL,
    idempotency_key TEXT,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- Ends of holds that were not charged, kept for a while so that a delayed reserve is refused.
  CREATE TABLE tombstone (
    seq INTEGER PRIMARY KEY,
    hold_id TEXT NOT NULL UNIQUE,
    account_id TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    ended_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX tombstone_by_end ON tombstone (ended_at);

  -- Immutable, in the order of the commits. Each names the one before it of the same account and of the same key: a
  -- list is read along these links, because an index by account or key would dirty a page for each account in a commit.
  CREATE TABLE posting (
    seq INTEGER PRIMARY KEY,
    transaction_id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    account_id TEXT NOT NULL REFERENCES account (account_id),
    key_id TEXT,
    parent_id TEXT,
    request_id TEXT,
    created_at INTEGER NOT NULL,
    day INTEGER,
    inference INTEGER NOT NULL DEFAULT 0,
    operation TEXT,
    asked TEXT,
    served TEXT,
    provider TEXT,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    charged_cents INTEGER NOT NULL CHECK (charged_cents >= 0),
    upstream INTEGER NOT NULL DEFAULT 0,
    absorbed INTEGER NOT NULL DEFAULT 0 CHECK (absorbed >= 0),
    absorb_reason TEXT,
    usage TEXT,
    estimated INTEGER NOT NULL DEFAULT 0,
    price_version TEXT,
    reference TEXT,
    reason TEXT,
    before_of_account INTEGER,
    before_of_key INTEGER
  ) STRICT;
  CREATE UNIQUE INDEX posting_by_reference ON posting (account_id, kind, reference) WHERE reference IS NOT NULL;

  -- What a scope (a key, an account's inference) has spent of each UTC day; weeks and months are sums of days.
  -- A key's last posting is the largest last_posting of its days.
  CREATE TABLE spent_day (
    scope TEXT NOT NULL,
    day INTEGER NOT NULL,
    spent INTEGER NOT NULL CHECK (spent >= 0),
    last_posting INTEGER,
    PRIMARY KEY (scope, day)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE idempotency (
    account_id TEXT NOT NULL,
    key_id TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    hold_id TEXT NOT NULL,
    state TEXT NOT NULL,
    effect TEXT NOT NULL,
    lapses_at INTEGER NOT NULL,
    PRIMARY KEY (account_id, key_id, idempotency_key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX idempotency_by_lapse ON idempotency (lapses_at);
  `,
  `
  -- What a key may call: lists as JSON, null for everything; and until when.
  ALTER TABLE api_key ADD COLUMN services TEXT;
  ALTER TABLE api_key ADD COLUMN models TEXT;
  ALTER TABLE api_key ADD COLUMN expires_at INTEGER;
  `,
  `
  -- What calls of a day have cost above their holds counts in its windows. Every posting says so: the days are made of them.
  ALTER TABLE spent_day ADD COLUMN absorbed INTEGER NOT NULL DEFAULT 0 CHECK (absorbed >= 0);
  UPDATE spent_day SET absorbed = of_day.absorbed FROM (
      SELECT 'key:' || key_id AS scope, day, SUM(absorbed) AS absorbed FROM posting
        WHERE kind = 'charge' AND absorbed > 0 GROUP BY key_id, day
      UNION ALL SELECT 'inference:' || account_id, day, SUM(absorbed) FROM posting
        WHERE kind = 'charge' AND absorbed > 0 AND inference = 1 GROUP BY account_id, day
    ) AS of_day WHERE spent_day.scope = of_day.scope AND spent_day.day = of_day.day;

  -- Whether the account's holds are made from bytes, and how often calls have overrun theirs on the day when one last did.
  ALTER TABLE account ADD COLUMN strict_bounds INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE account ADD COLUMN overruns INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE account ADD COLUMN overrun_day INTEGER;
  `,
  `
  -- Whose work a charge was, as JSON in the short form of legs.ts; null where nothing is known of it.
  ALTER TABLE posting ADD COLUMN legs TEXT;
  `,
  `
  -- What callers have called a charge, as JSON; null for nothing. Postings come nearly in the order of their times, so this
  -- index, unlike one by account, grows at its end alone.
  ALTER TABLE posting ADD COLUMN tags TEXT;
  CREATE INDEX posting_by_time ON posting (created_at);
  ${sqliteSums(LEDGER_TABLES)}
  `,
  `
  -- The sums of postings grow once a commit, not once a posting.
  DROP TRIGGER usage_of_posting;
  `,
  `
  -- How many accounts there are, for the metrics: to count millions of rows at each look would hold up calls.
  CREATE TABLE account_count (accounts INTEGER NOT NULL) STRICT;
  INSERT INTO account_count SELECT COUNT(*) FROM account;
  CREATE TRIGGER account_opened AFTER INSERT ON account BEGIN UPDATE account_count SET accounts = accounts + 1; END;
  CREATE TRIGGER account_deleted AFTER DELETE ON account BEGIN UPDATE account_count SET accounts = accounts - 1; END;
  `,
  `
  -- What a hold has brought to be counted in, and what a posting has moved of it, in the short form of window-list.ts; null: nothing.
  -- Sums of an account's brought scopes stand in spent_day under the names \`of:<account>:<scope>\`.
  ALTER TABLE hold ADD COLUMN windows TEXT;
  ALTER TABLE posting ADD COLUMN windows TEXT;
  `,
  `
  -- What has happened, until it is taken further; data is JSON. One that comes twice is the same.
  CREATE TABLE told (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    account_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
  `,
  `
  -- A run's postings, in their order; a posting's run is the first among its windows.
  ALTER TABLE posting ADD COLUMN ${SQLITE_RUN_COLUMN};
  CREATE INDEX posting_by_run ON posting (account_id, run_id, seq) WHERE run_id IS NOT NULL;
  `,
  `
  -- The last posting that accounts, days and daily sums count. A start counts those after it.
  CREATE TABLE counted (last INTEGER NOT NULL) STRICT;
  INSERT INTO counted SELECT COALESCE(MAX(seq), 0) FROM posting;
  `,
];
