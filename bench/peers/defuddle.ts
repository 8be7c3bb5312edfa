// Defuddle over the DOM that it names for servers, installed for the bench alone into bench/.peers.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Unavailable } from "../subjects.ts";

const VERSIONS = ["defuddle@0.19.4", "linkedom@0.18.15", "turndown@7.2.5"];
const HOME = fileURLToPath(new URL("../.peers/extraction", import.meta.url));
const ENTRY = join(HOME, "node_modules/defuddle/dist/node.js");

interface Entry {
  Defuddle(html: string, url: string, options: object): Promise<{ readonly content: string }>;
}

export async function openDefuddle(): Promise<(html: string, url: string) => Promise<string>> {
  if (!existsSync(ENTRY)) {
    mkdirSync(HOME, { recursive: true });
    const flags = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
    spawnSync("npm", ["install", "--prefix", HOME, ...flags, ...VERSIONS], { stdio: "ignore" });
    if (!existsSync(ENTRY)) throw new Unavailable("defuddle could not be installed (is the registry reachable?)");
  }
  const { Defuddle } = (await import(pathToFileURL(ENTRY).href)) as Entry;
  return async (html, url) => (await Defuddle(html, url, { markdown: true, useAsync: false })).content;
}
