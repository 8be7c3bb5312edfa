// The assets of pages: a font, one stylesheet and a few small scripts, each at a URL that changes with its content.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { answerWith, readyAnswer } from "../../../actions/run/ready-answer.ts";
import type { Call, EndpointSpec } from "../../../core/endpoint.ts";

const TYPES = { css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8", woff2: "font/woff2" } as const;

/** The content at a URL never changes, so browsers need not revalidate it. */
const KEPT = { "cache-control": "public, max-age=31536000, immutable", "x-content-type-options": "nosniff" };

/** An asset's URL, on either listener, and its endpoint. */
function assetOf(name: string, type: keyof typeof TYPES, content: string | Buffer) {
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 12);
  const href = `/assets/${name}.${hash}.${type}`;
  const ready = readyAnswer(content, TYPES[type], KEPT);
  const shape = { method: "GET", path: href, auth: "none", bodyBytesMax: 0 } as const;
  return { href, endpoint: Object.assign({ answer: ({ request }: Call) => answerWith(ready, request) }, shape) };
}

/** The texts of files beside this code, one after the other; read once, at the start of the program. */
function textOf(...files: readonly string[]): string {
  return files.map((file) => readFileSync(new URL(file, import.meta.url), "utf8")).join("");
}

/** Inter (SIL Open Font License 1.1), Latin letters, all weights. */
export const FONT = assetOf(
  "inter",
  "woff2",
  readFileSync(
    createRequire(import.meta.url).resolve("@fontsource-variable/inter/files/inter-latin-wght-normal.woff2"),
  ),
);
const FONT_FACE = `@font-face{font-family:"Inter Variable";font-weight:100 900;font-display:swap;src:url(${FONT.href}) format("woff2")}\n`;
export const STYLE = assetOf("pages", "css", FONT_FACE + textOf("../base.css", "pages.css"));
export const SCRIPT = assetOf("live", "js", textOf("../copy.js", "live.js"));
export const CATALOG_SCRIPT = assetOf("catalog", "js", textOf("../copy.js", "../catalog.js"));
export const TRY_SCRIPT = assetOf("try", "js", textOf("../try/try.js"));

/** Served by both listeners. */
export function assetEndpoints(): readonly EndpointSpec[] {
  return [FONT, STYLE, SCRIPT, CATALOG_SCRIPT, TRY_SCRIPT].map(({ endpoint }) => endpoint);
}
