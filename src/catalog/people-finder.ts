// How core/onefind and core/onefind-deep find people and what is known of them, as data: whom they ask, what for, and where the answers have it.
import { z } from "zod";
import { actionId, fn, type JsonObject, place, type Said, some, tag } from "./said.ts";

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
const person = z.partialRecord(z.enum(PERSON_FIELDS), z.array(z.union([place, z.array(place).min(2)])).min(1));

/** One question to a vendor. */
const call = {
  /** What rows name the vendor by. */
  tag,
  /** `<adapter id>/<action>`. */
  action: actionId,
  /** What a deep job pays for an answer that says something. */
  cents: z.int().nonnegative(),
  person,
};

/** Finds people by words. */
const find = z.strictObject({
  ...call,
  params: fn<(wanted: { readonly query: string; readonly limit: number }) => JsonObject>(),
  /** The list of people; the pointers of `person` lead from each. */
  listAt: place,
});

/** Looks one person up by what identifies them. */
const enrich = z.strictObject({
  ...call,
  params: fn<(identifier: string) => JsonObject>(),
  /** It is asked only where one of these is not known yet. Default: always. */
  fills: z.array(z.enum(PERSON_FIELDS)).min(1).optional(),
  /** It knows nothing of addresses that say nothing of a company. */
  skipsWebmail: z.literal(true).optional(),
});

export const peopleFinder = z.strictObject({
  kind: z.literal("people-finder"),
  find,
  /** Who is asked of a person, in this order, by the kind of what identifies them. */
  enrich: z.strictObject({ email: some(enrich, "has nobody to ask"), linkedin: some(enrich, "has nobody to ask") }),
  /** Where everybody can have an address: domains, or `name.*` for all that begin so. */
  webmail: z.array(z.string().regex(/^[a-z0-9-]+(\.[a-z0-9-]+)*\.([a-z0-9-]+|\*)$/, "is no domain in lower case")),
  /** Words that say what people do, and so are no part of anybody's name. In lower case, without a plural's s. */
  roles: z.array(z.string().regex(/^[\p{Ll}\p{Lo}-]+$/u, "is no word in lower case")),
});

export type PersonAnswer = Said<z.infer<typeof person>>;
export type FindSpec = Said<z.infer<typeof find>>;
export type EnrichSpec = Said<z.infer<typeof enrich>>;
export type PeopleFinderSpec = Said<z.infer<typeof peopleFinder>>;

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
