// Rows of accounts and keys, and the state in memory that they become.
import type { AccountState, KeyState, LiveHold } from "../model/state.ts";

export const ACCOUNT_COLUMNS = `account_id AS accountId, kind, created_at AS createdAtMs, name, frozen,
  inference_cap AS inferenceCapNano, requests_per_minute AS requestsPerMinute, in_flight_max AS inFlightMax,
  granted, spent, absorbed, clock AS clockMs, last_posting AS lastPosting,
  strict_bounds AS strictBounds, overruns, overrun_day AS overrunDay`;

/** Booleans are stored as 0 and 1. */
export interface AccountSql
  extends Omit<AccountState, "frozen" | "strictBounds" | "held" | "keys" | "holds" | "scopes" | "slots" | "isInUse"> {
  readonly frozen: number;
  readonly strictBounds: number;
}

export const KEY_COLUMNS = `key_id AS keyId, account_id AS accountId, is_primary AS "primary", external_id AS externalId,
  created_at AS createdAtMs, secret_hash AS secretHash, hint, label, paused, ceiling AS ceilingNano,
  ceiling_period AS ceilingPeriod, last_used_at AS lastUsedAtMs, services, models, expires_at AS expiresAtMs`;

/** Lists are stored as JSON. */
export interface KeySql extends Omit<KeyState, "primary" | "paused" | "services" | "models"> {
  readonly primary: number;
  readonly paused: number;
  readonly services: string | null;
  readonly models: string | null;
}

export function accountState(row: AccountSql): AccountState {
  const live = {
    held: 0,
    keys: new Map(),
    holds: new Set<LiveHold>(),
    scopes: new Map(),
    slots: new Map(),
    isInUse: true,
  };
  return { ...row, frozen: row.frozen === 1, strictBounds: row.strictBounds === 1, ...live };
}

export function listText(list: readonly string[] | null): string | null {
  return list === null ? null : JSON.stringify(list);
}

function listOf(text: string | null): readonly string[] | null {
  return text === null ? null : (JSON.parse(text) as string[]);
}

export function keyState(row: KeySql): KeyState {
  const lists = { services: listOf(row.services), models: listOf(row.models) };
  return { ...row, primary: row.primary === 1, paused: row.paused === 1, ...lists };
}
