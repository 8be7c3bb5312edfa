// core/onefind: people by a description, or one by name and company. Without contacts, which core/onefind-deep adds.
import { z } from "zod";
import { type LocalAction, localAction } from "../../catalog/local-action.ts";
import type { PeopleFinderSpec } from "../../catalog/people-finder.ts";
import { GatewayError } from "../../core/errors.ts";
import { findError, findPeople } from "./people/find-people.ts";
import { identifierIn } from "./people/identifier.ts";
import { personIn } from "./people/person-query.ts";

const LIMIT_MAX = 25;
export const LIMIT_DEFAULT = 15;
const QUERY_CHARS_MAX = 1_000;
const SHOWN_CHARS_MAX = 80;

export const limit = z.int().min(1).max(LIMIT_MAX);

/** A description, or a name with a company; an email, phone number or profile gets an error code of its own. */
export const query = z
  .string()
  .trim()
  .min(1)
  .max(QUERY_CHARS_MAX)
  .refine((text) => identifierIn(text) === null, {
    error: ({ input }) => identifierIn(String(input)) ?? "",
    params: { code: "onefind_identifier" },
  });

export function shownQuery(text: string): string {
  return `"${text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX - 1)}…` : text}"`;
}

const NEXT =
  "Contacts and facts of their companies: POST /api/run/core/onefind-deep with the ids as rows, or with the same query.";

/** `finder` is read at each call, because the catalog may change. */
export function onefind(finder: () => PeopleFinderSpec): LocalAction {
  return localAction({
    service: "core",
    action: "onefind",
    asked:
      "find a person; who is the head of a company; linkedin of somebody; where does he work; what is her job; founders of startups; ceo, cto, vp, director, manager; experts in a field; people at a company; doctors, lawyers, engineers, designers in a town; look somebody up",
    description:
      "Finds people by a description, or one person by name and company: name, title, company, place and LinkedIn profile. No contacts.",
    keywords:
      "find people; leads; prospects; candidates; who works at; contact details of someone; LinkedIn profile of a person; linkedin of a person; find a contact; email of a person; plumber; doctor; lawyer",
    category: "core",
    effect: "read",
    params: z.strictObject({
      query: query.describe(
        "Who is wanted, such as: founders of fintech companies in Berlin; or: Ada Lovelace, Example",
      ),
      limit: limit.default(LIMIT_DEFAULT).describe("How many at the most; the price is the same"),
    }),
    price: { mode: "fixed", cents: 2 },
    upstreamCentsMax: () => 3,
    needs: () => [finder().find.action],
    async run({ query: words, limit: most }, call) {
      const spec = finder();
      const found = await findPeople({ query: words, limit: most, named: personIn(words, spec.roles) }, spec, call);
      const error = findError(found);
      if (error !== null) return error;
      const { people, person, hop } = found;
      if (people.length === 0) return new GatewayError("no_people", { detail: shownQuery(words) });
      const rows = people.map((one) => one.row());
      return { query: words, person, row_count: rows.length, enriched: false, rows, calls: [hop], next: NEXT };
    },
    example: { params: { query: "Ada Lovelace, Example" } },
  });
}
