// Authentication: from the Authorization header to a Caller, usually from memory, and from the ledger once a minute.
import type { AccountRow, KeyRow } from "../../core/account-rows.ts";
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { putLast } from "../../core/maps.ts";
import type { Caller } from "../../core/plan.ts";
import type { KeyBooks } from "./books.ts";
import type { FormerKey } from "./former-secrets.ts";
import { isMistyped, keyHash, looksLikeKey } from "./secrets.ts";
import type { UnderRules } from "./under-rules.ts";

/** Changes made in this process take effect at once, those of another process as soon as it announces them. */
const KNOWN_MS = 60_000;
/** While announcements are not received, changes may be this late. */
const UNHEARD_MS = 500;
/** A key just created by another process is refused for at most this long. */
const UNKNOWN_MS = 5_000;
/** A caller takes about 500 bytes. */
const KNOWN_COUNT_MAX = 20_000;
const UNKNOWN_COUNT_MAX = 20_000;
/** Per second, over all addresses; further ones are refused, so that a flood of made-up keys does not reach the ledger. */
const MISSES_PER_SECOND_MAX = 500;

export type Authenticated = Caller | GatewayError;

/** The sender of a request; its address is read only for an unknown key. */
export interface Sender {
  readonly address: string;
}

/** The window's answer to one more look-up. */
interface MissWindow {
  readonly allowed: boolean;
  readonly limit: number;
  readonly windowSeconds: number;
  readonly resetSeconds: number;
}

/** How many failed look-ups an address may have. Each is counted at its start, and given back if it finds a key. */
export interface AddressMisses {
  take(address: string): MissWindow;
  giveBack(address: string): void;
}

export interface AuthenticatorOptions {
  readonly books: KeyBooks;
  readonly clock: Clock;
  /** False: sandbox keys are refused. */
  readonly sandbox: boolean;
  readonly misses: AddressMisses;
  /** Whether this process currently receives other processes' changes; when that ends, the cache is invalid. */
  readonly hears?: () => boolean;
  /** The rules for a key's calls besides the limits of its row. Absent: none. */
  readonly rules?: (key: KeyRow, account: AccountRow) => Promise<UnderRules>;
  /** The key of a replaced secret that is still valid; null: none. Absent: no key has one. */
  readonly formerKey?: (secretHash: string) => Promise<FormerKey | null>;
  /** The grant of an access token; null: not an access token. Absent: access tokens are disabled. */
  readonly readToken?: (token: string) => GrantOfToken | GatewayError | null;
}

export interface GrantOfToken {
  readonly accountId: string;
  readonly keyId: string;
  readonly expiresAtMs: number;
}

function refused(detail: string): GatewayError {
  return new GatewayError("invalid_token", { detail });
}

const MISSING = refused("No key was sent: the request has no Authorization header.");
const NOT_BEARER = refused("The Authorization header is not `Bearer <key>`.");
const UNKNOWN = refused("This key is unknown: it is mistyped or has been revoked.");
const REVOKED = new GatewayError("invalid_token", {
  of: "grant",
  detail: "The grant of this access token has been revoked.",
});
const EXPIRED = refused("This key has expired.");
const NO_SANDBOX = refused("This is a sandbox key, and this gateway has no sandbox accounts.");

function tooManyMisses({ limit, windowSeconds, resetSeconds }: Omit<MissWindow, "allowed">): GatewayError {
  const detail = { limit, window_seconds: windowSeconds };
  return new GatewayError("rate_limited", { detail, retryAfterSeconds: resetSeconds });
}

const TOO_MANY_MISSES = tooManyMisses({ limit: MISSES_PER_SECOND_MAX, windowSeconds: 1, resetSeconds: 1 });

const BEARER = /^bearer +(\S+) *$/i;

function callerOf(key: KeyRow, account: AccountRow, under: UnderRules): Caller {
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
    ...under,
  };
}

/** The credential of a request: the hash of a key, or the grant of an access token. */
interface Shown {
  readonly secretHash: string;
  readonly grant: GrantOfToken | null;
}

/** A cached caller, with its expiry: the key may expire meanwhile. */
interface Known {
  readonly caller: Caller;
  readonly expiresAtMs: number | null;
}

interface Remembered<T> {
  readonly value: T;
  readonly untilMs: number;
}

/** A cache with a maximum number of entries and age; evicts the entry that was set longest ago. */
class Memory<T> {
  readonly #entries = new Map<string, Remembered<T>>();
  readonly #countMax: number;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /** Returns expired entries too: they were true once. */
  get(key: string): Remembered<T> | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: T, untilMs: number): void {
    putLast(this.#entries, key, { value, untilMs }, this.#countMax);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** Marks the entries that `lapses` selects as no longer trusted. */
  lapse(lapses: (value: T) => boolean): void {
    for (const [key, { value }] of this.#entries)
      if (lapses(value)) this.#entries.set(key, { value, untilMs: Number.NEGATIVE_INFINITY });
  }
}

/** The budget of look-ups that may find nothing, per second. */
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

export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #known = new Memory<Known>(KNOWN_COUNT_MAX);
  readonly #unknown = new Memory<GatewayError>(UNKNOWN_COUNT_MAX);
  /**
   * Hashes of valid keys by Authorization header: a look-up costs less than hashing for every request. Timing reveals nothing to a
   * guesser: only an exact match is found here, and any other text is hashed.
   */
  readonly #hashes = new Map<string, string>();
  /** Look-ups in progress, so that a burst with one new key causes one look-up. */
  readonly #pending = new Map<string, Promise<Authenticated>>();
  readonly #budget: ReturnType<typeof missBudget>;
  /** Incremented by every `forget`: results read before it must not be cached after it. */
  #generation = 0;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#budget = missBudget(options.clock);
  }

  /** Synchronous for a known caller. */
  authenticate(authorization: string | undefined, sender: Sender): Authenticated | Promise<Authenticated> {
    if (authorization === undefined || authorization === "") return MISSING;
    const caller = this.#callerOfHeader(authorization);
    if (caller !== undefined) return caller;
    const token = BEARER.exec(authorization)?.[1];
    if (token === undefined) return NOT_BEARER;
    const read = looksLikeKey(token) ? null : (this.#options.readToken?.(token) ?? UNKNOWN);
    if (read instanceof GatewayError) return read;
    const secretHash = keyHash(token);
    const nowMs = this.#options.clock.elapsedMs();
    const remembered = this.#known.get(secretHash);
    if (remembered !== undefined && remembered.untilMs > nowMs) {
      putLast(this.#hashes, authorization, secretHash, KNOWN_COUNT_MAX);
      return this.#unlessExpired(remembered.value);
    }
    const underWay = this.#pending.get(secretHash);
    if (underWay !== undefined) return underWay;
    const shown = { secretHash, grant: read };
    // A key that was valid is read again whatever the budgets say: floods of other keys cannot lock out a known caller.
    if (remembered !== undefined) return this.#begin(shown, null);
    const refusal = this.#unknown.get(secretHash);
    if (refusal !== undefined && refusal.untilMs > nowMs) return refusal.value;
    return isMistyped(token) ? UNKNOWN : this.#beginMiss(shown, sender.address);
  }

  /** The caller for a signed-in owner of this key; reads the ledger each time. */
  async callerOfKey(accountId: string, keyId: string): Promise<Authenticated> {
    const found = await this.#knownOf(await this.#options.books.key(accountId, keyId));
    return found instanceof GatewayError ? found : this.#unlessExpired(found);
  }

  /** The caller for work already started: the key may have expired. Null: key or account is gone. Rejects where they cannot be read. */
  async ofWorkGoingOn(accountId: string, keyId: string): Promise<Caller | null> {
    const found = await this.#readCaller(await this.#options.books.key(accountId, keyId));
    return found === null ? null : found.caller;
  }

  /** Drops the cache of an account and its keys; null: of all accounts. */
  forget(accountId: string | null): void {
    this.#generation += 1;
    this.#known.lapse(({ caller }) => accountId === null || caller.payer.accountId === accountId);
    this.#pending.clear();
  }

  #unlessExpired({ caller, expiresAtMs }: Known): Authenticated {
    return expiresAtMs !== null && expiresAtMs <= this.#options.clock.epochMs() ? EXPIRED : caller;
  }

  /** The earlier expiry counts, of the key and of the token or former secret. */
  async #find({ secretHash, grant }: Shown): Promise<Known | GatewayError> {
    const { books, formerKey } = this.#options;
    const key = grant === null ? await books.keyByHash(secretHash) : await books.key(grant.accountId, grant.keyId);
    if (grant !== null && key === null) return REVOKED;
    const former = key === null ? ((await formerKey?.(secretHash)) ?? null) : null;
    const endsMs = grant?.expiresAtMs ?? former?.untilMs;
    const found = await this.#knownOf(key ?? former?.key ?? null);
    if (found instanceof GatewayError || endsMs === undefined) return found;
    return { caller: found.caller, expiresAtMs: Math.min(found.expiresAtMs ?? endsMs, endsMs) };
  }

  /** Null: the key or its account is gone. */
  async #readCaller(key: KeyRow | null): Promise<Known | null> {
    const account = key === null ? null : await this.#options.books.account(key.accountId);
    if (key === null || account === null) return null;
    const under = await this.#options.rules?.(key, account);
    const caller = callerOf(key, account, under ?? { allows: { services: key.services, models: key.models } });
    return { caller, expiresAtMs: key.expiresAtMs };
  }

  async #knownOf(key: KeyRow | null): Promise<Known | GatewayError> {
    const found = await this.#readCaller(key);
    if (found === null) return UNKNOWN;
    return found.caller.payer.sandbox && !this.#options.sandbox ? NO_SANDBOX : found;
  }

  /** `budgeted`: the address that the look-up counts against; null: none. */
  async #lookUp(shown: Shown, budgeted: Sender["address"] | null): Promise<Authenticated> {
    const { secretHash } = shown;
    const { misses } = this.#options;
    const before = this.#generation;
    try {
      const found = await this.#find(shown);
      if (budgeted !== null && !(found instanceof GatewayError)) {
        this.#budget.giveBack();
        misses.giveBack(budgeted);
      }
      if (before === this.#generation) this.#remember(secretHash, found);
      return found instanceof GatewayError ? found : this.#unlessExpired(found);
    } catch (error) {
      // An unavailable ledger does not count against the sender.
      if (budgeted !== null) misses.giveBack(budgeted);
      if (error instanceof GatewayError) return error;
      throw error;
    } finally {
      this.#pending.delete(secretHash);
    }
  }

  #remember(secretHash: string, found: Known | GatewayError): void {
    const { clock, hears } = this.#options;
    const nowMs = clock.elapsedMs();
    if (found instanceof GatewayError) {
      this.#known.delete(secretHash);
      this.#unknown.set(secretHash, found, nowMs + UNKNOWN_MS);
    } else this.#known.set(secretHash, found, nowMs + (hears?.() === false ? UNHEARD_MS : KNOWN_MS));
  }

  #begin(shown: Shown, budgeted: string | null): Promise<Authenticated> {
    const lookup = this.#lookUp(shown, budgeted);
    this.#pending.set(shown.secretHash, lookup);
    return lookup;
  }

  /** Starts a look-up that may find nothing, within the limits per address and for all addresses. */
  #beginMiss(shown: Shown, address: string): Authenticated | Promise<Authenticated> {
    const { misses } = this.#options;
    const window = misses.take(address);
    if (!window.allowed) return tooManyMisses(window);
    if (this.#budget.take()) return this.#begin(shown, address);
    misses.giveBack(address);
    return TOO_MANY_MISSES;
  }

  /** The caller of a header with a known valid key; undefined: unknown, or due to be read again. */
  #callerOfHeader(authorization: string): Authenticated | undefined {
    const secretHash = this.#hashes.get(authorization);
    if (secretHash === undefined) return undefined;
    const remembered = this.#known.get(secretHash);
    if (remembered !== undefined && remembered.untilMs > this.#options.clock.elapsedMs())
      return this.#unlessExpired(remembered.value);
    this.#hashes.delete(authorization);
    return undefined;
  }
}
