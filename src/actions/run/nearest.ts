// The 404 of an unknown action, or an unknown row of its table, with the nearest names.
import type { Audience } from "../../catalog/catalog.ts";
import { nearest } from "../../catalog/nearest.ts";
import { GatewayError } from "../../core/errors.ts";
import type { ActionCatalog } from "./action-catalog.ts";

export function notFound(what: string, name: string, names: readonly string[]): GatewayError {
  const found = nearest(name, names);
  const meant = found.length === 0 ? "" : ` Nearest: ${found.join(", ")}.`;
  return new GatewayError("not_found", { detail: `${what}.${meant}`, data: { nearest: found } });
}

export function noSuchAction(id: string, actionCatalog: ActionCatalog, audience: Audience): GatewayError {
  const names = actionCatalog.all(audience).map((action) => action.id);
  return notFound(`There is no action ${id.slice(0, 120)}`, id, names);
}
