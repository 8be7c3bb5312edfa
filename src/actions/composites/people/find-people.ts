// One search for people by a text: all who were found, or the one whom the text names.
import type { InnerAnswer, InnerCalls } from "../../../catalog/local-action.ts";
import type { FindSpec, PeopleFinderSpec } from "../../../catalog/people-finder.ts";
import type { GatewayError } from "../../../core/errors.ts";
import { atPointer } from "../../../upstream/json-pointer.ts";
import type { NamedPerson } from "./identifier.ts";
import { isNamedBy } from "./person-query.ts";
import { type Hop, Person, readPerson } from "./person-row.ts";
import { oneMeant } from "./same-person.ts";

/** Results to consider for one person, who need not come first. */
export const ONE_OF = 5;

export interface Found {
  readonly people: readonly Person[];
  readonly person: boolean;
  /** Its `charged_cents` is what a deep job counts: nothing where no person was found. */
  readonly hop: Hop;
  readonly answer: InnerAnswer;
}

export function hopOf({ tag, action }: Pick<FindSpec, "tag" | "action">, answer: InnerAnswer, cents: number): Hop {
  const hop = { provider: tag, action, charged_cents: cents };
  if (isUnasked(answer)) return { ...hop, ok: false, latency_ms: 0, skipped: "not_configured" };
  return { ...hop, ok: answer.ok, latency_ms: Math.round(answer.ms), transaction_id: answer.id };
}

/** Whether no vendor was asked, because none serves the action here. */
function isUnasked(answer: InnerAnswer): boolean {
  return !answer.ok && answer.error.code === "upstream_not_configured" && answer.ms === 0;
}

export function findError({ answer }: Found): GatewayError | null {
  return answer.ok ? null : answer.error;
}

/** The people in an answer who have a name and a profile, without repeats. */
function peopleIn(data: unknown, { listAt, person: places, tag }: FindSpec): readonly Person[] {
  const list = atPointer(data, listAt);
  const people = new Map<string, Person>();
  for (const item of Array.isArray(list) ? list : []) {
    const told = readPerson(item, places);
    const linkedin = told.get("linkedin");
    if (linkedin === undefined || !told.has("name") || people.has(linkedin.toLowerCase())) continue;
    const person = new Person(null);
    person.told(told, tag);
    people.set(linkedin.toLowerCase(), person);
  }
  return [...people.values()];
}

/** The found person who matches the wanted one, with the match recorded; empty where none does. */
function meantOf(people: readonly Person[], wanted: NamedPerson): readonly Person[] {
  const meant = oneMeant(
    wanted,
    people.map((person) => [person, person.known] as const),
  );
  meant?.one.agrees(meant.match);
  return meant === null ? [] : [meant.one];
}

/** The person whom a query names although it was read as a description; only the results show that. */
function namedAfterAll(query: string, people: readonly Person[]): readonly Person[] {
  const meant = people.filter(({ known }) => isNamedBy(query, known)).slice(0, 1);
  for (const one of meant) one.agrees({ name: 1, company: 1 });
  return meant;
}

export interface FindWanted {
  readonly query: string;
  readonly limit: number;
  /** The person whom the query names; null where it describes people, or does not show which words are the company. */
  readonly named: NamedPerson | null;
}

/** Never rejects because of a vendor. */
export async function findPeople(
  { query, limit, named }: FindWanted,
  { find }: PeopleFinderSpec,
  calls: Pick<InnerCalls, "call">,
): Promise<Found> {
  const params = find.params({ query, limit: named === null ? limit : ONE_OF });
  const answer = await calls.call({ action: find.action, params });
  const all = answer.ok ? peopleIn(answer.data, find) : [];
  const meant = named === null ? namedAfterAll(query, all) : meantOf(all, named);
  const person = named !== null || meant.length > 0;
  const people = person ? meant : all.slice(0, limit);
  return { people, person, answer, hop: hopOf(find, answer, people.length > 0 ? find.cents : 0) };
}
