// How core/onefind and core/onefind-deep find people and what is known of them, as data: whom they ask, what for, and where the answers have it.
import { z } from "zod";
import type { JsonObject } from "./action.ts";

/** What can be known of a person, by the names that rows have for it. */
export const PERSON_FIELDS = [
  "name",
  "title",
  "company",
  "location",
  "linkedin",
  "email",
  "phone",
  "domain",
  "industry",
  "headcount",
  "hq",
] as const;
export type PersonField = (typeof PERSON_FIELDS)[number];

/**
 * Where an answer has what is known: JSON pointers, of which the first counts that leads to something. Several in a list of their own are
 * joined by commas.
 */
export type PersonAnswer = Readonly<Partial<Record<PersonField, readonly (string | readonly string[])[]>>>;

/** One question to a vendor. */
interface PeopleCall {
  /** What rows name the vendor by. */
  readonly tag: string;
  /** `<adapter id>/<action>`. */
  readonly action: string;
  /** What a deep job pays for an answer that says something. */
  readonly cents: number;
  readonly person: PersonAnswer;
}

/** Finds people by words. */
export interface FindSpec extends PeopleCall {
  params(wanted: { readonly query: string; readonly limit: number }): JsonObject;
  /** The list of people; the pointers of `person` lead from each. */
  readonly listAt: string;
}

/** Looks one person up by what identifies them. */
export interface EnrichSpec extends PeopleCall {
  params(identifier: string): JsonObject;
  /** It is asked only where one of these is not known yet. Default: always. */
  readonly fills?: readonly PersonField[];
  /** It knows nothing of addresses that say nothing of a company. */
  readonly skipsWebmail?: true;
}

export interface PeopleFinderSpec {
  readonly kind: "people-finder";
  readonly find: FindSpec;
  /** Who is asked of a person, in this order, by the kind of what identifies them. */
  readonly enrich: Readonly<Record<"email" | "linkedin", readonly [EnrichSpec, ...EnrichSpec[]]>>;
  /** Where everybody can have an address: domains, or `name.*` for all that begin so. */
  readonly webmail: readonly string[];
  /** Words that say what people do, and so are no part of anybody's name. In lower case, without a plural's s. */
  readonly roles: readonly string[];
}

const tag = z.string().regex(/^[a-z0-9-]+$/);
const action = z.string().regex(/^[a-z0-9-]+\/[a-z0-9-]+$/, "must be <adapter>/<action>");
const pointer = z.string().regex(/^(\/[^/]+)+$/, "is no JSON pointer");
const person = z.partialRecord(z.enum(PERSON_FIELDS), z.array(z.union([pointer, z.array(pointer).min(2)])).min(1));
const call = { tag, action, cents: z.int().nonnegative(), person, params: z.function() };
const enrich = z
  .array(
    z.strictObject({
      ...call,
      fills: z.array(z.enum(PERSON_FIELDS)).min(1).optional(),
      skipsWebmail: z.literal(true).optional(),
    }),
  )
  .min(1, "has nobody to ask");

export const peopleFinderSchema = z.strictObject({
  kind: z.literal("people-finder"),
  find: z.strictObject({ ...call, listAt: pointer }),
  enrich: z.strictObject({ email: enrich, linkedin: enrich }),
  webmail: z.array(z.string().regex(/^[a-z0-9-]+(\.[a-z0-9-]+)*\.([a-z0-9-]+|\*)$/, "is no domain in lower case")),
  roles: z.array(z.string().regex(/^[\p{Ll}\p{Lo}-]+$/u, "is no word in lower case")),
});

/** The actions that it names, with the field that names each. */
export function actionsOfPeopleFinder({
  find,
  enrich: steps,
}: PeopleFinderSpec): readonly (readonly [string, string])[] {
  const named = (["email", "linkedin"] as const).flatMap((kind) =>
    steps[kind].map((step, at): [string, string] => [`enrich.${kind}.${at}.action`, step.action]),
  );
  return [["find.action", find.action], ...named];
}
