// The headers of every answer to a model request: retirements, substitutions, dropped fields and routes.
import { modelEndHeaders } from "../../catalog/retirement.ts";
import type { RouteHealth } from "../../upstream/route-health.ts";
import type { Upstream } from "../../upstream/upstream.ts";
import type { ModelRequest } from "../formats/model-request.ts";
import { droppedHeader, takesUnsifted } from "./dropped-header.ts";
import { type Placed, placed } from "./prefer.ts";
import type { FitModel } from "./quote.ts";
import type { Resolved } from "./resolve-models.ts";
import type { RouteOrder } from "./route-order.ts";

const NAME = "x-tollgate-routes";
const ROUTES_MAX = 40;
const REASON_CHARACTERS_MAX = 120;

/** A route that cannot serve the call. */
export interface Unfit {
  readonly provider: string;
  readonly model: string;
  readonly reason: string;
}

function safe(text: string): string {
  return text.slice(0, REASON_CHARACTERS_MAX).replace(/[^\x20-\x7e]|[;,]/g, " ");
}

interface RoutesTold {
  readonly order: RouteOrder;
  readonly all: readonly Placed[];
  readonly unfit: readonly Unfit[];
  readonly health: Pick<RouteHealth, "order" | "rests">;
}

/** `1 openai/gpt-5.4; 2 openrouter/gpt-5.4 rests; - xai/grok-4.5 left out by provider`, at most 40 of them. */
function routesHeader({ order, all, unfit, health }: RoutesTold): Readonly<Record<string, string>> {
  const nameOf = ({ candidate }: Placed) => `${candidate.provider}/${candidate.offer.upstreamModel}`;
  const asked = order.placed.map((one) => ({ one, candidate: one.candidate }));
  const tried = health.order(asked).map(({ one }) => one);
  const taken = tried.map((one, at) => {
    const stuck = one.candidate.healthKey === order.stuckTo ? " the conversation was served there" : "";
    const rests = at !== asked.findIndex((other) => other.one === one) && health.rests(one.candidate) ? " rests" : "";
    return `${at + 1} ${nameOf(one)}${stuck}${rests}`;
  });
  const known = new Set(order.placed.map(({ candidate }) => candidate));
  const left = all
    .filter(({ candidate }) => !known.has(candidate))
    .map((one) => `- ${nameOf(one)} left out by provider`);
  const cannot = unfit.map(({ provider, model, reason }) => `- ${provider}/${model} ${reason}`);
  return { [NAME]: [...taken, ...left, ...cannot].slice(0, ROUTES_MAX).map(safe).join("; ") };
}

export function headersOf(
  read: ModelRequest,
  {
    resolved,
    order,
    fits,
    unfit,
    health,
  }: {
    readonly resolved: Resolved;
    readonly order: RouteOrder;
    readonly fits: readonly FitModel[];
    readonly unfit: Unfit[] | null;
    readonly health: Upstream["health"];
  },
): Readonly<Record<string, string>> {
  const ends = modelEndHeaders(resolved.ends);
  if (resolved.serves.length === 0 && read.dropped.length === 0 && unfit === null) return ends;
  const inPlace: Record<string, string> = {};
  for (const [name, says] of resolved.serves) inPlace[name] = name in inPlace ? `${inPlace[name]},${says}` : says;
  return {
    ...ends,
    ...inPlace,
    ...droppedHeader(
      read.dropped,
      order.placed.every(({ candidate }) => takesUnsifted(candidate.offer, read)),
    ),
    ...(unfit === null ? null : routesHeader({ order, all: placed(fits), unfit, health })),
  };
}
