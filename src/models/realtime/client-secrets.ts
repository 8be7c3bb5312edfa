// Short-lived secrets for browsers: each opens sessions of one model for its key, until it expires.
import { createHmac, hash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import type { SessionGrant } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import type { AccountPayer } from "../../core/plan.ts";
import type { Records } from "../../platform/records/records.ts";

const KIND = "realtime_secret";
const SHAPE = /^ek_([\w-]{32})([\w-]{22})$/;
const BEGINS = "ek_";
const RANDOM_BYTES = 24;
const PROOF_CHARS = 22;
/** About ten megabytes at worst. */
const KNOWN_MAX = 1_000;
/** A caller that makes more at once loses its oldest. */
const SHARE = { bytesMax: 16 * 1024 * 1024, full: "oldest_leave" } as const;
const WRONG = new GatewayError("invalid_token", { detail: "This client secret is unknown or has expired." });

export interface ClientSecrets {
  mint(
    payer: AccountPayer,
    model: string,
    session: Json,
    ttlMs: number,
  ): Promise<{ value: string; expiresAtMs: number }>;
  /** Null: the credential is not a client secret. */
  grantOf(credential: string): Promise<SessionGrant | GatewayError> | GatewayError | null;
}

export interface ClientSecretParts {
  readonly records: Records;
  readonly clock: Clock;
  /** The gateway's own secrets, newest first. */
  readonly signing: () => readonly [string, ...string[]];
  /** Sessions outlive the secret that opened them. */
  readonly openMsMax: number;
}

function proofOf(random: string, secret: string): Buffer {
  const proof = createHmac("sha256", secret).update(`${KIND} ${random}`).digest("base64url");
  return Buffer.from(proof.slice(0, PROOF_CHARS));
}

/** A signed secret is looked up. A made-up one is refused at once, before its socket opens, and counts against its address. */
export function createClientSecrets({ records, clock, signing, openMsMax }: ClientSecretParts): ClientSecrets {
  const known = new Map<string, SessionGrant>();

  async function find(id: string): Promise<SessionGrant | GatewayError> {
    const cached = known.get(id);
    if (cached !== undefined) return cached;
    const record = await records.get(KIND, id);
    if (record === null) return WRONG;
    const grant = JSON.parse(record.value) as SessionGrant;
    const [oldest] = known.size >= KNOWN_MAX ? known.keys() : [];
    if (oldest !== undefined) known.delete(oldest);
    known.set(id, grant);
    return grant;
  }

  return {
    async mint({ id: payer, accountId, keyId }, model, session, ttlMs) {
      const random = randomBytes(RANDOM_BYTES).toString("base64url");
      const value = `${BEGINS}${random}${proofOf(random, signing()[0])}`;
      const expiresAtMs = clock.epochMs() + ttlMs;
      const grant: SessionGrant = { accountId, keyId, model, session, expiresAtMs };
      const id = hash("sha256", value, "hex");
      const lives = ttlMs + openMsMax;
      const text = JSON.stringify(grant);
      await records.put({ kind: KIND, id, payer, value: text, ttlMs: lives, ifVersion: 0, share: SHARE });
      return { value, expiresAtMs };
    },
    grantOf(credential) {
      if (!credential.startsWith(BEGINS)) return null;
      const [, random = "", proof = ""] = SHAPE.exec(credential) ?? [];
      const sent = Buffer.from(proof);
      const isOurs = signing().some((secret) => {
        const own = proofOf(random, secret);
        return own.length === sent.length && timingSafeEqual(own, sent);
      });
      return isOurs ? find(hash("sha256", credential, "hex")) : WRONG;
    },
  };
}
