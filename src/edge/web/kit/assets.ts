// What pages load beside themselves: one stylesheet and a few small scripts, each under an address that changes with its content.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { answerWith, readyAnswer } from "../../../actions/run/ready-answer.ts";
import type { Call, EndpointSpec } from "../../../core/endpoint.ts";

const TYPES = { css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8" } as const;

/** It never changes under its address, so browsers need not ask again. */
const KEPT = { "cache-control": "public, max-age=31536000, immutable", "x-content-type-options": "nosniff" };

export interface Asset {
  /** Where pages find it, on either listener. */
  readonly href: string;
  readonly endpoint: EndpointSpec;
}

/** Reads files beside this code once, when the program starts; it is named by the last of them. */
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

/** Both listeners serve them. */
export function assetEndpoints(): readonly EndpointSpec[] {
  return [STYLE, SCRIPT, TRY_SCRIPT].map(({ endpoint }) => endpoint);
}
