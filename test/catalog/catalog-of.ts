// Small adapters for tests of single rules, and catalogs made of them.
import { type AdapterSpec, bearer, type ModelSpec, type TokenPriceSpec } from "../../src/catalog/adapter.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { type CatalogOptions, compileCatalog } from "../../src/catalog/compile.ts";
import type { EndpointTable } from "../../src/catalog/endpoint-table.ts";
import type { ActionTierSpec, CompositeTierSpec, TierSpec } from "../../src/catalog/tier.ts";
import { atOnce } from "../../src/core/slices.ts";
import { manualClock } from "../support/manual-clock.ts";

export const LIVE = { sandbox: false };
export const PLAY = { sandbox: true };

export const TODAY_MS = Date.parse("2026-11-21T12:00:00Z");

export function priced(input: string, output: string, more: Partial<TokenPriceSpec> = {}): ModelSpec {
  return { contextTokens: 8_192, prices: [{ since: "2026-01-01", input, output, ...more }] };
}

export function vendor(models: Readonly<Record<string, ModelSpec>>, more: Partial<AdapterSpec> = {}): AdapterSpec {
  return {
    name: "A vendor",
    docs: "https://vendor.example/docs",
    origin: "https://api.vendor.example/v1",
    auth: bearer,
    chat: { dialect: "chat-completions", models },
    ...more,
  };
}

/** A server that serves any model, free unless the environment sets a price. */
export function anyServer(more: Partial<AdapterSpec> = {}): AdapterSpec {
  const anyModel = priced("0", "0");
  return vendor({}, { chat: { dialect: "chat-completions", models: {}, anyModel }, local: true, ...more });
}

export function tier(...models: readonly [string, ...string[]]): TierSpec {
  const [first, ...rest] = models.map((model) => ({ model }));
  return { purpose: "A test.", firstTokenMsMax: 1_000, candidates: [first ?? { model: "" }, ...rest] };
}

export interface CatalogParts {
  readonly adapters: Readonly<Record<string, AdapterSpec>>;
  readonly tiers?: Readonly<Record<string, TierSpec>>;
  readonly actionTiers?: Readonly<Record<string, ActionTierSpec>>;
  readonly compositeTiers?: Readonly<Record<string, CompositeTierSpec>>;
  readonly tables?: Readonly<Record<string, EndpointTable>>;
}

/** The live keys are those in `env`; the sandbox is at `http://sandbox.test`. */
export function catalogOf(parts: CatalogParts, options: Partial<CatalogOptions> = {}): Catalog {
  const files = {
    adapters: new Map(Object.entries(parts.adapters)),
    tiers: new Map(Object.entries(parts.tiers ?? {})),
    actionTiers: new Map(Object.entries(parts.actionTiers ?? {})),
    compositeTiers: new Map(Object.entries(parts.compositeTiers ?? {})),
    tables: new Map(Object.entries(parts.tables ?? {})),
    standIns: new Map(),
  };
  return atOnce(
    compileCatalog(files, {
      env: {},
      clock: manualClock(TODAY_MS),
      sandboxOrigin: "http://sandbox.test",
      contact: null,
      markupPercent: 0,
      allowLoss: false,
      ...options,
    }),
  );
}
