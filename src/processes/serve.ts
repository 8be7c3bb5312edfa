// Runs the gateway as one process or several, and handles signals until it has exited.

import { startGateway } from "../gateway/gateway.ts";
import { openWallet } from "../money/wallet/wallet.ts";
import { type Config, checkStart, takeWalletKeys } from "../platform/config.ts";
import { type Processes, servingOf, startProcesses } from "./parent.ts";
import type { Patience } from "./supervisor.ts";

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Exits with a sentence for the operator where a setting, a port or a folder prevents the start; with a stack for a bug. */
export function stop(error: unknown): never {
  const isBug = error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
  const words = error instanceof Error ? error.message : String(error);
  say(`tollgate: ${isBug ? (error.stack ?? words) : words}`);
  process.exit(1);
}

async function sayListening(started: Pick<Processes, "url" | "adminUrl" | "startWords">): Promise<void> {
  say(`Tollgate listens on ${started.url}, its admin listener on ${started.adminUrl}.`);
  for (const line of await started.startWords()) say(line);
}

interface Reread {
  readonly done: string;
  readonly failed: string;
}

const ONE: Reread = { done: "Adapters and tiers were read again.", failed: "Adapters and tiers stay as they were" };
const SEVERAL: Reread = { done: "Every process was replaced.", failed: "Not every process was replaced" };

function obeySignals(gateway: Pick<Processes, "drain" | "reload">, { done, failed }: Reread): void {
  let leaving = false;
  const leave = (): void => {
    if (leaving) return;
    leaving = true;
    say("Draining: running answers finish, new requests are turned away.");
    gateway.drain().then(() => process.exit(0), stop);
  };
  process.on("SIGTERM", leave);
  process.on("SIGINT", leave);
  process.on("SIGHUP", () => {
    gateway.reload().then(
      () => say(done),
      (error: unknown) => say(`${failed}: ${error instanceof Error ? error.message : error}`),
    );
  });
}

/** Starts what the settings say. Rejects with a sentence for the operator; `patience` replaces the default timeouts for children. */
export async function serve(config: Config, patience?: Patience): Promise<void> {
  checkStart(config);
  // A start reads everything anyway. Unhandled, the signal would end the process, and a service manager takes that for a clean exit.
  process.on("SIGHUP", () => {});
  if (config.workers === 1) {
    const gateway = await startGateway({ config, onFatal: stop, wallet: await openWallet(takeWalletKeys()) });
    obeySignals(gateway, ONE);
    await sayListening(gateway);
    return;
  }
  const processes = await startProcesses(config, say, stop, patience);
  obeySignals(processes, SEVERAL);
  const serving = servingOf(config);
  const beside = serving < config.workers ? ", and one beside them does what no call asks for" : "";
  say(`${serving} processes share the public port${beside}.`);
  await sayListening(processes);
}
