// The stores for a process that dies at one of its operations: before it, or after it but before the answer.
import type { Stores } from "../../src/gateway/stores.ts";

export interface MortalStores extends Pick<Stores, "ledger" | "records" | "shared"> {
  /** The number of operations begun. */
  operations(): number;
  /** Settles at its death. */
  readonly died: Promise<void>;
}

/** Dies at the operation of this number, counted from 1; from then on no operation begins and none is answered. */
export function mortalStores(
  stores: Pick<Stores, "ledger" | "records" | "shared">,
  dieAt = Number.POSITIVE_INFINITY,
  when: "before" | "after" = "before",
): MortalStores {
  let count = 0;
  let isDead = false;
  const { promise: died, resolve: die } = Promise.withResolvers<void>();
  const dead = (): Promise<never> => {
    isDead = true;
    die();
    return new Promise(() => {});
  };
  const mortal = <Store extends object>(store: Store): Store =>
    new Proxy(store, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== "function") return method;
        return (...words: unknown[]) => {
          if (isDead) return dead();
          count += 1;
          const isLast = count === dieAt;
          if (isLast && when === "before") return dead();
          const answer: unknown = Reflect.apply(method, target, words);
          if (!(answer instanceof Promise)) return answer;
          return answer.then(
            (told: unknown) => (isLast || isDead ? dead() : told),
            (error: unknown) => (isLast || isDead ? dead() : Promise.reject(error)),
          );
        };
      },
    });
  return {
    ledger: mortal(stores.ledger),
    records: mortal(stores.records),
    shared: stores.shared,
    operations: () => count,
    died,
  };
}
