// Everything that a file in adapters/ may import: the vocabulary that describes a vendor as data. An adapter's id is its file name.

export { z } from "zod";
export { action } from "./action.ts";
export {
  type Auth,
  basic,
  bearer,
  header,
  keyHeader,
  keyHeaders,
  keyInBody,
  keyInQuery,
  noAuth,
  paidBy,
  sigv4,
} from "./auth.ts";
export { boundedCommand, boundedLine, boundedOutput, boundedPrint, isBounded } from "./bounded-shell.ts";
export { ended, modelRows, usd } from "./model-rows.ts";
export type { ChatSpec, EmbeddingsSpec, ModelSpec, PartBounds, Tokenizer } from "./model-spec.ts";
export * as pageJobs from "./page-jobs.ts";
export {
  domainName,
  endpointParams,
  exactlyOne,
  goesWith,
  like,
  neededWhen,
  needsOne,
  noneWhen,
  notBoth,
  onlyWhen,
  optional,
  rule,
  together,
  withRules,
} from "./params-rules.ts";
export type { PrepaidSpec } from "./prepaid.ts";
export { recordsMerchant } from "./records-merchant.ts";
export { retailMerchant } from "./retail-merchant.ts";
export type { ModelEnd } from "./said.ts";
export type { ScriptContext } from "./script.ts";
export { localServer } from "./self-hosted.ts";
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
export type { OpenSidecar, SidecarClient, SidecarReply } from "./sidecar.ts";
export {
  type AdapterSpec,
  type AdapterTable,
  type AddressSetting,
  defineAdapter,
  defineAdapters,
  type NativeWire,
} from "./spec.ts";
export { clientCredentials, jwt, serviceAccount } from "./token-auth.ts";
export type { HoursSpec, TokenPriceSpec } from "./token-price.ts";
export type { UnitDialectName, UnitKind, UnitModelSpec, UnitPriceSpec, UnitSpec } from "./unit-price.ts";
