// Rows of accounts and keys, and the state in memory that they become.
import type { AccountKind, CeilingPeriod } from "../../../core/account-rows.ts";
import type { Nano } from "../../../core/money.ts";
import type { AccountState, KeyState } from "../model/state.ts";

export interface AccountSql {
  account_id: string;
  name: string;
  kind: AccountKind;
  created_at: number;
  frozen: number;
  inference_cap: Nano;
  requests_per_minute: number;
  in_flight_max: number;
  granted: number;
  spent: number;
  absorbed: number;
  clock: number;
  last_posting: number | null;
  strict_bounds: number;
  overruns: number;
  overrun_day: number | null;
}

export interface KeySql {
  key_id: string;
  account_id: string;
  is_primary: number;
  secret_hash: string;
  hint: string;
  label: string;
  external_id: string | null;
  paused: number;
  ceiling: Nano | null;
  ceiling_period: CeilingPeriod | null;
  created_at: number;
  last_used_at: number | null;
  /** JSON. */
  services: string | null;
  models: string | null;
  expires_at: number | null;
}

export function accountState(row: AccountSql): AccountState {
  return {
    accountId: row.account_id,
    kind: row.kind,
    createdAtMs: row.created_at,
    name: row.name,
    frozen: row.frozen === 1,
    inferenceCapNano: row.inference_cap,
    requestsPerMinute: row.requests_per_minute,
    inFlightMax: row.in_flight_max,
    granted: row.granted,
    spent: row.spent,
    held: 0,
    absorbed: row.absorbed,
    clockMs: row.clock,
    lastPosting: row.last_posting,
    strictBounds: row.strict_bounds === 1,
    overruns: row.overruns,
    overrunDay: row.overrun_day,
    keys: new Map(),
    holds: new Set(),
    scopes: new Map(),
    slots: new Map(),
    isInUse: true,
  };
}

export function listText(list: readonly string[] | null): string | null {
  return list === null ? null : JSON.stringify(list);
}

function listOf(text: string | null): readonly string[] | null {
  return text === null ? null : (JSON.parse(text) as string[]);
}

export function keyState(row: KeySql): KeyState {
  return {
    keyId: row.key_id,
    accountId: row.account_id,
    primary: row.is_primary === 1,
    externalId: row.external_id,
    createdAtMs: row.created_at,
    secretHash: row.secret_hash,
    hint: row.hint,
    label: row.label,
    paused: row.paused === 1,
    ceilingNano: row.ceiling,
    ceilingPeriod: row.ceiling_period,
    lastUsedAtMs: row.last_used_at,
    services: listOf(row.services),
    models: listOf(row.models),
    expiresAtMs: row.expires_at,
  };
}
