// A row about a person: the known facts, their sources, and the calls made.
import { PERSON_FIELDS, type PersonAnswer, type PersonField } from "../../../catalog/people-finder.ts";
import { atPointer } from "../../../upstream/json-pointer.ts";
import type { CallMade } from "../call-made.ts";
import { profileUrl } from "./identifier.ts";
import { nameOf } from "./person-query.ts";
import type { Match } from "./same-person.ts";

export type Hop = CallMade<
  "not_configured" | "webmail" | "nothing_missing" | "over_budget" | "unpaid_costs" | "timeout" | "cancelled"
>;

type Known = Readonly<Record<PersonField, string | null>>;

/** A person in answers (contract 2.5). */
export interface PersonRow extends Known {
  readonly id: string;
  readonly input?: string;
  readonly used?: Readonly<Partial<Record<PersonField, string>>>;
  /** How well the found person matches the given name and company; absent where none were given. */
  readonly match?: Match;
  /** The source of each filled field: a vendor's tag, or `input`. */
  readonly sources: Readonly<Partial<Record<PersonField, string>>>;
  /** A vendor was asked about this person, and answered. */
  readonly enriched: boolean;
  readonly hops: readonly Hop[];
  readonly charged_cents: number;
  readonly error?: "over budget" | "unpaid_costs" | "timeout" | "cancelled";
}

/** Fields in which a vendor's spelling replaces the caller's. */
const LOOSELY_GIVEN: readonly PersonField[] = ["name", "company"];
const INPUT = "input";
/** No genuine value is longer. */
const CHARS_MAX = 500;

const NOTHING = Object.fromEntries(PERSON_FIELDS.map((field) => [field, null])) as Known;

function textOf(value: unknown): string | null {
  const text = typeof value === "number" ? String(value) : typeof value === "string" ? value.trim() : "";
  return text === "" ? null : text.slice(0, CHARS_MAX);
}

function textAt(answer: unknown, at: string | readonly string[]): string | null {
  if (typeof at === "string") return textOf(atPointer(answer, at));
  const parts = at.map((one) => textOf(atPointer(answer, one))).filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join(", ");
}

/** Normalizes a field, so that all sources give profiles and domains in one form. */
function asTold(field: PersonField, text: string): string | null {
  if (field === "linkedin") return profileUrl(text);
  if (field === "name") return nameOf(text);
  if (field !== "domain") return text;
  const url = URL.parse(/^https?:/i.test(text) ? text : `https://${text}`);
  return url === null ? null : url.hostname.replace(/^www\./, "");
}

/** What an answer says about a person; fields that it does not contain are absent. */
export function readPerson(answer: unknown, places: PersonAnswer): ReadonlyMap<PersonField, string> {
  const told = new Map<PersonField, string>();
  for (const field of PERSON_FIELDS) {
    for (const at of places[field] ?? []) {
      const text = textAt(answer, at);
      const value = text === null ? null : asTold(field, text);
      if (value === null) continue;
      told.set(field, value);
      break;
    }
  }
  return told;
}

export class Person {
  readonly input: string | null;
  #known: Known = NOTHING;
  #sources: Readonly<Partial<Record<PersonField, string>>> = {};
  #hops: readonly Hop[] = [];
  #enriched = false;
  #used: PersonRow["used"];
  #match: Match | null = null;

  /** `input`: the identifier in the request; null where a search found the person. */
  constructor(input: string | null) {
    this.input = input;
  }

  static of(row: PersonRow): Person {
    const person = new Person(row.input ?? null);
    person.#known = Object.fromEntries(PERSON_FIELDS.map((field) => [field, row[field]])) as Known;
    person.#sources = row.sources;
    person.#hops = row.hops;
    person.#enriched = row.enriched;
    person.#used = row.used;
    person.#match = row.match ?? null;
    return person;
  }

  get known(): Known {
    return this.#known;
  }

  fields(): ReadonlyMap<PersonField, string> {
    const filled = PERSON_FIELDS.map((field) => [field, this.#known[field]] as const);
    return new Map(filled.filter((entry): entry is [PersonField, string] => entry[1] !== null));
  }

  /** Whether a source added something that was not in the input. */
  get isFound(): boolean {
    return Object.values(this.#sources).some((source) => source !== INPUT);
  }

  hasFrom(field: PersonField): boolean {
    return this.#sources[field] !== undefined && this.#sources[field] !== INPUT;
  }

  get isEnriched(): boolean {
    return this.#enriched;
  }

  /** Whether a vendor was asked about this person, whatever the outcome. */
  get wasAsked(): boolean {
    return this.#hops.some((hop) => hop.skipped === undefined);
  }

  get wasAnswered(): boolean {
    return this.#hops.some(({ ok }) => ok);
  }

  get chargedCents(): number {
    return this.#hops.reduce((sum, hop) => sum + hop.charged_cents, 0);
  }

  given(fields: Readonly<Partial<Record<PersonField, string>>>): void {
    this.#used = fields;
    for (const [field, value] of Object.entries(fields)) this.#set(field as PersonField, value, INPUT);
  }

  get match(): Match | null {
    return this.#match;
  }

  agrees(match: Match | null): void {
    this.#match = match;
  }

  /** Records what a vendor says: it fills only unknown fields, and loosely given ones. */
  told(fields: ReadonlyMap<PersonField, string>, tag: string): void {
    for (const [field, value] of fields) {
      const isLoose = this.#sources[field] === INPUT && LOOSELY_GIVEN.includes(field);
      if (this.#known[field] === null || isLoose) this.#set(field, value, tag);
    }
  }

  /** A vendor has answered about this person, even with nothing. */
  lookedUp(): void {
    this.#enriched = true;
  }

  hop(hop: Hop): void {
    this.#hops = [...this.#hops, hop];
  }

  row(error?: PersonRow["error"]): PersonRow {
    const { linkedin, email } = this.#known;
    return {
      id: linkedin ?? this.input ?? email ?? this.#known.name ?? "",
      ...(this.input === null ? {} : { input: this.input }),
      ...(this.#used === undefined ? {} : { used: this.#used }),
      ...(this.#match === null ? {} : { match: this.#match }),
      ...this.#known,
      sources: this.#sources,
      enriched: this.#enriched,
      hops: this.#hops,
      charged_cents: this.chargedCents,
      ...(error === undefined ? {} : { error }),
    };
  }

  #set(field: PersonField, value: string, source: string): void {
    this.#known = { ...this.#known, [field]: value };
    this.#sources = { ...this.#sources, [field]: source };
  }
}
