// What a key may call: the lists as its owner writes them, and whether a call is on them.
import { z } from "zod";
import { GatewayError } from "../../core/errors.ts";
import type { Allowed } from "../../core/plan.ts";

const ENTRIES_MAX = 200;
const ENTRY_CHARS_MAX = 200;
const SERVICE = /^[a-z0-9][a-z0-9_-]*(\/[a-z0-9][a-z0-9_-]*)?$/;
const MODEL = /^[a-z0-9][a-z0-9-]*(\/[A-Za-z0-9][A-Za-z0-9._:/-]*)?$/;
const TIER_PREFIX = "core/";

/** Slugs have a slash, so a name without one is a tier's short name. */
function fullName(model: string): string {
  return model.includes("/") ? model : `${TIER_PREFIX}${model}`;
}

function list(shape: RegExp, message: string, written: (entry: string) => string) {
  return z
    .array(z.string(message).regex(shape, message).max(ENTRY_CHARS_MAX, message), "must be a list or null")
    .max(ENTRIES_MAX, `must have at most ${ENTRIES_MAX} entries`)
    .transform((entries): readonly string[] => [...new Set(entries.map(written))]);
}

export const servicesSchema = list(SERVICE, "must be a service, or an action as <service>/<action>", (entry) => entry);
export const modelsSchema = list(MODEL, "must be a model as <maker>/<model>, or a tier as core/<tier>", fullName);

/** A name on the lists that is not for sale to accounts of this kind; null: all are. The gateway passes it in. */
export type Unsold = (
  lists: { readonly services: readonly string[]; readonly models: readonly string[] },
  audience: { readonly sandbox: boolean },
) => { readonly list: "services" | "models"; readonly message: string } | null;

function notAllowed(asked: string, allowed: readonly string[], param?: string): GatewayError {
  const where = param === undefined ? {} : { param };
  return new GatewayError("key_not_allowed", { detail: { asked }, data: { allowed }, ...where });
}

/** Whether a key with these lists may call an action. A service on the list stands for all its actions. */
export function serviceAllowed({ services }: Allowed, service: string, action: string): boolean {
  return services === null || services.includes(service) || services.includes(`${service}/${action}`);
}

/** Like `serviceAllowed`, but true for those of our own actions that every key may call (`anyKey`). */
export function isCallable(
  allows: Allowed,
  { service, action, anyKey }: { readonly service: string; readonly action: string; readonly anyKey?: true },
): boolean {
  return anyKey === true || serviceAllowed(allows, service, action);
}

/** Whether a key with these lists may call a model or tier by this name. */
export function modelAllowed({ models }: Allowed, name: string): boolean {
  return models === null || models.includes(fullName(name));
}

/** `key_not_allowed`, with what the key may call; null where it may call the action. */
export function serviceRefusal(allows: Allowed, service: string, action: string): GatewayError | null {
  if (serviceAllowed(allows, service, action)) return null;
  return notAllowed(`${service}/${action}`, allows.services ?? []);
}

/** Throws where the key may not call one of these models and tiers, by their requested names: the models behind a tier are not checked. */
export function requireModels(
  allows: Allowed,
  asked: readonly { readonly name: string; readonly param: string }[],
): void {
  const wrong = asked.find(({ name }) => !modelAllowed(allows, name));
  if (wrong !== undefined) throw notAllowed(wrong.name, allows.models ?? [], wrong.param);
}

/** The intersection of two lists. A service stands for all its actions, so a service and one of its actions give the action. */
function both(
  one: readonly string[] | null,
  other: readonly string[] | null,
  covers: (list: readonly string[], name: string) => boolean,
): readonly string[] | null {
  if (one === null || other === null) return one ?? other;
  return [...new Set([...one.filter((name) => covers(other, name)), ...other.filter((name) => covers(one, name))])];
}

/** What both of two lists allow, such as a key's and its group's. */
export function bothAllow(one: Allowed, other: Allowed): Allowed {
  const coversService = (list: readonly string[], name: string) =>
    list.includes(name) || list.includes(name.split("/", 1)[0] ?? name);
  return {
    services: both(one.services, other.services, coversService),
    models: both(one.models, other.models, (list, name) => list.includes(name)),
  };
}
