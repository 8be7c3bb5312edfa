// Fills an adapter's templates: JSON in whose texts places stand for what was sent, answered or kept.
import type { Json } from "../catalog/action.ts";
import type { Template } from "../catalog/action-state.ts";
import { valueAt } from "./action-body.ts";

/** What the places of a template can stand for. */
export interface TemplateScope {
  /** What a param was sent as. */
  sent(param: string): Json | undefined;
  readonly answer: Json;
  /** What is kept of the used resource of a kind. */
  used(kind: string): Json | undefined;
  /** The one of `each`. */
  readonly each?: Json;
  readonly now: string;
}

const PLACE = /\{([^{}\s]+)\}/g;

/** `name/inside` of a value: the first part is the name. */
function inside(path: string, of: (name: string) => Json | undefined): Json | undefined {
  const slash = path.indexOf("/");
  const value = of(slash < 0 ? path : path.slice(0, slash));
  return slash < 0 || value === undefined ? value : valueAt(value, path.slice(slash));
}

function standsFor(place: string, scope: TemplateScope): Json | undefined {
  if (place.startsWith("/")) return valueAt(scope.answer, place);
  if (place === "now") return scope.now;
  if (place === "each" || place.startsWith("each/")) return inside(place, () => scope.each);
  const [kind = "", pointer] = place.split(":");
  if (pointer === undefined) return inside(place, scope.sent);
  const kept = scope.used(kind);
  return kept === undefined ? undefined : valueAt(kept, pointer);
}

function filledText(text: string, scope: TemplateScope): Json | undefined {
  const places = [...text.matchAll(PLACE)];
  const [only] = places;
  if (only !== undefined && only[0] === text) return standsFor(only[1] ?? "", scope);
  let filled = text;
  for (const [place, name = ""] of places) {
    const value = standsFor(name, scope);
    if (typeof value !== "string" && typeof value !== "number") return undefined;
    filled = filled.replace(place, () => String(value));
  }
  return filled;
}

/** The template with what its places stand for; undefined where a text has no value for one of its places. */
export function filled(template: Template, scope: TemplateScope): Json | undefined {
  if (typeof template === "string") return filledText(template, scope);
  if (Array.isArray(template)) {
    return template.flatMap((item: Template) => {
      const value = filled(item, scope);
      return value === undefined ? [] : [value];
    });
  }
  if (typeof template !== "object" || template === null) return template;
  const fields = Object.entries(template).flatMap(([name, inner]): [string, Json][] => {
    const value = filled(inner, scope);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(fields);
}

/** The template as an id; undefined: it has no value. */
export function filledId(template: string, scope: TemplateScope): string | undefined {
  const value = filled(template, scope);
  return (typeof value === "string" && value !== "") || typeof value === "number" ? String(value) : undefined;
}
