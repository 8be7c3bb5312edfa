// The gateway as a process: reads the environment, starts, and obeys signals; nothing else.
import { CatalogError } from "./catalog/validate.ts";
import { ConfigError, prepareEnvironment, readConfig } from "./config.ts";
import { type Gateway, startGateway } from "./gateway.ts";

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function stop(error: unknown): never {
  const expected = error instanceof ConfigError || error instanceof CatalogError;
  say(
    `tollgate: ${error instanceof Error ? (expected ? error.message : (error.stack ?? error.message)) : String(error)}`,
  );
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
