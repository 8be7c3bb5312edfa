// All that a file in adapters/ may import: what a vendor is, as data. The id of an adapter is its file name.
import type { ActionSpec, AnswerRule } from "./action.ts";
import type { Auth } from "./auth.ts";
import type { ChatSpec, EmbeddingsSpec } from "./model-spec.ts";
import type { PrepaidSpec } from "./prepaid.ts";
import type { SelfHostedSpec } from "./self-hosted.ts";
import type { SessionSpec } from "./session.ts";
import type { UnitModelSpec } from "./unit-model.ts";

export { z } from "zod";
export { action, type ScriptContext } from "./action.ts";
export {
  type Auth,
  basic,
  bearer,
  clientCredentials,
  header,
  jwt,
  keyHeader,
  keyHeaders,
  keyInBody,
  keyInQuery,
  noAuth,
  paidBy,
  serviceAccount,
  sigv4,
} from "./auth.ts";
export { boundedCommand, boundedLine, boundedOutput, boundedPrint, isBounded } from "./bounded-shell.ts";
export { localServer } from "./local-server.ts";
export type { ModelEnd } from "./model-end.ts";
export type { ChatSpec, EmbeddingsSpec, ModelSpec, PartBounds, Tokenizer } from "./model-spec.ts";
export {
  exactlyOne,
  goesWith,
  neededWhen,
  needsOne,
  noneWhen,
  notBoth,
  onlyWhen,
  rule,
  together,
} from "./params-rules.ts";
export type { PrepaidSpec } from "./prepaid.ts";
export { recordsMerchant } from "./records-merchant.ts";
export { retailMerchant } from "./retail-merchant.ts";
export {
  argvOf,
  type BoxCommand,
  BoxGone,
  type BoxOutput,
  type SessionContext,
  type SessionSpec,
  shellWord,
} from "./session.ts";
export { HeardOutput } from "./session-output.ts";
export { domainName, endpointParams, optional } from "./shared-params.ts";
export type { OpenSidecar, SidecarClient, SidecarReply } from "./sidecar.ts";
export type { HoursSpec, TokenPriceSpec } from "./token-price.ts";
export type { UnitDialectName, UnitKind, UnitModelSpec, UnitPriceSpec } from "./unit-model.ts";

/** A part of an address that the operator sets. */
export interface AddressSetting {
  /** The names of its variable, the first that is set wins. */
  readonly env: readonly string[];
  /** What it is where none is set; without one the vendor is not configured then. */
  readonly fallback?: string;
  /** Values for which the whole address is another. */
  readonly origins?: Readonly<Record<string, string>>;
}

export interface AdapterSpec {
  readonly name: string;
  /** Where the facts come from: an address, or a file of docs/. */
  readonly docs: string;
  /**
   * The vendor's base address with its version path, without a slash at the end; `{name}` is one of `settings`.
   * `<ID>_BASE_URL` replaces it.
   */
  readonly origin: string;
  /** Parts of the address, by their names in it. */
  readonly settings?: Readonly<Record<string, AddressSetting>>;
  readonly auth: Auth;
  /** The maker whose models this vendor sells first-hand; its slugs begin with it and its prices are the list prices. */
  readonly maker?: string;
  /** What other gateways call it, in lower case, where a caller names providers. */
  readonly alsoCalled?: readonly string[];
  /** Its id in the list of prices that `tollgate prices check` reads, where that is not ours; `*` is what a model has behind a colon. */
  readonly pricedAs?: string;
  /** Its `gen_ai.provider.name` in OpenTelemetry's conventions, where that is not the id. */
  readonly otelName?: string;
  /** Environment names of the key, first found wins. Default: `<ID>_API_KEY`, upper case, `-` as `_`, a digit at its beginning as a word. */
  readonly keyEnv?: readonly string[];
  /** Environment names that make one key together, instead of `keyEnv`; each may be a comma-separated list of as many. */
  readonly keyParts?: readonly string[];
  /** Other ways to show who we are: the first of them whose variables are set comes before `auth`. */
  readonly otherLogins?: readonly Pick<AdapterSpec, "auth" | "keyEnv" | "keyParts">[];
  /** Its models are reached by names that the operator gave them: `<ID>_DEPLOYMENTS` lists them as `<model>=<name>`, and no other is sold. */
  readonly deployments?: boolean;
  /** Answers without our key too, less or slower. */
  readonly keyOptional?: boolean;
  /** Configured by its base address alone: a server of the operator's own. */
  readonly local?: boolean;
  /** Who has no key for it may run it himself: `<ID>_BASE_URL` alone turns it on, no key is sent, and a call costs us nothing. */
  readonly selfHosted?: SelfHostedSpec;
  /** There may be more of its kind: `<ID>_<NAME>_BASE_URL` makes the adapter `<id>-<name>`, whose variables are `<ID>_<NAME>_...`. */
  readonly several?: boolean;
  /** Reached only by sandbox accounts. */
  readonly sandboxOnly?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** Names us, and the operator's CONTACT, in the User-Agent. `required`: not configured while CONTACT is not set. */
  readonly contact?: "polite" | "required";
  /** Other hosts of the vendor by name, as `origin` is; `<ID>_<NAME>_BASE_URL` replaces one. `{param}` may stand in a host. */
  readonly origins?: Readonly<Record<string, string>>;
  /** Those of `origins` that our key is not shown to, because the vendor is not alone there: a machine that callers run programs on. */
  readonly keylessOrigins?: readonly string[];
  /** No adapter can pay this vendor yet: its actions are listed as not configured, with this sentence. */
  readonly waitsFor?: string;
  /**
   * What no source and no call has confirmed yet, in words, by the action that it is about; `*`: by all of its actions and models. Such an
   * action is sold at 10 % or more above what we believe that it costs.
   */
  readonly beliefs?: Readonly<Record<string, string>>;
  /** The most requests that the vendor takes in so many milliseconds; further ones wait their turn. */
  readonly rate?: { readonly requests: number; readonly perMs: number };
  /** What the vendor's answers mean, for all of its actions. */
  readonly rules?: readonly AnswerRule[];
  /** It has no HTTP: a process that runs this file, `adapters/<id>.helper.ts` by `import.meta.resolve`, takes its actions' requests. */
  readonly sidecar?: string;
  /** What is sold as `<adapter id>/<action>`. */
  readonly actions?: Readonly<Record<string, ActionSpec>>;
  /** Time that callers pay before it passes, for the actions that say what they do with it. */
  readonly prepaid?: PrepaidSpec;
  /** A machine of its that goes on between calls, sold as `<adapter id>/create_session`, `/session` and `/close`. */
  readonly sessions?: SessionSpec;
  /** Its models by the call, as `<adapter id>/<name>`: at their prices by the token, at most a dollar. */
  readonly nativeActions?: Readonly<Record<string, NativeWire>>;
  readonly chat?: ChatSpec;
  /** OpenAI's wire at `/embeddings`. */
  readonly embeddings?: EmbeddingsSpec;
  /** Vendor's id -> a model that is neither: what it does, and what its units cost. */
  readonly unitModels?: Readonly<Record<string, UnitModelSpec>>;
}

/** The wire in which a native action takes its body and answers. */
export type NativeWire = "chat-completions" | "messages" | "embeddings" | "images";

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
