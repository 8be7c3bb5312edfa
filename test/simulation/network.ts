// A process's link to the store, with every possible message fault, and the retries of a careful sender.
import { GatewayError } from "../../src/core/errors.ts";
import type { SharedLedger } from "../../src/money/ledger/model/ledger.ts";
import type { Records } from "../../src/platform/records/records.ts";
import type { Chance } from "./random.ts";
import type { Fault, MessageFault } from "./scenario.ts";
import { type Kept, operations, type Store } from "./store.ts";
import { OUTSIDE, type Owner, type VirtualTime } from "./virtual-time.ts";

/** As in the real link: a slower answer counts as lost, and the message is sent once more. */
const COMMAND_MS_MAX = 500;
const SENDS_MAX = 2;

type Operation = keyof typeof operations;
type MessageTrouble = Extract<Fault, { readonly kind: MessageFault }>;

export interface World {
  readonly time: VirtualTime;
  readonly chance: Chance;
  /** The wall clock at virtual time zero. */
  readonly startMs: number;
  readonly store: Store;
  readonly faults: readonly Fault[];
  /** Whether a gateway cannot reach the store now. */
  isCut(gateway: number): boolean;
}

/** Counts the messages of each kind, and decides what happens to each. */
export function messageFaults(faults: readonly Fault[]): (operation: string) => readonly MessageTrouble[] {
  const counts = new Map<string, number>();
  const troubles = faults.filter((fault): fault is MessageTrouble => "operation" in fault);
  return (operation) => {
    const nth = counts.get(operation) ?? 0;
    counts.set(operation, nth + 1);
    return troubles.filter(
      (fault) => fault.operation === operation && nth >= fault.nth && nth < fault.nth + fault.times,
    );
  };
}

export class Network {
  readonly #world: World;
  readonly #troublesOf: (operation: string) => readonly MessageTrouble[];

  constructor(world: World) {
    this.#world = world;
    this.#troublesOf = messageFaults(world.faults);
  }

  /** Resolves with the store's answer, rejects with the store's error, or never settles. */
  #message<T>(
    gateway: number,
    owner: Owner,
    operation: Operation,
    change: (kept: Kept, atMs: number) => T,
  ): Promise<T> {
    const { time, chance, store } = this.#world;
    const troubles = this.#troublesOf(operation);
    const msOf = (kind: MessageFault) => troubles.find((trouble) => trouble.kind === kind)?.ms ?? 0;
    const has = (kind: MessageFault) => troubles.some((trouble) => trouble.kind === kind);
    const { generation } = store;
    const arrives = () => store.isUp && store.generation === generation && !this.#world.isCut(gateway);
    return new Promise((resolve, reject) => {
      if (!arrives() || has("drop-request")) return;
      const arrive = (isFirst: boolean) => {
        if (!arrives()) return;
        try {
          const done = store.apply(operation, change);
          // The answer leaves when the change is on disk.
          time.after(chance.between(0, 2), OUTSIDE, () => {
            if (store.generation !== generation || !store.isUp) return;
            done.durable();
            if (!isFirst || has("drop-reply")) return;
            time.after(chance.between(0.1, 3) + msOf("delay-reply"), owner, () => {
              if (arrives()) resolve(done.value);
            });
          });
        } catch (error) {
          reject(error);
        }
      };
      const travelMs = chance.between(0.1, 3) + msOf("delay-request");
      time.after(travelMs, OUTSIDE, () => arrive(true));
      if (has("duplicate")) time.after(travelMs + msOf("duplicate"), OUTSIDE, () => arrive(false));
    });
  }

  /** Sends, retries once where no answer came, and then gives up. */
  send<T>(gateway: number, owner: Owner, operation: Operation, change: (kept: Kept, atMs: number) => T): Promise<T> {
    const { time } = this.#world;
    return new Promise((resolve, reject) => {
      const attempt = (sent: number): void => {
        const giveUp = time.after(COMMAND_MS_MAX, owner, () => {
          if (sent < SENDS_MAX) return attempt(sent + 1);
          reject(
            new GatewayError("ledger_unavailable", {
              retryAfterSeconds: 1,
              cause: new Error(`${operation} was not answered`),
            }),
          );
        });
        this.#message(gateway, owner, operation, change).then((value) => {
          giveUp();
          resolve(value);
        }, reject);
      };
      attempt(1);
    });
  }

  /** The ledger as one process of a gateway sees it. */
  ledger(gateway: number, owner: Owner): SharedLedger {
    const send = <T>(name: Operation, change: (kept: Kept, atMs: number) => T) =>
      this.send(gateway, owner, name, change);
    const part = {
      reserve: (request) => send("reserve", operations.reserve(request)),
      extend: (hold, amountNano, accrued, leaseMs) =>
        send("extend", operations.extend(hold, amountNano, accrued, leaseMs)),
      standing: (hold) => send("standing", operations.standing(hold)),
      renew: (holds, leaseMs) => send("renew", operations.renew(holds, leaseMs)),
      post: (request) => send("post", operations.post(request)),
      void: (hold, _reason, end = {}) => send("void", operations.void(hold, end)),
      settleOrphan: (request, origin, why) => send("settleOrphan", operations.settleOrphan(request, origin, why)),
      voidOrphan: (hold, end, origin) => send("voidOrphan", operations.voidOrphan(hold, end, origin)),
      sweep: () => send("sweep", operations.sweep()),
      holdState: (hold) => send("holdState", operations.holdState(hold)),
      transaction: (account, id) => send("transaction", operations.transaction(account ?? "", id)),
      account: (id) => send("account", operations.account(id)),
      close: () => Promise.resolve(),
    } satisfies Partial<SharedLedger>;
    return part as unknown as SharedLedger;
  }

  records(gateway: number, owner: Owner): Records {
    const get: Records["get"] = (kind, id) => this.send(gateway, owner, "get", operations.get(kind, id));
    return {
      put: (record) => this.send(gateway, owner, "put", operations.put(record)),
      get,
      sizes: async (kind, ids) => {
        const found = await Promise.all(ids.map((id) => get(kind, id)));
        return found.map((record) => (record === null ? null : Buffer.byteLength(record.value)));
      },
      delete: (kind, id) => this.send(gateway, owner, "delete", operations.delete(kind, id)),
      list: (kind, payer) => this.send(gateway, owner, "list", operations.list(kind, payer)),
      sweep: () => Promise.resolve(0),
    };
  }
}
