// The 404 of an action, or of a name of its table, that is not known: with the names nearest to it.
import type { Audience } from "../../catalog/catalog.ts";
import { nearest } from "../../catalog/nearest.ts";
import { GatewayError } from "../../core/errors.ts";
import type { ActionCatalog } from "./action-catalog.ts";

/** What was asked for is not known; says which of `names` are near. */
export function notFound(what: string, asked: string, names: readonly string[]): GatewayError {
  const found = nearest(asked, names);
  const meant = found.length === 0 ? "" : ` Nearest: ${found.join(", ")}.`;
  return new GatewayError("not_found", { detail: { detail: `${what}.${meant}` }, data: { nearest: found } });
}

/** There is no such action. */
export function noSuchAction(id: string, actionCatalog: ActionCatalog, audience: Audience): GatewayError {
  const names = actionCatalog.all(audience).map((action) => action.id);
  return notFound(`There is no action ${id.slice(0, 120)}`, id, names);
}
