// Provider preferences in OpenRouter's form: which providers may serve, and in which order. Unsupported ones are reported as dropped.
import { isRecord } from "../../core/json.ts";
import { type PicoPerToken, parseUsdPerMillion } from "../../core/money.ts";
import { headerSafe, NAMES_MAX as NAMES_DROPPED_MAX } from "./known-fields.ts";

/** More than there are providers. */
const NAMES_MAX = 100;

export type Sort = "price" | "latency" | "throughput";
const SORTS: readonly string[] = ["price", "latency", "throughput"] satisfies readonly Sort[];

function isSort(value: unknown): value is Sort {
  return typeof value === "string" && SORTS.includes(value);
}

export interface Preferences {
  /** Tried first, in order. */
  readonly order: readonly string[] | null;
  /** Only these may serve. */
  readonly only: readonly string[] | null;
  readonly ignore: readonly string[] | null;
  /** Zero data retention: only the operator's own servers and vendors marked as keeping nothing may serve. */
  readonly keepsNothing: boolean;
  /** By price where a tier leaves a choice, or by recent latency or throughput. */
  readonly sort: Sort | null;
  /** The highest price per token; null: no limit. */
  readonly promptPriceMax: PicoPerToken | null;
  readonly completionPriceMax: PicoPerToken | null;
  /** False: only providers in `order`, or only the first route. */
  readonly fallbacks: boolean;
}

/** Values equal to the defaults. */
const NEUTRAL: Readonly<Record<string, unknown>> = {
  allow_fallbacks: true,
  require_parameters: false,
  data_collection: "allow",
  zdr: false,
  enforce_distillable_text: false,
};

function namesOf(value: unknown): readonly string[] | null {
  if (!Array.isArray(value)) return null;
  const names = value.filter((name) => typeof name === "string").slice(0, NAMES_MAX);
  // `google-vertex/us-east5` names a provider's endpoint; we distinguish only providers.
  return names.map((name) => (name.split("/", 1)[0] ?? "").toLowerCase());
}

/** Tolerates floats next to a price, such as 1.9800000000000002 for 1.98. */
function priceOf(value: unknown): PicoPerToken | null {
  const text = typeof value === "number" ? value.toFixed(6) : value;
  return typeof text === "string" ? parseUsdPerMillion(text) : null;
}

/** The supported part of `provider`, and its unsupported fields. Invalid values are dropped like unknown fields. */
export function readPreferences(provider: unknown): {
  readonly preferences: Preferences | null;
  readonly dropped: readonly string[];
} {
  if (provider === undefined || provider === null) return { preferences: null, dropped: [] };
  if (!isRecord(provider)) return { preferences: null, dropped: ["provider"] };
  const prices = isRecord(provider.max_price) ? provider.max_price : {};
  const preferences = {
    order: namesOf(provider.order),
    only: namesOf(provider.only),
    ignore: namesOf(provider.ignore),
    keepsNothing: provider.zdr === true || provider.data_collection === "deny",
    sort: isSort(provider.sort) ? provider.sort : null,
    promptPriceMax: priceOf(prices.prompt),
    completionPriceMax: priceOf(prices.completion),
    fallbacks: provider.allow_fallbacks !== false,
  };
  const honoured: Readonly<Record<string, boolean>> = {
    order: preferences.order !== null,
    only: preferences.only !== null,
    ignore: preferences.ignore !== null,
    zdr: provider.zdr === true,
    data_collection: provider.data_collection === "deny",
    sort: preferences.sort !== null,
    max_price: preferences.promptPriceMax !== null || preferences.completionPriceMax !== null,
    allow_fallbacks: provider.allow_fallbacks === false,
  };
  const dropped = Object.entries(provider)
    .filter(([field, value]) => value !== null && !(Object.hasOwn(NEUTRAL, field) && NEUTRAL[field] === value))
    .filter(([field]) => !(Object.hasOwn(honoured, field) && honoured[field]))
    .slice(0, NAMES_DROPPED_MAX)
    .map(([field]) => `provider.${headerSafe(field)}`);
  return { preferences, dropped };
}
