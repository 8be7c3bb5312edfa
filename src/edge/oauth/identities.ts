// The account of a person of the OpenID provider: a record by issuer and subject, never by e-mail address, which changes owners.
import { hash } from "node:crypto";
import { isRecord, stringOf } from "../../core/json.ts";
import type { Records, StoredRecord } from "../../platform/records/records.ts";
import type { Identity } from "./openid-provider.ts";

const KIND = "oidc-identity";
/** The time for opening an account; another sign-in of the same person waits for it. */
const CLAIM_MS = 60_000;
/** The account being opened for a person, stored before it is opened: if the process dies, the person's next sign-in finishes it. */
const OPENING = "oidc-opening";
const OPENING_MS = 7 * 24 * 3_600_000;
const LINKED_MAX = 50;

/** The account's primary key, with which a session acts. */
export interface Place {
  readonly accountId: string;
  readonly keyId: string;
}

/** A person who may sign in to an account. */
export interface Linked {
  readonly id: string;
  /** The e-mail address from the provider, or else the subject. */
  readonly words: string;
}

export type Identities = ReturnType<typeof createIdentities>;

function placeIn(kept: StoredRecord): Place | null {
  const value: unknown = JSON.parse(kept.value);
  const [accountId, keyId] = isRecord(value) ? [stringOf(value.accountId), stringOf(value.keyId)] : [];
  return accountId == null || keyId == null ? null : { accountId, keyId };
}

export function createIdentities(records: Records, mintIds: () => Place) {
  const idOf = ({ issuer, subject }: Identity) => hash("sha256", JSON.stringify([issuer, subject]), "hex");
  const payerOf = (accountId: string) => `acct:${accountId}`;

  async function put(identity: Identity, { accountId, keyId }: Place, ifVersion: number | null): Promise<boolean> {
    const words = identity.email ?? identity.subject;
    const value = JSON.stringify({ accountId, keyId, words });
    const row = { kind: KIND, id: idOf(identity), payer: payerOf(accountId), value, ttlMs: null, ifVersion };
    return (await records.put(row)) !== null;
  }

  /** The account ids to open for this person: the same as last time if that was interrupted. */
  async function openingOf(id: string): Promise<Place> {
    const before = await records.get(OPENING, id);
    const begun = before === null ? null : placeIn(before);
    if (begun !== null) return begun;
    const ids = mintIds();
    const row = { kind: OPENING, id, payer: null, value: JSON.stringify(ids), ttlMs: OPENING_MS, ifVersion: null };
    await records.put(row);
    return ids;
  }

  return {
    /** `opening`: the account is being opened. Null: none is linked. */
    async of(identity: Identity): Promise<Place | "opening" | null> {
      const kept = await records.get(KIND, idOf(identity));
      return kept === null ? null : (placeIn(kept) ?? "opening");
    },
    /** False: the identity is already linked to this or another account, or the account has reached its limit of links. */
    async link(identity: Identity, place: Place): Promise<boolean> {
      const { rows } = await records.list(KIND, payerOf(place.accountId), LINKED_MAX, null);
      return rows.length < LINKED_MAX && put(identity, place, 0);
    },
    /** Claims the identity, opens its account and links it. Null: another sign-in of the same person has just started that. */
    async opened(identity: Identity, open: (ids: Place) => Promise<Place>): Promise<Place | null> {
      const id = idOf(identity);
      const claim = { kind: KIND, id, payer: null, value: "{}", ttlMs: CLAIM_MS, ifVersion: 0 };
      if ((await records.put(claim)) === null) return null;
      let opened: Place | null = null;
      try {
        opened = await open(await openingOf(id));
        return opened;
      } finally {
        if (opened !== null) {
          await put(identity, opened, null);
          await records.delete(OPENING, id);
        } else await records.delete(KIND, id);
      }
    },
    async list(accountId: string): Promise<readonly Linked[]> {
      const { rows } = await records.list(KIND, payerOf(accountId), LINKED_MAX, null);
      return rows.map(({ id, value }) => ({ id, words: String(JSON.parse(value).words) }));
    },
    /** Only links of this account. */
    async unlink(accountId: string, id: string): Promise<void> {
      const kept = await records.get(KIND, id);
      if (kept?.payer !== payerOf(accountId)) return;
      // The next sign-in must not return to an account from which this person was unlinked.
      await records.delete(OPENING, id);
      await records.delete(KIND, id);
    },
  };
}
