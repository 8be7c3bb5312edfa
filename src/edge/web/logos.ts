// Logos of providers from a kept icon package (MIT), as one stylesheet; initials where it has none.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { getOrMake } from "../../core/maps.ts";
import { type Html, html } from "./html.ts";

const FOLDER = join(createRequire(import.meta.url).resolve("@lobehub/icons-static-svg/package.json"), "../icons");
const files = new Map<string, string | null>();

/** The icon's file for `mistralai`, `x-ai` or `meta-llama`; null where there is none. */
function fileOf(name: string): string | null {
  return getOrMake(files, name, () => {
    const plain = name.toLowerCase().replace(/[^a-z0-9]/g, "");
    const stems = [plain, plain.replace(/ai$/, ""), name.split("-")[0] ?? ""];
    return stems.map((stem) => join(FOLDER, `${stem}.svg`)).find((path) => existsSync(path)) ?? null;
  });
}

/** The logo of a provider or service, by its id. */
export function logo(name: string): Html {
  if (fileOf(name) !== null) return html`<span class="logo" data-of="${name}" aria-hidden="true"></span>`;
  const letters = name.replace(/[^\p{L}\p{N}]/gu, "").slice(0, 2);
  return html`<span class="logo" aria-hidden="true">${letters}</span>`;
}

/** A stylesheet with the logos of these providers and services. */
export function logosCss(names: Iterable<string>): string {
  const rules = [...new Set(names)].flatMap((name) => {
    const file = fileOf(name);
    if (file === null) return [];
    const svg = readFileSync(file, "utf8").replace(/<title>[^<]*<\/title>/, "");
    const data = svg.replaceAll('"', "'").replace(/[#%<>]/g, encodeURIComponent);
    return [`[data-of="${name}"]{--logo:url("data:image/svg+xml,${data}")}`];
  });
  return rules.join("\n");
}
