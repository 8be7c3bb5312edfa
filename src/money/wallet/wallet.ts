// The gateway's side of the wallet: a child process holds the keys and signs on request. This process keeps no key.
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Hex } from "./hex.ts";
import { isPrivateKey } from "./keys.ts";
import type { KeyUse, Signer, Signers, Signing } from "./signer.ts";
import type { FromWallet, Keys, ToWallet } from "./wallet-process.ts";

const PROGRAM = fileURLToPath(new URL("./wallet-process.ts", import.meta.url));
const GONE = "the wallet's process has ended: payments go on after a restart of the gateway";
/** A signature takes a few milliseconds. */
const SIGN_MS_MAX = 10_000;

export interface Wallet {
  readonly signers: Signers;
  /** Signs the transactions that collect callers' payments; null without a key. */
  readonly gas: Signer | null;
  /** Calls the listener once if the process dies. It cannot be restarted, because the keys are gone. */
  onLost(listener: (error: Error) => void): void;
  close(): void;
}

export const NO_WALLET: Wallet = { signers: { mpp: null, x402: null }, gas: null, onLost() {}, close() {} };

interface Waiting {
  resolve(signed: Hex): void;
  reject(error: Error): void;
}

class WalletProcess {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ready = Promise.withResolvers<Keys>();
  #lastId = 0;
  #lost: Error | null = null;
  #closed = false;
  onLost: (error: Error) => void = () => {};

  constructor() {
    // The process gets none of our environment, and talks over the channel only.
    const stdio = ["ignore", "ignore", "inherit", "ipc"] as const;
    const execArgv = ["--disable-warning=ExperimentalWarning"];
    this.#process = fork(PROGRAM, [], { env: {}, execArgv, stdio: [...stdio] });
    this.#process.on("message", (message: FromWallet) => this.#hear(message));
    this.#process.on("error", (error) => this.#end(error));
    this.#process.once("exit", () => this.#end(new Error(GONE)));
    // The wallet must not keep an otherwise idle gateway alive.
    this.#process.unref();
    this.#process.channel?.unref();
  }

  /** Hands over the keys; resolves with their addresses. */
  open(keys: Keys): Promise<Keys> {
    this.#process.channel?.ref();
    this.#say({ keys });
    return this.#ready.promise.finally(() => this.#process.channel?.unref());
  }

  signer(use: KeyUse, address: Hex): Signer {
    return {
      address,
      sign: async (signing: Signing) => {
        if (this.#lost !== null) throw this.#lost;
        const id = ++this.#lastId;
        const signed = Promise.withResolvers<Hex>();
        this.#waiting.set(id, signed);
        // Neither a closed channel nor a hung process answers.
        const timer = setTimeout(() => signed.reject(new Error("the wallet does not answer")), SIGN_MS_MAX);
        this.#say({ id, use, signing });
        return signed.promise.finally(() => {
          clearTimeout(timer);
          this.#waiting.delete(id);
        });
      },
    };
  }

  close(): void {
    this.#closed = true;
    if (this.#process.connected) this.#process.disconnect();
  }

  #say(message: ToWallet): void {
    // The process's exit reports a channel that has just broken.
    if (this.#process.connected) this.#process.send(message, () => {});
  }

  #hear(message: FromWallet): void {
    if ("addresses" in message) return this.#ready.resolve(message.addresses);
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if ("signed" in message) waiting?.resolve(message.signed);
    else waiting?.reject(new Error("the wallet could not sign"));
  }

  #end(error: Error): void {
    if (this.#lost !== null) return;
    this.#lost = error;
    this.#ready.reject(error);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    if (!this.#closed) this.onLost(error);
  }
}

/** Starts the wallet's process with its keys; starts none without keys. Rejects where the start fails or a key is invalid. */
export async function openWallet(keys: Keys): Promise<Wallet> {
  const set = Object.entries(keys).filter(([, key]) => key !== null);
  if (set.length === 0) return NO_WALLET;
  for (const [use, key] of set)
    if (!isPrivateKey(String(key))) throw new Error(`the wallet's private key for ${use} is none of its curve`);
  const wallet = new WalletProcess();
  const { mpp, x402, gas } = await wallet.open(keys);
  return {
    signers: { mpp: mpp && wallet.signer("mpp", mpp), x402: x402 && wallet.signer("x402", x402) },
    gas: gas && wallet.signer("gas", gas),
    onLost(listener) {
      wallet.onLost = listener;
    },
    close: () => wallet.close(),
  };
}
