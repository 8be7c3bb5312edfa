// The program of the wallet's own process: it is told the keys once, signs transfers when it is asked to, and knows nothing else.
import type { Rail } from "../catalog/auth.ts";
import type { Hex } from "./hex.ts";
import { addressOfKey } from "./keys.ts";
import { type Signing, signWith } from "./signer.ts";

/** What the gateway says: first the keys, then what is to be signed. */
export type ToWallet =
  | { readonly keys: Readonly<Record<Rail, Hex | null>> }
  | { readonly id: number; readonly rail: Rail; readonly signing: Signing };

/** What it hears. `failed`: it could not be signed; why is not told, since it might tell the key. */
export type FromWallet =
  | { readonly addresses: Readonly<Record<Rail, Hex | null>> }
  | { readonly id: number; readonly signed: Hex }
  | { readonly id: number; readonly failed: true };

let keys: Readonly<Record<Rail, Hex | null>> = { mpp: null, x402: null };

function say(message: FromWallet): void {
  process.send?.(message);
}

function hear(message: ToWallet): void {
  if ("keys" in message) {
    keys = message.keys;
    const { mpp, x402 } = keys;
    return say({ addresses: { mpp: mpp && addressOfKey(mpp), x402: x402 && addressOfKey(x402) } });
  }
  const { id, rail, signing } = message;
  try {
    const key = keys[rail];
    say(key === null ? { id, failed: true } : { id, signed: signWith(key, signing) });
  } catch {
    say({ id, failed: true });
  }
}

process.on("message", hear);
// A terminal signals all processes of its group; this one is needed until the gateway has drained.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
process.on("disconnect", () => process.exit(0));
