// The headers of every answer to a model request: retirements, substitutions, dropped fields and routes.
import { modelEndHeaders } from "../../catalog/retirement.ts";
import type { Upstream } from "../../upstream/upstream.ts";
import type { ModelRequest } from "../formats/model-request.ts";
import { droppedHeader, takesUnsifted } from "./dropped-header.ts";
import { placed } from "./prefer.ts";
import type { FitModel } from "./quote.ts";
import type { Resolved } from "./resolve-models.ts";
import type { RouteOrder } from "./route-order.ts";
import { routesHeader, type Unfit } from "./routes-header.ts";

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
