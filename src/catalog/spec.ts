// What a vendor is, as a schema and as types. `adapter.ts` shows adapters the part of the vocabulary that they may use.

import { z } from "zod";
import { type ActionSpec, actions } from "./action.ts";
import { ruleSchema } from "./answer-rule.ts";
import { auth } from "./auth.ts";
import { chat, embeddings } from "./model-spec.ts";
import { type KeylessDoor, keylessDoor } from "./pay-per-call-access.ts";
import { prepaid } from "./prepaid.ts";
import { regionalCost } from "./regional-cost.ts";
import { rate } from "./request-spec.ts";
import { envNames, headers, type Said } from "./said.ts";
import { selfHosted } from "./self-hosted.ts";
import { session } from "./session.ts";
import { unitModel } from "./unit-model.ts";

const filled = (text: string) => text.replace(/\{[a-z]+\}/g, "x");
const origin = z
  .string()
  .refine((text) => /^https?:$/.test(URL.parse(filled(text))?.protocol ?? ""), "is no http address")
  .regex(/[^/]$/, "must not end in a slash");

/** A host may have params in it: `https://{lang}.example.org`. */
const otherOrigin = z
  .string()
  .regex(/^https?:\/\/[^/\s]+(\/[^\s]*[^/\s])?$/, "is no http address without a slash at the end");

/** A part of an address that the operator sets. */
const addressSetting = z.strictObject({
  /** The names of its variable, the first that is set wins. */
  env: envNames,
  /** What it is where none is set; without one the vendor is not configured then. */
  fallback: z.string().optional(),
  /** Values for which the whole address is another. */
  origins: z.record(z.string(), origin).optional(),
});
const settings = z.record(z.string().regex(/^[a-z]+$/), addressSetting);

/** The wire in which a native action takes its body and answers. */
const nativeWire = z.enum(["chat-completions", "messages", "embeddings", "images"]);

export const adapter = z.strictObject({
  name: z.string().min(1),
  /** Where the facts come from: an address, or a file of docs/. */
  docs: z.string().min(1),
  /**
   * The vendor's base address with its version path, without a slash at the end; `{name}` is one of `settings`.
   * `<ID>_BASE_URL` replaces it.
   */
  origin,
  /** Parts of the address, by their names in it. */
  settings: settings.optional(),
  auth,
  /** Its chat and embedding models cost us more in some places than their prices here. */
  regionalCost: regionalCost.optional(),
  /** Other ways to show who we are: the first of them whose variables are set comes before `auth`. */
  otherLogins: z.array(z.strictObject({ auth, keyEnv: envNames.optional(), keyParts: envNames.optional() })).optional(),
  /** Its models are reached by names that the operator gave them: `<ID>_DEPLOYMENTS` lists them as `<model>=<name>`, and no other is sold. */
  deployments: z.boolean().optional(),
  /** The maker whose models this vendor sells first-hand; its slugs begin with it and its prices are the list prices. */
  maker: z
    .string()
    .regex(/^[a-z0-9-]+$/)
    .optional(),
  /** Environment names of the key, first found wins. Default: `<ID>_API_KEY`, upper case, `-` as `_`, a digit at its beginning as a word. */
  keyEnv: envNames.optional(),
  /** Environment names that make one key together, instead of `keyEnv`; each may be a comma-separated list of as many. */
  keyParts: envNames.optional(),
  /** Answers without our key too, less or slower. */
  keyOptional: z.boolean().optional(),
  /** What other gateways call it, in lower case, where a caller names providers. */
  alsoCalled: z.array(z.string().regex(/^[a-z0-9][a-z0-9. -]*$/)).optional(),
  /** Its id in the list of prices that `tollgate prices check` reads, where that is not ours; `*` is what a model has behind a colon. */
  pricedAs: z.string().min(1).optional(),
  /** Its `gen_ai.provider.name` in OpenTelemetry's conventions, where that is not the id. */
  otelName: z
    .string()
    .regex(/^[a-z][a-z0-9_.]*$/)
    .optional(),
  /** Names us, and the operator's CONTACT, in the User-Agent. `required`: not configured while CONTACT is not set. */
  contact: z.enum(["polite", "required"]).optional(),
  /** Other hosts of the vendor by name, as `origin` is; `<ID>_<NAME>_BASE_URL` replaces one. `{param}` may stand in a host. */
  origins: z.record(z.string().regex(/^[a-z0-9-]+$/), otherOrigin).optional(),
  /** Those of `origins` that our key is not shown to, because the vendor is not alone there: a machine that callers run programs on. */
  keylessOrigins: z.array(z.string()).optional(),
  /** No adapter can pay this vendor yet: its actions are listed as not configured, with this sentence. */
  waitsFor: z.string().min(1).optional(),
  /**
   * What no source and no call has confirmed yet, in words, by the action that it is about; `*`: by all of its actions and models. Such an
   * action is sold at 10 % or more above what we believe that it costs.
   */
  beliefs: z.record(z.string().min(1), z.string().min(1)).optional(),
  /** The most requests that the vendor takes in so many milliseconds; further ones wait their turn. */
  rate: rate.optional(),
  /** What the vendor's answers mean, for all of its actions. */
  rules: z.array(ruleSchema).optional(),
  /** It has no HTTP: a process that runs this file, `adapters/<id>.helper.ts` by `import.meta.resolve`, takes its actions' requests. */
  sidecar: z.string().startsWith("file:").optional(),
  /** What is sold as `<adapter id>/<action>`. */
  actions: actions.optional(),
  /** Time that callers pay before it passes, for the actions that say what they do with it. */
  prepaid: prepaid.optional(),
  /** A machine of its that goes on between calls, sold as `<adapter id>/create_session`, `/session` and `/close`. */
  sessions: session.optional(),
  /** Its models by the call, as `<adapter id>/<name>`: at their prices by the token, at most a dollar. */
  nativeActions: z.record(z.string().regex(/^[a-z][a-z0-9_]*$/), nativeWire).optional(),
  /** Configured by its base address alone: a server of the operator's own. */
  local: z.boolean().optional(),
  /** There may be more of its kind: `<ID>_<NAME>_BASE_URL` makes the adapter `<id>-<name>`, whose variables are `<ID>_<NAME>_...`. */
  several: z.boolean().optional(),
  /** Who has no key for it may run it himself: `<ID>_BASE_URL` alone turns it on, no key is sent, and a call costs us nothing. */
  selfHosted: selfHosted.optional(),
  /** Where there is no key for it, but a wallet: the address at which it is paid by the call, at most what is listed. */
  keylessDoor: keylessDoor.optional(),
  /** Reached only by sandbox accounts. */
  sandboxOnly: z.boolean().optional(),
  headers: headers.optional(),
  /** Whether many calls share a connection, by HTTP/2, whatever `VENDORS_HTTP2` says. Web sockets have one of HTTP/1.1 each. */
  http2: z.boolean().optional(),
  chat: chat.optional(),
  /** OpenAI's wire at `/embeddings`. */
  embeddings: embeddings.optional(),
  /** Vendor's id -> a model that is neither: what it does, and what its units cost. */
  unitModels: z.record(z.string(), unitModel).optional(),
});

export type AddressSetting = Said<z.infer<typeof addressSetting>>;
export type NativeWire = z.infer<typeof nativeWire>;
type Checked = Said<z.infer<typeof adapter>>;
/** What a vendor is. Outside of its file the params of its actions are forgotten. */
export interface AdapterSpec extends Omit<Checked, "actions" | "keylessDoor"> {
  /** What is sold as `<adapter id>/<action>`. */
  readonly actions?: Readonly<Record<string, ActionSpec>>;
  readonly keylessDoor?: KeylessDoor;
}

/** Adapters that differ in little, in one file: the id of each is its name here. */
export interface AdapterTable {
  readonly adapters: Readonly<Record<string, AdapterSpec>>;
}

/** Gives a table of adapters its types. Each row is checked when the catalog loads, as a file of its own would be. */
export function defineAdapters(adapters: AdapterTable["adapters"]): AdapterTable {
  return { adapters };
}

/** Gives an adapter its types. What it says is checked when the catalog loads. */
export function defineAdapter(spec: AdapterSpec): AdapterSpec {
  return spec;
}

/** What no source and no call has confirmed about an action yet; `*`: about the vendor. */
export function beliefsAbout({ beliefs = {} }: Pick<AdapterSpec, "beliefs">, action: string): readonly string[] {
  return [...new Set(["*", action])].flatMap((name) => beliefs[name] ?? []);
}
