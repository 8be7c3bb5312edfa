// How core/onefind and core/onefind-deep find people, as data: which vendors to query, for what, and where answers have it.
import { z } from "zod";
import { actionId, fn, type JsonObject, place, type Said, some, tag } from "./said.ts";

/** Facts about a person, by their names in rows. */
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

/** Where an answer has each fact: JSON pointers, of which the first with a value counts. A nested list of pointers is joined by commas. */
const person = z.partialRecord(z.enum(PERSON_FIELDS), z.array(z.union([place, z.array(place).min(2)])).min(1));

const call = {
  tag,
  /** `<adapter id>/<action>`. */
  action: actionId,
  /** What a deep job pays for an answer with content. */
  cents: z.int().nonnegative(),
  person,
};

const find = z.strictObject({
  ...call,
  params: fn<(wanted: { readonly query: string; readonly limit: number }) => JsonObject>(),
  /** The list of people; the pointers of `person` are relative to each item. */
  listAt: place,
});

/** Looks up one person by an identifier. */
const enrich = z.strictObject({
  ...call,
  params: fn<(identifier: string) => JsonObject>(),
  /** Used only if one of these facts is still missing. Default: always. */
  fills: z.array(z.enum(PERSON_FIELDS)).min(1).optional(),
  /** It has no data on private email addresses, which name no company. */
  skipsWebmail: z.literal(true).optional(),
});

export const peopleFinder = z.strictObject({
  kind: z.literal("people-finder"),
  find,
  /** Which vendors to query about a person, in order, by the kind of identifier. */
  enrich: z.strictObject({
    email: some(enrich, "has no vendor to ask"),
    linkedin: some(enrich, "has no vendor to ask"),
  }),
  /** Email providers open to the public: domains, or `name.*` for all that begin so. */
  webmail: z.array(z.string().regex(/^[a-z0-9-]+(\.[a-z0-9-]+)*\.([a-z0-9-]+|\*)$/, "is not a domain in lower case")),
  /** Words for occupations, which are not part of a person's name. Lower case, without the plural s. */
  roles: z.array(z.string().regex(/^[\p{Ll}\p{Lo}-]+$/u, "is not a word in lower case")),
});

export type PersonAnswer = Said<z.infer<typeof person>>;
export type FindSpec = Said<z.infer<typeof find>>;
export type EnrichSpec = Said<z.infer<typeof enrich>>;
export type PeopleFinderSpec = Said<z.infer<typeof peopleFinder>>;
