// The wallet's own process. It receives the keys once, signs on request, and does nothing else.
import type { Hex } from "./hex.ts";
import { addressOfKey } from "./keys.ts";
import { type KeyUse, type Signing, signWith } from "./signer.ts";

export type Keys = Readonly<Record<KeyUse, Hex | null>>;

/** Messages from the gateway: first the keys, then what to sign. */
export type ToWallet =
  | { readonly keys: Keys }
  | { readonly id: number; readonly use: KeyUse; readonly signing: Signing };

/** Messages to the gateway. `failed` carries no reason, since a reason might leak the key. */
export type FromWallet =
  | { readonly addresses: Keys }
  | { readonly id: number; readonly signed: Hex }
  | { readonly id: number; readonly failed: true };

let keys: Keys = { mpp: null, x402: null, gas: null };

function say(message: FromWallet): void {
  process.send?.(message);
}

function hear(message: ToWallet): void {
  if ("keys" in message) {
    keys = message.keys;
    const { mpp, x402, gas } = keys;
    const addresses = {
      mpp: mpp && addressOfKey(mpp),
      x402: x402 && addressOfKey(x402),
      gas: gas && addressOfKey(gas),
    };
    return say({ addresses });
  }
  const { id, use, signing } = message;
  try {
    const key = keys[use];
    // A rail's key signs no transactions, and the gas key no transfers.
    const isFor = (signing.kind === "transaction") === (use === "gas");
    say(key === null || !isFor ? { id, failed: true } : { id, signed: signWith(key, signing) });
  } catch {
    say({ id, failed: true });
  }
}

process.on("message", hear);
// A terminal signals its whole process group; this process must live until the gateway has drained.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
process.on("disconnect", () => process.exit(0));
