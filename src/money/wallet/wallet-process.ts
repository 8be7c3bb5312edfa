// The program of the wallet's own process: it is told the keys once, signs transfers when it is asked to, and knows nothing else.
import type { Hex } from "./hex.ts";
import { addressOfKey } from "./keys.ts";
import { type KeyUse, type Signing, signWith } from "./signer.ts";

export type Keys = Readonly<Record<KeyUse, Hex | null>>;

/** What the gateway says: first the keys, then what is to be signed. */
export type ToWallet =
  | { readonly keys: Keys }
  | { readonly id: number; readonly use: KeyUse; readonly signing: Signing };

/** What it hears. `failed`: it could not be signed; why is not told, since it might tell the key. */
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
    // The key of a rail sends no transaction of any kind, and that of gas authorizes no transfer.
    const isFor = (signing.kind === "transaction") === (use === "gas");
    say(key === null || !isFor ? { id, failed: true } : { id, signed: signWith(key, signing) });
  } catch {
    say({ id, failed: true });
  }
}

process.on("message", hear);
// A terminal signals all processes of its group; this one is needed until the gateway has drained.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
process.on("disconnect", () => process.exit(0));
