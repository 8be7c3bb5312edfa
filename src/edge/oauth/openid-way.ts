// The redirect to the OpenID provider and back. The stored state is good once, for ten minutes, in the browser that left.
import { hash, randomBytes } from "node:crypto";
import type { GatewayRequest } from "../../core/endpoint.ts";
import { isRecord, stringOf } from "../../core/json.ts";
import type { Records } from "../../platform/records/records.ts";
import { tooOften } from "./forms.ts";
import type { Begun, OpenIdProvider, SignedIn } from "./openid-provider.ts";
import { cookieOf, hostCookie } from "./sessions.ts";

/** The time that a person has at the provider. */
const WAY_SECONDS = 600;
/** Sign-ins started per minute, from one address and from all: each is stored until it expires. */
const BEGUN_PER_ADDRESS = 20;
const BEGUN = 1_000;

export interface OpenIdWayParts {
  readonly provider: OpenIdProvider;
  readonly records: Records;
  readonly base: () => string;
  /** The path of the callback below it. */
  readonly callback: string;
  /** The name of its records, its cookie and its rate windows; must be unique. */
  readonly name: string;
  /** The claims wanted besides subject and e-mail address. */
  readonly claims: readonly string[];
  readonly addressKey: (address: string) => string;
  readonly take: (what: string, limit: number) => Promise<boolean>;
}

/** A sign-in in progress, with the data of the page that started it. */
type Kept<Own> = Own & Pick<Begun, "verifier" | "nonce"> & { readonly browser: string };

export type OpenIdWay<Own extends object> = ReturnType<typeof createOpenIdWay<Own>>;

export function createOpenIdWay<Own extends object>(parts: OpenIdWayParts) {
  const { provider, records, base, callback, name, claims, addressKey, take } = parts;
  const kind = `${name}-flow`;
  const cookie = hostCookie(name, base);

  async function keptOf(request: GatewayRequest, state: string): Promise<Kept<Own> | null> {
    const id = hash("sha256", state, "hex");
    const found = await records.get(kind, id);
    const kept: unknown = found === null ? null : JSON.parse(found.value);
    const secret = cookieOf(request, cookie.name()) ?? "";
    if (!isRecord(kept) || stringOf(kept.browser) !== hash("sha256", secret, "hex")) return null;
    // Of two concurrent callbacks, one succeeds.
    return (await records.delete(kind, id)) ? (kept as unknown as Kept<Own>) : null;
  }

  return {
    /** The provider's URL, and the cookie that binds the callback to this browser; null: the provider is unreachable. */
    async begin(request: GatewayRequest, own: Own) {
      if (!(await take(`${name} ${addressKey(request.address)}`, BEGUN_PER_ADDRESS))) throw tooOften(BEGUN_PER_ADDRESS);
      if (!(await take(name, BEGUN))) throw tooOften(BEGUN);
      const begun = await provider.begin(base() + callback, claims);
      if (begun === null) return null;
      const { url, state, verifier, nonce } = begun;
      const secret = randomBytes(32).toString("base64url");
      const kept: Kept<Own> = { ...own, verifier, nonce, browser: hash("sha256", secret, "hex") };
      const id = hash("sha256", state, "hex");
      const ttlMs = WAY_SECONDS * 1_000;
      await records.put({ kind, id, payer: null, value: JSON.stringify(kept), ttlMs, ifVersion: 0 });
      return { url, cookie: cookie.set(secret, WAY_SECONDS) };
    },
    /** `lost`: the browser did not start here, or has already returned. */
    async end(request: GatewayRequest): Promise<{ who: SignedIn; own: Own } | "lost" | "away" | "refused"> {
      const state = request.query.get("state") ?? "";
      const kept = await keptOf(request, state);
      if (kept === null) return "lost";
      const { verifier, nonce } = kept;
      const url = new URL(`${base()}${callback}?${request.query}`);
      const who = await provider.finish(url, { verifier, nonce, state }, claims);
      return typeof who === "string" ? who : { who, own: kept };
    },
    forgotten: () => cookie.set("", 0),
  };
}
