// The assets of pages: one stylesheet and a few small scripts, each at a URL that changes with its content.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { answerWith, readyAnswer } from "../../../actions/run/ready-answer.ts";
import type { Call, EndpointSpec } from "../../../core/endpoint.ts";

const TYPES = { css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8" } as const;

/** The content at a URL never changes, so browsers need not revalidate it. */
const KEPT = { "cache-control": "public, max-age=31536000, immutable", "x-content-type-options": "nosniff" };

export interface Asset {
  /** Its URL, on either listener. */
  readonly href: string;
  readonly endpoint: EndpointSpec;
}

/** Reads files beside this code once, at the start of the program; the last file names the asset. */
function assetOf(type: keyof typeof TYPES, ...files: readonly [string, ...string[]]): Asset {
  const text = files.map((file) => readFileSync(new URL(file, import.meta.url), "utf8")).join("");
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 12);
  const name = path.basename(files.at(-1) ?? files[0]).replace(/\.\w+$/, "");
  const href = `/assets/${name}.${hash}.${type}`;
  const ready = readyAnswer(text, TYPES[type], KEPT);
  const shape = { method: "GET", path: href, auth: "none", bodyBytesMax: 0 } as const;
  return { href, endpoint: Object.assign({ answer: ({ request }: Call) => answerWith(ready, request) }, shape) };
}

export const STYLE = assetOf("css", "../base.css", "pages.css");
export const SCRIPT = assetOf("js", "../copy.js", "live.js");
export const TRY_SCRIPT = assetOf("js", "../try/try.js");

/** Served by both listeners. */
export function assetEndpoints(): readonly EndpointSpec[] {
  return [STYLE, SCRIPT, TRY_SCRIPT].map(({ endpoint }) => endpoint);
}
