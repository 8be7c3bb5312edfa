// Orders a call's routes as its caller asked, and removes those that the caller excludes.
import { blendOf } from "../../catalog/price.ts";
import { GatewayError } from "../../core/errors.ts";
import type { PicoPerToken } from "../../core/money.ts";
import type { ModelCandidate } from "../../upstream/model-candidate.ts";
import type { RouteSpeed } from "../../upstream/route-figures.ts";
import type { Preferences, Sort } from "../formats/preferences.ts";
import type { FitModel } from "./quote.ts";

/** True if the name matches the provider: our id, the maker whose models it sells, its name, or OpenRouter's name for it. */
function isCalled({ offer: { adapter } }: ModelCandidate, name: string): boolean {
  const { maker, name: shown, alsoCalled } = adapter.spec;
  return name === adapter.id || name === maker || name === shown.toLowerCase() || alsoCalled?.includes(name) === true;
}

function rank(candidate: ModelCandidate, order: readonly string[]): number {
  const at = order.findIndex((name) => isCalled(candidate, name));
  return at < 0 ? order.length : at;
}

export interface Placed {
  readonly fit: FitModel;
  readonly candidate: ModelCandidate;
}

export function placed(models: readonly FitModel[]): readonly Placed[] {
  const [fit] = models;
  const [candidate] = fit?.candidates ?? [];
  if (fit !== undefined && candidate !== undefined && models.length === 1 && fit.candidates.length === 1)
    return [{ fit, candidate }];
  return models.flatMap((fit) => fit.candidates.map((candidate) => ({ fit, candidate })));
}

function isDear({ sale }: FitModel["model"], { promptPriceMax, completionPriceMax }: Preferences): boolean {
  const above = (price: PicoPerToken, max: PicoPerToken | null) => max !== null && price > max;
  return above(sale.input, promptPriceMax) || above(sale.output, completionPriceMax);
}

/** The sort key, ascending. Unmeasured routes come last and keep their order. */
function costIn(sort: Sort, { fit, candidate }: Placed, speedOf: (healthKey: string) => RouteSpeed | null): number {
  if (sort === "price") return blendOf(fit.model.sale);
  const speed = speedOf(candidate.healthKey);
  if (sort === "latency") return speed?.firstTokenMs ?? Number.MAX_SAFE_INTEGER;
  return speed?.tokensPerSecond == null ? 0 : -speed.tokensPerSecond;
}

/** The allowed candidates in the requested order; models named one by one keep theirs. Throws if none is left. */
export function prefer(
  all: readonly Placed[],
  preferences: Preferences,
  speedOf: (healthKey: string) => RouteSpeed | null,
): readonly Placed[] {
  const { order, only, ignore, keepsNothing, sort, fallbacks } = preferences;
  const allowed = all
    .filter(({ candidate }) => !keepsNothing || candidate.offer.adapter.keepsNothing === true)
    .filter(({ fit }) => !isDear(fit.model, preferences))
    .filter(({ candidate }) => only === null || only.some((name) => isCalled(candidate, name)))
    .filter(({ candidate }) => ignore === null || !ignore.some((name) => isCalled(candidate, name)));
  const first = order ?? [];
  const sorted = [...allowed].sort(
    (a, b) =>
      a.fit.place - b.fit.place ||
      rank(a.candidate, first) - rank(b.candidate, first) ||
      (sort === null ? 0 : costIn(sort, a, speedOf) - costIn(sort, b, speedOf)),
  );
  const listed =
    first.length === 0 ? sorted.slice(0, 1) : sorted.filter(({ candidate }) => rank(candidate, first) < first.length);
  const left = fallbacks ? sorted : listed;
  if (left.length > 0) return left;
  const providers = [...new Set(all.map(({ candidate }) => candidate.provider))];
  const detail = `provider: none of the allowed providers can serve this; these can: ${providers.join(", ")}`;
  throw new GatewayError("bad_request", { param: "provider", detail, data: { providers } });
}
