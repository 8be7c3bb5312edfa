// Checks what one adapter or tier file says; every complaint names the file and the field.
import { z } from "zod";
import { parseUsdPerMillion } from "../money.ts";
import type { AdapterTable } from "./adapter.ts";
import type { Auth } from "./auth.ts";
import { SLUG } from "./slug.ts";
import type { CompositeTierSpec } from "./tier.ts";
import { parseUnitPrice } from "./unit-price.ts";
import {
  actionsSchema,
  actionTierSchema,
  prepaidSchema,
  rateSchema,
  ruleSchema,
  selfHostedActions,
  sessionsSchema,
  tableSchema,
} from "./validate-action.ts";
import { COMPOSITE_TIER_SCHEMAS } from "./validate-composite.ts";

/** The catalog cannot be loaded. Each problem is a line that names a file and a field. */
export class CatalogError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `The catalog has ${problems.length === 1 ? "a problem" : `${problems.length} problems`}:\n${problems.join("\n")}`,
    );
    this.name = "CatalogError";
    this.problems = problems;
  }
}

const price = z.string().refine((text) => parseUsdPerMillion(text) !== null, {
  error: (issue) => `is no decimal in USD per million tokens with at most six places: ${JSON.stringify(issue.input)}`,
});
const day = z.iso.date("is no day as YYYY-MM-DD");
const count = z.int().positive();
const pointer = z.string().regex(/^(\/[^/]+)+$/, "is no JSON pointer");
const pointers = z.array(pointer).min(1);
const filled = (text: string) => text.replace(/\{[a-z]+\}/g, "x");
const origin = z
  .string()
  .refine((text) => /^https?:$/.test(URL.parse(filled(text))?.protocol ?? ""), "is no http address")
  .regex(/[^/]$/, "must not end in a slash");
const slug = z.string().regex(SLUG, "is no slug as <maker>/<model>");

const rates = { input: price, output: price, cacheRead: price.optional(), cacheWrite: price.optional() };
const step = z.strictObject({ promptTokens: count, ...rates });
const time = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$|^24:00$/, "is no time of day as HH:MM");
const hours = z
  .strictObject({ from: time, until: time, weekdaysOnly: z.boolean().optional(), ...rates })
  .refine(({ from, until }) => from < until, { path: ["until"], message: "must be after `from`, on the same day" });
/** When a list brought a price: `20261126T002503`. */
const taken = z.string().regex(/^\d{8}T\d{6}$/, "is no time as YYYYMMDDTHHMMSS");
const dated = z
  .strictObject({
    since: day,
    taken: taken.optional(),
    ...rates,
    thousandCalls: price.optional(),
    steps: z.array(step).optional(),
    hours: z.array(hours).optional(),
  })
  .refine((one) => one.steps === undefined || one.hours === undefined, {
    path: ["hours"],
    message: "cannot be together with steps",
  });
/** Prices by the token as adapters and updates write them. */
export const prices = z
  .array(dated)
  .min(1, "has no price, and what is not priced is not sold")
  .refine((list) => ascending(list.map((entry) => entry.since)), "must be in order of `since`, newest last")
  .refine(
    (list) => list.every((entry) => ascending((entry.steps ?? []).map((at) => at.promptTokens))),
    "must have its steps in order of `promptTokens`",
  );

const takes = z.strictObject({
  messageFields: z.array(z.string()).optional(),
  developerRole: z.literal("system").optional(),
  toolIds: z.enum(["nine", "none"]).optional(),
  thoughtsWithCalls: z.literal("reasoning_content").optional(),
  responsesForm: z.literal("plain").optional(),
  formats: z.enum(["json_object", "json_schema"]).optional(),
  efforts: z.array(z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"])).optional(),
  noThinking: z.record(z.string(), z.unknown()).optional(),
  renamed: z.record(z.string(), z.string()).optional(),
  refuses: z.array(z.enum(["tools", "n"])).optional(),
  turns: z.literal("alternate").optional(),
  strictTools: z.literal("none").optional(),
  cachePoints: z.array(z.enum(["system", "messages", "tools"])).optional(),
  effortField: z.enum(["reasoning_effort", "reasoningConfig"]).optional(),
});
const dialect = z.enum(["chat-completions", "responses", "messages", "generate-content", "converse"]);
const wire = {
  takes: takes.optional(),
  answersInParts: z.boolean().optional(),
  fetches: z.enum(["https", "https-typed", "none"]).optional(),
  toolsDialect: dialect.optional(),
  paths: z
    .strictObject({
      whole: z.string().startsWith("/"),
      stream: z.string().startsWith("/"),
      without: z.array(z.string()),
    })
    .optional(),
  maxTokensField: z.enum(["max_tokens", "max_completion_tokens"]).optional(),
  dropFields: z.array(z.string()).optional(),
  sampling: z.enum(["unless-thinking", "without-thinking"]).optional(),
  extraFields: z.record(z.string(), z.unknown()).optional(),
  reasoning: z.enum(["none", "budget", "budget-always", "effort", "effort-always"]).optional(),
  reasoningSummary: z.enum(["auto", "concise", "detailed"]).optional(),
  hidesReasoning: z.boolean().optional(),
};
const parts = z.strictObject({
  imageTokensMax: count.optional(),
  audioTokensMax: count.optional(),
  fileTokensMax: count.optional(),
  foundTokensMax: count.optional(),
});
const anyModel = {
  contextTokens: count,
  prices,
  parts: parts.optional(),
  tokenizer: z.enum(["o200k", "unknown"]).optional(),
  ...wire,
};
const retires = z.strictObject({ on: day, successor: slug.optional() });
const anyChatModel = { ...anyModel, outputTokensMax: count.optional() };
/** Of a model that the operator names, who may set its price as well. */
const unpriced = z.union([z.tuple([]), prices]);
const chat = z.strictObject({
  ...wire,
  dialect,
  streamUsage: z.enum(["ask", "always"]).optional(),
  streamOptions: z.record(z.string(), z.unknown()).optional(),
  usageAt: pointers.optional(),
  cacheReadAt: pointers.optional(),
  reasoningOutside: z.boolean().optional(),
  reasoningFormat: z.string().optional(),
  costUsdAt: pointer.optional(),
  modelsPath: z.string().startsWith("/").optional(),
  models: z.record(
    z.string(),
    z.strictObject({
      slug: slug.optional(),
      retires: retires.optional(),
      priceNote: z.string().min(1).optional(),
      ...anyChatModel,
    }),
  ),
  anyModel: z.strictObject({ ...anyChatModel, prices: unpriced }).optional(),
});
const embeddings = z.strictObject({
  models: z.record(
    z.string(),
    z.strictObject({
      slug: slug.optional(),
      retires: retires.optional(),
      priceNote: z.string().min(1).optional(),
      ...anyModel,
    }),
  ),
  anyModel: z.strictObject(anyModel).optional(),
});

const unitPrice = z
  .string()
  .refine((text) => parseUnitPrice("images", text) !== null, "is no decimal in USD with at most nine places");
const tokenCounts = z.record(z.string(), z.record(z.string(), count));
/** Prices by units, in the same way. */
export const unitPrices = z
  .array(
    z.strictObject({
      since: day,
      taken: taken.optional(),
      textIn: price.optional(),
      cachedIn: price.optional(),
      imageIn: price.optional(),
      audioIn: price.optional(),
      textOut: price.optional(),
      imageOut: price.optional(),
      audioOut: price.optional(),
      characters: price.optional(),
      hours: unitPrice.optional(),
      searches: unitPrice.optional(),
      megapixels: unitPrice.optional(),
      images: z.record(z.string(), unitPrice).optional(),
    }),
  )
  .min(1, "has no price, and what is not priced is not sold")
  .refine((list) => ascending(list.map((entry) => entry.since)), "must be in order of `since`, newest last");
const unitModel = z.strictObject({
  kind: z.enum(["images", "transcription", "speech", "rerank", "moderation", "completion"]),
  dialect: z.enum([
    "openai-images",
    "gemini-images",
    "fal-images",
    "openai-audio",
    "openai-voice",
    "cohere-rerank",
    "data-rerank",
    "openai-moderation",
    "openai-completion",
  ]),
  slug: slug.optional(),
  retires: retires.optional(),
  prices: unitPrices,
  origin: z.string().optional(),
  path: z.string().startsWith("/").optional(),
  extraFields: z.record(z.string(), z.unknown()).optional(),
  renamed: z.record(z.string(), z.string()).optional(),
  omits: z.array(z.string()).optional(),
  refuses: z.array(z.string()).optional(),
  inputTokensMax: count.optional(),
  outputTokensMax: count.optional(),
  charactersMax: count.optional(),
  imagesMax: count.optional(),
  imageTokens: tokenCounts.optional(),
  imageInTokensMax: count.optional(),
  streams: z.boolean().optional(),
  translates: z.boolean().optional(),
  formats: z.array(z.string()).optional(),
  secondsMax: count.optional(),
  secondsMin: count.optional(),
  audioTokensPerSecond: count.optional(),
  fillsIn: z.boolean().optional(),
});

const envNames = z.array(z.string().regex(/^[A-Z][A-Z0-9_]*$/)).min(1);
/** A host may have params in it: `https://{lang}.example.org`. */
const otherOrigin = z
  .string()
  .regex(/^https?:\/\/[^/\s]+(\/[^\s]*[^/\s])?$/, "is no http address without a slash at the end");

const adapterId = z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, "is not named in-this-way");
const settings = z.record(
  z.string().regex(/^[a-z]+$/),
  z.strictObject({ env: envNames, fallback: z.string().optional(), origins: z.record(z.string(), origin).optional() }),
);
const auth = z.custom<Auth>(
  (value) =>
    typeof value === "object" && value !== null && "authorize" in value && typeof value.authorize === "function",
  "is no way to show a key: bearer, keyHeader(name) and the like make one",
);

const adapter = z.strictObject({
  name: z.string().min(1),
  docs: z.string().min(1),
  origin,
  settings: settings.optional(),
  auth,
  otherLogins: z.array(z.strictObject({ auth, keyEnv: envNames.optional(), keyParts: envNames.optional() })).optional(),
  deployments: z.boolean().optional(),
  maker: z
    .string()
    .regex(/^[a-z0-9-]+$/)
    .optional(),
  keyEnv: envNames.optional(),
  keyParts: envNames.optional(),
  keyOptional: z.boolean().optional(),
  alsoCalled: z.array(z.string().regex(/^[a-z0-9][a-z0-9. -]*$/)).optional(),
  pricedAs: z.string().min(1).optional(),
  otelName: z
    .string()
    .regex(/^[a-z][a-z0-9_.]*$/)
    .optional(),
  contact: z.enum(["polite", "required"]).optional(),
  origins: z.record(z.string().regex(/^[a-z0-9-]+$/), otherOrigin).optional(),
  keylessOrigins: z.array(z.string()).optional(),
  waitsFor: z.string().min(1).optional(),
  beliefs: z.record(z.string().min(1), z.string().min(1)).optional(),
  rate: rateSchema.optional(),
  rules: z.array(ruleSchema).optional(),
  sidecar: z.string().startsWith("file:").optional(),
  actions: actionsSchema.optional(),
  prepaid: prepaidSchema.optional(),
  sessions: sessionsSchema.optional(),
  nativeActions: z
    .record(z.string().regex(/^[a-z][a-z0-9_]*$/), z.enum(["chat-completions", "messages", "embeddings", "images"]))
    .optional(),
  local: z.boolean().optional(),
  several: z.boolean().optional(),
  selfHosted: z
    .strictObject({ login: z.strictObject({ auth, keyEnv: envNames }).optional(), ...selfHostedActions })
    .optional(),
  sandboxOnly: z.boolean().optional(),
  headers: z.record(z.string().regex(/^[a-z0-9-]+$/), z.string()).optional(),
  chat: chat.optional(),
  embeddings: embeddings.optional(),
  unitModels: z.record(z.string(), unitModel).optional(),
});

const tier = z.strictObject({
  purpose: z.string().min(1),
  candidates: z.array(z.strictObject({ model: z.string().min(1) })).min(1, "has no candidate"),
  standsInFor: z.array(z.string().min(3)).optional(),
  lower: z.string().min(1).optional(),
  firstTokenMsMax: count,
});

const unknownKind = z.strictObject({
  kind: z.enum(Object.keys(COMPOSITE_TIER_SCHEMAS), "is no kind of tier that there is"),
});

function ascending(values: readonly (string | number)[]): boolean {
  return values.every((value, at) => at === 0 || value > (values[at - 1] ?? ""));
}

function problemsOf(file: string, error: z.ZodError): readonly string[] {
  return error.issues.map(
    (issue) => `${file}: ${[...issue.path, ""].map(String).join(".").slice(0, -1)} ${issue.message}`,
  );
}

const adapterTable = z.strictObject({ adapters: z.record(adapterId, adapter) });

/** Parts of an address that cannot be filled in. */
function unfilled(spec: unknown): readonly string[] {
  const { origin, settings = {} } = spec as z.infer<typeof adapter>;
  const names = [...origin.matchAll(/\{([a-z]+)\}/g)].map(([, name = ""]) => name);
  return names.filter((name) => settings[name] === undefined);
}

/** Each file is checked once: a schema that were compiled for it would take longer than the check. */
const ONCE = { jitless: true } as const;

/** Checks one adapter file's default export: an adapter, or a table of them. The file's name is only for the complaints. */
export function checkAdapter(file: string, value: unknown): readonly string[] {
  const isTable = isAdapterTable(value);
  const checked = (isTable ? adapterTable : adapter).safeParse(value, ONCE);
  if (!checked.success) return problemsOf(file, checked.error);
  const rows: readonly (readonly [string, unknown])[] = isTable
    ? Object.entries(value.adapters).map(([id, row]) => [`${file}: adapters.${id}.`, row])
    : [[`${file}: `, value]];
  return rows.flatMap(([at, row]) =>
    unfilled(row).map((name) => `${at}origin has {${name}}, which is none of settings`),
  );
}

/** Whether a file holds several adapters. */
export function isAdapterTable(value: unknown): value is AdapterTable {
  return typeof value === "object" && value !== null && "adapters" in value;
}

/** The schema of what a tier is meant to be: what a composite goes by, an action under a name of ours, or models. */
function tierSchemaOf(value: unknown): z.ZodType {
  if (typeof value !== "object" || value === null) return tier;
  if ("kind" in value) return COMPOSITE_TIER_SCHEMAS[value.kind as CompositeTierSpec["kind"]] ?? unknownKind;
  return "sells" in value ? actionTierSchema : tier;
}

/** Checks one tier file's default export. */
export function checkTier(file: string, value: unknown): readonly string[] {
  const checked = tierSchemaOf(value).safeParse(value, ONCE);
  return checked.success ? [] : problemsOf(file, checked.error);
}

/** Checks the table beside an adapter's file. */
export function checkTable(file: string, value: unknown): readonly string[] {
  const checked = tableSchema.safeParse(value, ONCE);
  return checked.success ? [] : problemsOf(file, checked.error);
}
