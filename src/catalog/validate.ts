// Checks what one adapter or tier file says; every complaint names the file and the field.
import { z } from "zod";
import type { AdapterTable } from "./adapter.ts";
import { ruleSchema } from "./answer-rule.ts";
import type { Auth } from "./auth.ts";
import { tableSchema } from "./endpoint-table.ts";
import { chat, embeddings } from "./model-spec.ts";
import { count } from "./said.ts";
import type { CompositeTierSpec } from "./tier.ts";
import { unitModel } from "./unit-model.ts";
import {
  actionsSchema,
  actionTierSchema,
  prepaidSchema,
  rateSchema,
  selfHostedActions,
  sessionsSchema,
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

const filled = (text: string) => text.replace(/\{[a-z]+\}/g, "x");
const origin = z
  .string()
  .refine((text) => /^https?:$/.test(URL.parse(filled(text))?.protocol ?? ""), "is no http address")
  .regex(/[^/]$/, "must not end in a slash");

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
