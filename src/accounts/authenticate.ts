// Who is calling: from the Authorization header to a Caller, from memory as a rule and from the ledger once a minute.
import type { AccountRow, KeyRow } from "../account-rows.ts";
import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import type { Caller } from "../plan.ts";
import type { KeyBooks } from "./books.ts";
import { keyHash, looksLikeKey } from "./secrets.ts";

/** Changes made here are seen at once, those made by another process as soon as it is heard of them. */
const KNOWN_MS = 60_000;
/** Where they are not heard of, this is how late they may be. */
const UNHEARD_MS = 500;
/** A key that was just made elsewhere is refused at most this long. */
const UNKNOWN_MS = 5_000;
/** A caller takes about 500 bytes. */
const KNOWN_COUNT_MAX = 20_000;
const UNKNOWN_COUNT_MAX = 20_000;
/** Made-up keys that are looked up in a second; beyond it they wait, so that a flood of them is not the ledger's. */
const MISSES_PER_SECOND_MAX = 500;

export type Authenticated = Caller | GatewayError;

export interface Authenticator {
  /** A caller that is known is answered at once, without a promise. */
  authenticate(authorization: string | undefined): Authenticated | Promise<Authenticated>;
  /** What is remembered of an account and its keys no longer holds; null: of any account. */
  forget(accountId: string | null): void;
}

export interface AuthenticatorOptions {
  readonly books: KeyBooks;
  readonly clock: Clock;
  /** False: sandbox keys are refused. */
  readonly sandbox: boolean;
  /** Whether changes that other processes make are heard of at this moment; when that ends, everything is to be forgotten. */
  readonly hears?: () => boolean;
}

function refused(detail: string): GatewayError {
  return new GatewayError("invalid_token", { detail: { detail } });
}

const MISSING = refused("No key was sent: the request has no Authorization header.");
const NOT_BEARER = refused("The Authorization header is not `Bearer <key>`.");
const UNKNOWN = refused("This key is unknown: it is mistyped or has been revoked.");
const EXPIRED = refused("This key has expired.");
const NO_SANDBOX = refused("This is a sandbox key, and this gateway has no sandbox accounts.");
const TOO_MANY_MISSES = new GatewayError("rate_limited", {
  detail: { limit: MISSES_PER_SECOND_MAX, window_seconds: 1 },
  retryAfterSeconds: 1,
});

const BEARER = /^bearer +(\S+) *$/i;

function callerOf(key: KeyRow, account: AccountRow): Caller {
  const sandbox = account.kind === "sandbox";
  return {
    sandbox,
    payer: { id: `acct:${account.accountId}`, accountId: account.accountId, keyId: key.keyId, sandbox },
    primary: key.primary,
    paused: key.paused,
    frozen: account.frozen,
    requestsPerMinute: account.requestsPerMinute,
    inFlightMax: account.inFlightMax,
    inferenceCapNano: account.inferenceCapNano,
    strictBounds: account.strictBounds,
    allows: { services: key.services, models: key.models },
  };
}

/** A caller as remembered: its key may expire meanwhile. */
interface Known {
  readonly caller: Caller;
  readonly expiresAtMs: number | null;
}

/** Remembers for a while, up to a number of entries; the oldest goes first. */
class Memory<T> {
  readonly #entries = new Map<string, { readonly value: T; readonly untilMs: number }>();
  readonly #countMax: number;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  get(key: string, nowMs: number): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.untilMs > nowMs) return entry?.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: T, untilMs: number): void {
    if (this.#entries.size >= this.#countMax) {
      const [oldest] = this.#entries.keys();
      if (oldest !== undefined) this.#entries.delete(oldest);
    }
    this.#entries.set(key, { value, untilMs });
  }

  drop(goes: (value: T) => boolean): void {
    for (const [key, { value }] of this.#entries) if (goes(value)) this.#entries.delete(key);
  }
}

/** Lookups that may come to nothing, in each second. */
function missBudget(clock: Clock) {
  let second = -1;
  let left = 0;
  return {
    take(): boolean {
      const now = Math.floor(clock.elapsedMs() / 1000);
      if (now !== second) {
        second = now;
        left = MISSES_PER_SECOND_MAX;
      }
      if (left <= 0) return false;
      left -= 1;
      return true;
    },
    giveBack(): void {
      left += 1;
    },
  };
}

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { books, clock, sandbox, hears = () => true } = options;
  const known = new Memory<Known>(KNOWN_COUNT_MAX);
  const unknown = new Memory<GatewayError>(UNKNOWN_COUNT_MAX);
  /** Lookups under way, so that a burst with one new key is one lookup. */
  const pending = new Map<string, Promise<Authenticated>>();
  const budget = missBudget(clock);
  /** Grows with every `forget`: what was read before it must not be remembered after it. */
  let generation = 0;

  function unlessExpired({ caller, expiresAtMs }: Known): Authenticated {
    return expiresAtMs !== null && expiresAtMs <= clock.epochMs() ? EXPIRED : caller;
  }

  async function find(secretHash: string): Promise<Known | GatewayError> {
    const key = await books.keyByHash(secretHash);
    const account = key === null ? null : await books.account(key.accountId);
    if (key === null || account === null) return UNKNOWN;
    const caller = callerOf(key, account);
    return caller.payer.sandbox && !sandbox ? NO_SANDBOX : { caller, expiresAtMs: key.expiresAtMs };
  }

  async function lookUp(secretHash: string): Promise<Authenticated> {
    const before = generation;
    try {
      const found = await find(secretHash);
      if (!(found instanceof GatewayError)) budget.giveBack();
      if (before === generation) {
        const nowMs = clock.elapsedMs();
        if (found instanceof GatewayError) unknown.set(secretHash, found, nowMs + UNKNOWN_MS);
        else known.set(secretHash, found, nowMs + (hears() ? KNOWN_MS : UNHEARD_MS));
      }
      return found instanceof GatewayError ? found : unlessExpired(found);
    } catch (error) {
      if (error instanceof GatewayError) return error;
      throw error;
    } finally {
      pending.delete(secretHash);
    }
  }

  return {
    authenticate(authorization) {
      if (authorization === undefined || authorization === "") return MISSING;
      const token = BEARER.exec(authorization)?.[1];
      if (token === undefined) return NOT_BEARER;
      if (!looksLikeKey(token)) return UNKNOWN;
      const secretHash = keyHash(token);
      const nowMs = clock.elapsedMs();
      const caller = known.get(secretHash, nowMs);
      if (caller !== undefined) return unlessExpired(caller);
      const remembered = unknown.get(secretHash, nowMs) ?? pending.get(secretHash);
      if (remembered !== undefined) return remembered;
      if (!budget.take()) return TOO_MANY_MISSES;
      const lookup = lookUp(secretHash);
      pending.set(secretHash, lookup);
      return lookup;
    },
    forget(accountId) {
      generation += 1;
      known.drop(({ caller }) => accountId === null || caller.payer.accountId === accountId);
      pending.clear();
    },
  };
}
