// The gateway as a process: reads the environment, starts, and obeys signals; nothing else.
import { prepareEnvironment, readConfig } from "./config.ts";
import { type Gateway, startGateway } from "./gateway.ts";

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** What a setting, a port or a folder has against the start is a sentence for the operator; a bug needs its stack. */
function stop(error: unknown): never {
  const isBug = error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
  const words = error instanceof Error ? error.message : String(error);
  say(`tollgate: ${isBug ? (error.stack ?? words) : words}`);
  process.exit(1);
}

function obeySignals(gateway: Gateway): void {
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
      () => say("Adapters and tiers were read again."),
      (error: unknown) =>
        say(`Adapters and tiers stay as they were: ${error instanceof Error ? error.message : error}`),
    );
  });
}

try {
  prepareEnvironment();
  const gateway = await startGateway({ config: readConfig(), onFatal: stop });
  obeySignals(gateway);
  say(`Tollgate listens on ${gateway.url}, its admin listener on ${gateway.adminUrl}.`);
} catch (error) {
  stop(error);
}
