// Commands that need no gateway: the settings, and the sandbox upstream by itself.
import { once } from "node:events";
import { describeSettings, effectiveSettings } from "../config.ts";
import type { Command } from "./command.ts";
import { table } from "./text.ts";

/** The table of all settings, as `tollgate config --help` shows it. */
export function settingsText(): string {
  const rows = describeSettings().map((row) => [row.name, row.default, row.meaning]);
  return table(["VARIABLE", "DEFAULT", "MEANING"], rows);
}

const config: Command = {
  name: "config",
  takes: [],
  options: {},
  summary: "Checks the settings and shows what is in force, secrets masked; with --help, explains all of them",
  async run(_typed, { environment }) {
    const json = effectiveSettings(environment);
    const rows = json.map(({ name, value, from }) => [name, value, from === "default" ? "" : "set"]);
    return { json, text: table(["VARIABLE", "VALUE", ""], rows) };
  },
};

const sandbox: Command = {
  name: "sandbox",
  takes: [],
  options: {
    host: { value: "ADDRESS", meaning: "where to listen, 127.0.0.1 without it" },
    port: { value: "PORT", meaning: "8090 without it; 0 takes a free one" },
  },
  summary: "Runs the sandbox upstream alone, until it is stopped",
  async run(typed, { say }) {
    const { startSandbox } = await import("../sandbox/server.ts");
    const server = await startSandbox({ host: typed.text("host") ?? "127.0.0.1", port: typed.number("port") ?? 8090 });
    say(`The sandbox upstream listens on ${server.url}; GET ${server.url}/ lists what it can do.`);
    await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
    const books = server.books();
    await server.close();
    return { json: books, text: "Stopped." };
  },
};

export const LOCAL_COMMANDS: readonly Command[] = [config, sandbox];
