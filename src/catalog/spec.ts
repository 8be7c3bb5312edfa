// Schema and types of an adapter. `adapter.ts` exports the part of the vocabulary that adapters may use.

import { z } from "zod";
import { type ActionSpec, actions } from "./action.ts";
import { ruleSchema } from "./answer-rule.ts";
import { auth } from "./auth.ts";
import { batchApi } from "./batch-api.ts";
import { chat, embeddings } from "./model-spec.ts";
import { type KeylessDoor, keylessDoor } from "./pay-per-call-access.ts";
import { prepaid } from "./prepaid.ts";
import { regionalCost } from "./regional-cost.ts";
import { rate } from "./request-spec.ts";
import { envNames, headers, type Said } from "./said.ts";
import { selfHosted } from "./self-hosted.ts";
import { session } from "./session.ts";
import { unitModel } from "./unit-price.ts";

const filled = (text: string) => text.replace(/\{[a-z]+\}/g, "x");
const origin = z
  .string()
  .refine((text) => /^https?:$/.test(URL.parse(filled(text))?.protocol ?? ""), "is not an http address")
  .regex(/[^/]$/, "must not end in a slash");

/** A host may contain params: `https://{lang}.example.org`. */
const otherOrigin = z
  .string()
  .regex(/^https?:\/\/[^/\s]+(\/[^\s]*[^/\s])?$/, "is not an http address without a slash at the end");

const addressSetting = z.strictObject({
  /** The names of its variable; the first that is set counts. */
  env: envNames,
  /** The default; without one, the vendor is not configured until the variable is set. */
  fallback: z.string().optional(),
  /** Values that select an entirely different address. */
  origins: z.record(z.string(), origin).optional(),
});
const settings = z.record(z.string().regex(/^[a-z]+$/), addressSetting);

/** The wire of a native action's body and answers. */
const nativeWire = z.enum(["chat-completions", "messages", "embeddings", "images"]);

export const adapter = z.strictObject({
  name: z.string().min(1),
  /** The source of these facts: a URL, or a file in docs/. */
  docs: z.string().min(1),
  /** The vendor's base URL with the version path and no trailing slash; `{name}` is one of `settings`. `<ID>_BASE_URL` replaces it. */
  origin,
  settings: settings.optional(),
  auth,
  /** Regions where its chat and embedding models cost us more than their prices here. */
  regionalCost: regionalCost.optional(),
  /** Alternative login methods: the first whose variables are set takes precedence over `auth`. */
  otherLogins: z.array(z.strictObject({ auth, keyEnv: envNames.optional(), keyParts: envNames.optional() })).optional(),
  /** The operator names its models: `<ID>_DEPLOYMENTS` lists them as `<model>=<name>`, and no others are sold. */
  deployments: z.boolean().optional(),
  /** The maker whose models this vendor sells first-hand; its slugs begin with it, and its prices are the list prices. */
  maker: z
    .string()
    .regex(/^[a-z0-9-]+$/)
    .optional(),
  /** The key's variables; the first that is set counts. Default: `<ID>_API_KEY`, in upper case, `-` as `_`, a leading digit as a word. */
  keyEnv: envNames.optional(),
  /** Variables whose values together form one key, instead of `keyEnv`; each may be a comma-separated list of the same length. */
  keyParts: envNames.optional(),
  /** It also answers without our key, with less content or more slowly. */
  keyOptional: z.boolean().optional(),
  /** Its names in other gateways, in lower case, for callers that name providers. */
  alsoCalled: z.array(z.string().regex(/^[a-z0-9][a-z0-9. -]*$/)).optional(),
  /** Its id in the list that `tollgate prices check` reads, if not ours; `*` is the part after the colon in a model's name. */
  pricedAs: z.string().min(1).optional(),
  /** Its `gen_ai.provider.name` in the OpenTelemetry conventions, if it differs from the id. */
  otelName: z
    .string()
    .regex(/^[a-z][a-z0-9_.]*$/)
    .optional(),
  /** Sends a User-Agent with our name and the operator's CONTACT. `required`: not configured until CONTACT is set. */
  contact: z.enum(["polite", "required"]).optional(),
  /** The vendor's other hosts by name, in the form of `origin`; `<ID>_<NAME>_BASE_URL` replaces one. A host may contain `{param}`. */
  origins: z.record(z.string().regex(/^[a-z0-9-]+$/), otherOrigin).optional(),
  /** The `origins` that must not get our key because they run other parties' code, such as a machine where callers run programs. */
  keylessOrigins: z.array(z.string()).optional(),
  /** No adapter can pay this vendor yet: its actions are listed as not configured, with this sentence. */
  waitsFor: z.string().min(1).optional(),
  /** Facts that nothing has confirmed yet, by action; `*`: all. Such an action is sold at least 10 % above its assumed cost. */
  beliefs: z.record(z.string().min(1), z.string().min(1)).optional(),
  /** The vendor's rate limit; further requests are queued. */
  rate: rate.optional(),
  /** How to interpret the vendor's answers, for all of its actions. */
  rules: z.array(ruleSchema).optional(),
  /** It has no HTTP API: a process that runs this file (`adapters/<id>.helper.ts` via `import.meta.resolve`) handles its requests. */
  sidecar: z.string().startsWith("file:").optional(),
  /** Sold as `<adapter id>/<action>`. */
  actions: actions.optional(),
  prepaid: prepaid.optional(),
  /** A machine that keeps running between calls, sold as `<adapter id>/create_session`, `/session` and `/close`. */
  sessions: session.optional(),
  /** Its models as actions, `<adapter id>/<name>`: at their token prices, at most one dollar per call. */
  nativeActions: z.record(z.string().regex(/^[a-z][a-z0-9_]*$/), nativeWire).optional(),
  /** Its base URL alone enables it: a server that the operator runs. */
  local: z.boolean().optional(),
  /** The operator may add more: `<ID>_<NAME>_BASE_URL` creates the adapter `<id>-<name>`, with the variables `<ID>_<NAME>_...`. */
  several: z.boolean().optional(),
  /** The operator can self-host it instead of having a key: `<ID>_BASE_URL` alone enables it, no key is sent, and calls cost us nothing. */
  selfHosted: selfHosted.optional(),
  /** Used without a key but with a wallet: the address where it is paid per call, at most the listed price. */
  keylessDoor: keylessDoor.optional(),
  /** Available to sandbox accounts only. */
  sandboxOnly: z.boolean().optional(),
  headers: headers.optional(),
  /** Whether calls share a connection over HTTP/2, regardless of `VENDORS_HTTP2`. Each WebSocket has its own HTTP/1.1 connection. */
  http2: z.boolean().optional(),
  chat: chat.optional(),
  /** Runs many calls within a day at a lower price. */
  batches: batchApi.optional(),
  /** OpenAI's wire at `/embeddings`. */
  embeddings: embeddings.optional(),
  /** Maps the vendor's id to a model of another kind: what it does, and what its units cost. */
  unitModels: z.record(z.string(), unitModel).optional(),
});

export type AddressSetting = Said<z.infer<typeof addressSetting>>;
export type NativeWire = z.infer<typeof nativeWire>;
type Checked = Said<z.infer<typeof adapter>>;
/** An adapter. The types of its actions' params are erased outside its file. */
export interface AdapterSpec extends Omit<Checked, "actions" | "keylessDoor"> {
  readonly actions?: Readonly<Record<string, ActionSpec>>;
  readonly keylessDoor?: KeylessDoor;
}

export interface AdapterTable {
  readonly adapters: Readonly<Record<string, AdapterSpec>>;
}

/** Types a table of adapters. Each row is checked when the catalog loads, as if it were in its own file. */
export function defineAdapters(adapters: AdapterTable["adapters"]): AdapterTable {
  return { adapters };
}

/** Types an adapter. Its contents are checked when the catalog loads. */
export function defineAdapter(spec: AdapterSpec): AdapterSpec {
  return spec;
}

/** The unconfirmed facts about an action; `*`: about the vendor. */
export function beliefsAbout({ beliefs = {} }: Pick<AdapterSpec, "beliefs">, action: string): readonly string[] {
  return [...new Set(["*", action])].flatMap((name) => beliefs[name] ?? []);
}
