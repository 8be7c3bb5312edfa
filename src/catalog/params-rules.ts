// Rules across a call's fields, written as the JSON Schema that is published: validation and documentation share one source.
import { z } from "zod";
import { isRecord } from "../core/json.ts";
import type { Json } from "./said.ts";

/** The subset of JSON Schema that cross-field rules need. */
export interface SchemaRule {
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, SchemaRule>>;
  readonly const?: Json;
  readonly enum?: readonly Json[];
  /** For a number. */
  readonly maximum?: number;
  /** For a list: at least one item matches. */
  readonly contains?: SchemaRule;
  readonly not?: SchemaRule;
  readonly anyOf?: readonly SchemaRule[];
  readonly oneOf?: readonly SchemaRule[];
}

/** Whether a value satisfies a rule; an undefined field counts as absent. */
function holds(rule: SchemaRule, value: unknown): boolean {
  const { contains } = rule;
  const fields = isRecord(value) ? value : null;
  return (
    (rule.const === undefined || value === rule.const) &&
    (rule.enum === undefined || rule.enum.includes(value as Json)) &&
    (rule.maximum === undefined || typeof value !== "number" || value <= rule.maximum) &&
    (contains === undefined || !Array.isArray(value) || value.some((item) => holds(contains, item))) &&
    (rule.required === undefined || fields === null || rule.required.every((name) => fields[name] !== undefined)) &&
    (fields === null ||
      Object.entries(rule.properties ?? {}).every(
        ([name, own]) => fields[name] === undefined || holds(own, fields[name]),
      )) &&
    (rule.not === undefined || !holds(rule.not, value)) &&
    (rule.anyOf === undefined || rule.anyOf.some((one) => holds(one, value))) &&
    (rule.oneOf === undefined || rule.oneOf.filter((one) => holds(one, value)).length === 1)
  );
}

const published = new WeakMap<object, SchemaRule>();

/** The published schema of a check; undefined if the check is not a rule. */
export function publishedRule(check: object): SchemaRule | undefined {
  return published.get(check);
}

/** A rule for an object's `check`: the schema, the field that the error names, and the error's text. */
export function rule(says: SchemaRule, field: string, words: string): z.core.$ZodCheck<object> {
  const check = z.refine<object>((given) => holds(says, given), { path: [field], error: words });
  published.set(check, says);
  return check;
}

function implies(one: SchemaRule, other: SchemaRule): SchemaRule {
  return { anyOf: [{ not: one }, other] };
}

/** A field, or several that must be used together. */
type Way = string | readonly [string, string, ...string[]];

function wayWords(way: Way): string {
  if (typeof way === "string") return way;
  const [first, ...others] = way;
  return `${first} with ${others.join(" and ")}`;
}

/** At least one of the fields is required. The error names the first. */
export function needsOne(...ways: readonly [Way, Way, ...Way[]]): z.core.$ZodCheck<object> {
  const says = { anyOf: ways.map((way) => ({ required: [way].flat() })) };
  const [first = ""] = [ways[0]].flat();
  return rule(says, first, `is missing: at least one of ${ways.map(wayWords).join(", ")} is needed`);
}

/** Exactly one of the fields must be set. */
export function exactlyOne(...names: readonly [string, string, ...string[]]): z.core.$ZodCheck<object> {
  const says = { oneOf: names.map((name) => ({ required: [name] })) };
  return rule(says, names[0], `exactly one of ${names.join(", ")} is needed`);
}

/** Either both fields are set or neither. */
export function together(name: string, other: string): z.core.$ZodCheck<object> {
  const none = { not: { anyOf: [{ required: [name] }, { required: [other] }] } };
  return rule({ anyOf: [{ required: [name, other] }, none] }, name, `goes together with ${other}`);
}

/** The field requires the other one. */
export function goesWith(name: string, other: string): z.core.$ZodCheck<object> {
  return rule(implies({ required: [name] }, { required: [other] }), name, `goes with ${other}, which is missing`);
}

/** The field excludes the others. */
export function notBoth(name: string, ...others: readonly [string, ...string[]]): z.core.$ZodCheck<object> {
  const says = { not: { required: [name], anyOf: others.map((other) => ({ required: [other] })) } };
  return rule(says, name, `does not go with ${others.join(" or ")}`);
}

/** The field is required if another has a given value. */
export function neededWhen(name: string, other: string, is: SchemaRule): z.core.$ZodCheck<object> {
  const asked = { properties: { [other]: is }, required: [other] };
  return rule(implies(asked, { required: [name] }), name, `is needed with ${other} ${valuesOf(is)}`);
}

/** The fields are forbidden if another has a given value. */
export function noneWhen(names: readonly string[], other: string, is: SchemaRule): readonly z.core.$ZodCheck<object>[] {
  const asked = { properties: { [other]: is }, required: [other] };
  const words = `does not go with ${other} ${valuesOf(is)}`;
  const says = implies(asked, { not: { anyOf: names.map((name) => ({ required: [name] })) } });
  const checks = names.map((name) => rule(implies(asked, { not: { required: [name] } }), name, words));
  // Each check names its own field in errors; they are published as one rule.
  for (const [at, check] of checks.entries()) published.set(check, at === 0 ? says : {});
  return checks;
}

/** The field must have one value or be absent if another has a given value. */
export function onlyWhen(
  name: string,
  value: Json,
  [other, is]: readonly [other: string, is: SchemaRule],
): z.core.$ZodCheck<object> {
  const asked = { properties: { [other]: is }, required: [other] };
  const says = implies(asked, { properties: { [name]: { const: value } } });
  return rule(says, name, `must be ${value} with ${other} ${valuesOf(is)}`);
}

function valuesOf(is: SchemaRule): string {
  return String(is.contains?.const ?? is.const ?? is.enum?.join(", "));
}

/** The params of an action, with rules across them. */
export function withRules<Shape extends z.ZodRawShape>(rules: readonly z.core.$ZodCheck<object>[], shape: Shape) {
  return z.strictObject(shape).check(...rules);
}

export function optional<S extends z.ZodType>(schema: S, about: string) {
  return schema.optional().describe(about);
}

/** A text of this form, which `says` describes to callers. */
export function like(form: RegExp, says?: string, lengthMax?: number) {
  const text = lengthMax === undefined ? z.string() : z.string().max(lengthMax);
  return text.regex(form, says);
}

/** A public host name without scheme, port or path. */
export const domainName = like(/^([A-Za-z0-9-]+\.)+[A-Za-z]{2,}$/, "must be a domain such as example.com", 253);

/** The params of an endpoint table: the name of the row, and the row's own params. */
export function endpointParams(words: string) {
  const endpoint = z.string().min(1).max(200).describe(`${words}; its own params go beside it`);
  return z.looseObject({ endpoint });
}
