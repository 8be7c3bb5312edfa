// One of several processes: starts when the parent sends its settings, serves callers, and exits on request or when the parent is gone.

import { type Gateway, startGateway } from "../gateway/gateway.ts";
import { openWallet } from "../money/wallet/wallet.ts";
import { readConfig, takeWalletKeys } from "../platform/config.ts";
import { EndRequested, StoreGone } from "../platform/storage/remote-thread.ts";
import type { ChildPart, FromChild, ToChild, WorkerStart } from "./child.ts";

/** Tells the program that it is a child. */
export const WORKER_ARGUMENT = "worker";
const WHOLE: ChildPart = { role: "both", serves: true };
/** How long a process that has lost its store waits to see whether the parent has exited. It starts no paid calls meanwhile. */
const PARENT_ENDS_MS = 1_000;

/** Resolves once the message is sent to the parent. */
function tellParent(message: FromChild): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, undefined, () => resolve());
  });
}

async function startAs(
  { ownDir, part = WHOLE, port, sandboxUrl }: WorkerStart,
  onFatal: (error: Error) => void,
): Promise<Gateway> {
  const config = { ...readConfig(), port, sandboxUrl, role: part.role };
  const gateway = await startGateway({
    config,
    onFatal,
    wallet: await openWallet(takeWalletKeys()),
    role: { kind: "child", ownDir, serves: part.serves },
  });
  await tellParent({ kind: "ready" });
  return gateway;
}

/** Serves until the parent says otherwise. `stop` ends the process with a message for the operator. */
export function runWorker(stop: (error: unknown) => never): void {
  let gateway: Gateway | null = null;
  // Of several processes that exit for one cause, only the origin reports it: the parent, where the store is gone because the parent
  // exited.
  function end(error: Error): void {
    const isParents = error instanceof EndRequested || (error instanceof StoreGone && !process.connected);
    if (isParents) process.exit(1);
    if (!(error instanceof StoreGone)) stop(error);
    process.prependOnceListener("disconnect", () => process.exit(1));
    setTimeout(stop, PARENT_ENDS_MS, error);
  }

  async function leave(how: "drain" | "retire"): Promise<void> {
    await gateway?.[how]();
    if (gateway !== null) await tellParent({ kind: "metrics", id: 0, text: await gateway.metricsText() });
    process.exit(0);
  }
  const go = (how: "drain" | "retire"): void => void leave(how).catch(stop);

  async function obey(message: ToChild): Promise<void> {
    if (message.kind === "start") gateway = await startAs(message, end);
    else if (message.kind === "drain" || message.kind === "retire") go(message.kind);
    else if (gateway !== null) await tellParent({ kind: "metrics", id: message.id, text: await gateway.metricsText() });
  }

  process.on("message", (message: ToChild) => void obey(message).catch(stop));
  // The parent has died. Finish open requests, but give up the port at once, so that a new parent can start.
  process.on("disconnect", () => go("drain"));
  // A terminal or a service manager signals the whole process group; the parent replaces a child that leaves alone.
  for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => go("drain"));
  process.on("SIGHUP", () => {});
}
