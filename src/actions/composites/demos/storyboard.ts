// The storyboard of a demo: scenes of one site, each with a few allowed steps, checked before anything runs.
import { z } from "zod";
import type { JsonObject } from "../../../catalog/said.ts";

const SCENES_MAX = 10;
const STEPS_MAX = 12;
export const [SECONDS_MIN, SECONDS_MAX] = [2, 30] as const;
const WAIT_SECONDS_MAX = 10;
const URL_CHARS_MAX = 2_048;

const line = (charsMax: number) =>
  z
    .string()
    .max(charsMax)
    .regex(/^[^\p{Cc}]*$/u, "must be one line of text");
const words = (charsMax: number) => line(charsMax).regex(/\S/, "must not be blank");
const place = words(200).describe("Words that are to be seen on it, such as Prices");

/** The allowed steps. None runs a script. */
export const step = z.discriminatedUnion("do", [
  z.strictObject({ do: z.literal("goto"), url: words(URL_CHARS_MAX).describe("A page of the same site") }),
  z.strictObject({ do: z.literal("click"), on: place.describe("What is to be read on the link or button") }),
  z.strictObject({
    do: z.literal("type"),
    into: place.describe("Label, placeholder or name of the field"),
    text: words(200).describe("What is typed"),
  }),
  z.strictObject({
    do: z.literal("scroll"),
    by: z.int().min(-5_000).max(5_000).describe("Pixels; below zero upwards"),
  }),
  z.strictObject({ do: z.literal("wait"), seconds: z.number().min(0.1).max(WAIT_SECONDS_MAX) }),
]);
export type Step = z.infer<typeof step>;

export const scenePart = {
  steps: z
    .array(step)
    .max(STEPS_MAX)
    .default([])
    .describe("What is done on the page, in order: goto, click, type, scroll, wait"),
  caption: line(120).default("").describe("What stands below the picture"),
  narration: line(600).default("").describe("What is said; empty: nothing"),
};

const scene = z.strictObject({
  url: words(URL_CHARS_MAX),
  steps: z.array(step).max(STEPS_MAX),
  caption: scenePart.caption,
  narration: scenePart.narration,
  seconds: z.number().min(SECONDS_MIN).max(SECONDS_MAX),
});
const board = z.strictObject({ title: words(120), scenes: z.array(scene).min(1).max(SCENES_MAX) });
export type Scene = z.infer<typeof scene>;
export type Storyboard = z.infer<typeof board>;

const text = { type: "string" } as const;
const number = { type: "number" } as const;
function closed(properties: JsonObject): JsonObject {
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}
const doing = (name: string) => ({ type: "string", enum: [name] }) as const;

/** The same for a model, without bounds, which some vendors' schemas do not support. */
export const BOARD_SCHEMA: JsonObject = closed({
  title: text,
  scenes: {
    type: "array",
    items: closed({
      url: text,
      steps: {
        type: "array",
        items: {
          anyOf: [
            closed({ do: doing("goto"), url: text }),
            closed({ do: doing("click"), on: text }),
            closed({ do: doing("type"), into: text, text }),
            closed({ do: doing("scroll"), by: { type: "integer" } }),
            closed({ do: doing("wait"), seconds: number }),
          ],
        },
      },
      caption: text,
      narration: text,
      seconds: number,
    }),
  },
});

function isOfSite(address: string, site: string): boolean {
  const [url, own] = [URL.parse(address), URL.parse(site)];
  if (url === null || own === null || !/^https?:$/.test(url.protocol)) return false;
  if (url.username !== "" || url.password !== "") return false;
  return bare(url.host) === bare(own.host);
}

function bare(host: string): string {
  return host.replace(/^www\./, "");
}

/** The first address in a scene that leaves its site, with its path in the scene; null where there is none. */
export function offSite(
  { url, steps }: Pick<Scene, "url" | "steps">,
  site: string,
): { readonly path: readonly (string | number)[]; readonly address: string } | null {
  if (!isOfSite(url, site)) return { path: ["url"], address: url };
  const at = steps.findIndex((one) => one.do === "goto" && !isOfSite(one.url, site));
  const found = steps[at];
  return found?.do === "goto" ? { path: ["steps", at, "url"], address: found.url } : null;
}

/** Checks a model's storyboard; returns a string where something is wrong with it. */
export function readBoard(json: unknown, site: string): Storyboard | string {
  const read = board.safeParse(json);
  if (!read.success) {
    const [issue] = read.error.issues;
    return `${issue?.path.join(".") || "the whole"}: ${issue?.message ?? "is wrong"}`;
  }
  for (const [at, one] of read.data.scenes.entries()) {
    const off = offSite(one, site);
    if (off !== null) return `scenes.${at}.${off.path.join(".")}: ${off.address} is not a page of ${site}`;
  }
  return read.data;
}
