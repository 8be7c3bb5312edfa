// Webhooks of an account or the operator, each with the secrets that sign its messages (Standard Webhooks, version 1).
import { createHmac, randomBytes } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import type { Records, StoredRecord } from "../../platform/records/records.ts";
import { type Event, type EventKind, OPERATOR } from "./event-log.ts";

const WEBHOOK = "webhook";
export const WEBHOOKS_MAX = 10;
const SECRET_BYTES = 32;
const ID_BYTES = 12;
const PREFIX = "whsec_";

interface Secret {
  readonly secret: string;
  /** Null: the current secret; otherwise it also signs messages until then. */
  readonly untilMs: number | null;
}

export interface Webhook {
  readonly id: string;
  /** `acct:<id>`, or `operator`. */
  readonly payer: string;
  readonly url: string;
  /** Null: all. */
  readonly kinds: readonly EventKind[] | null;
  readonly secrets: readonly Secret[];
  readonly createdAtMs: number;
}

const read = ({ value }: StoredRecord) => JSON.parse(value) as Webhook;
const newSecret = () => PREFIX + randomBytes(SECRET_BYTES).toString("base64");

/** The headers of a message; one signature for each valid secret, so that a receiver can change to the new one at its own pace. */
export function signedHeaders(hook: Webhook, message: { readonly id: string; readonly body: string }, nowMs: number) {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const signed = `${message.id}.${timestamp}.${message.body}`;
  const signatures = hook.secrets
    .filter(({ untilMs }) => untilMs === null || untilMs > nowMs)
    .map(({ secret }) => {
      const key = Buffer.from(secret.slice(PREFIX.length), "base64");
      return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
    });
  return {
    "content-type": "application/json",
    "webhook-id": message.id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.join(" "),
  };
}

export function messageOf(event: Event): { readonly id: string; readonly body: string } {
  const { id, kind, accountId, atMs, data } = event;
  const body = { type: kind, timestamp: new Date(atMs).toISOString(), data: { ...data, account_id: accountId } };
  return { id, body: JSON.stringify(body) };
}

export type Webhooks = ReturnType<typeof createWebhooks>;

export function createWebhooks(records: Records, clock: Clock) {
  const put = (hook: Webhook, ifVersion: number) => {
    const record = { kind: WEBHOOK, id: hook.id, payer: hook.payer, value: JSON.stringify(hook), ttlMs: null };
    return records.put({ ...record, ifVersion });
  };
  const of = async (payer: string) => (await records.list(WEBHOOK, payer, WEBHOOKS_MAX, null)).rows.map(read);

  return {
    /** The answer has the secret; null: the limit of webhooks is reached. */
    async create(payer: string, url: string, kinds: Webhook["kinds"]): Promise<Webhook | null> {
      if ((await of(payer)).length >= WEBHOOKS_MAX) return null;
      const secrets = [{ secret: newSecret(), untilMs: null }];
      const id = `wh_${randomBytes(ID_BYTES).toString("hex")}`;
      const hook = { id, payer, url, kinds, secrets, createdAtMs: Math.floor(clock.epochMs()) };
      await put(hook, 0);
      return hook;
    },
    of,
    async get(id: string): Promise<Webhook | null> {
      const found = await records.get(WEBHOOK, id);
      return found === null ? null : read(found);
    },
    /** Creates a new secret; the old one stays valid for `overlapMs`. Null: this payer has no such webhook. */
    async rotate(payer: string, id: string, overlapMs: number): Promise<Webhook | null> {
      for (;;) {
        const found = await records.get(WEBHOOK, id);
        if (found?.payer !== payer) return null;
        const hook = read(found);
        const nowMs = clock.epochMs();
        const old = hook.secrets
          .filter(({ untilMs }) => untilMs === null)
          .map(({ secret }) => ({ secret, untilMs: Math.floor(nowMs + overlapMs) }));
        const after = { ...hook, secrets: [{ secret: newSecret(), untilMs: null }, ...(overlapMs > 0 ? old : [])] };
        // A concurrent rotation changed it: read again.
        if ((await put(after, found.version)) !== null) return after;
      }
    },
    async delete(payer: string, id: string): Promise<boolean> {
      const found = await records.get(WEBHOOK, id);
      return found?.payer === payer && records.delete(WEBHOOK, id);
    },
    /** The webhooks that receive an event: its account's, and the operator's. */
    async hearing(event: Event): Promise<readonly Webhook[]> {
      const own = event.accountId === null ? [] : await of(`acct:${event.accountId}`);
      return [...own, ...(await of(OPERATOR))].filter(({ kinds }) => kinds === null || kinds.includes(event.kind));
    },
  };
}
