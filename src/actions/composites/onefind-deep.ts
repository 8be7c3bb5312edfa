// core/onefind-deep: finds people by a query or by identifiers, with contacts and facts of their companies. A job, paid per step.
import { z } from "zod";
import type { JobEnd, JobKind, RunningJob } from "../../catalog/job-kind.ts";
import { type LocalAction, launched, localAction } from "../../catalog/local-action.ts";
import { exactlyOne, notBoth } from "../../catalog/params-rules.ts";
import type { PeopleFinderSpec } from "../../catalog/people-finder.ts";
import { LIMIT_DEFAULT, limit, query, shownQuery } from "./onefind.ts";
import { type Cut, type EnrichDeps, enrichBy, enrichFound } from "./people/enrich-person.ts";
import { findError, findPeople } from "./people/find-people.ts";
import { type Identifier, identifierKey, readIdentifier } from "./people/identifier.ts";
import { personIn } from "./people/person-query.ts";
import { type Hop, Person, type PersonRow } from "./people/person-row.ts";
import { endedBy, failed, type RowDone, type RowsDeps, RowsJob } from "./rows-job.ts";
import { budgetCents } from "./step-budget.ts";

const NAME = "onefind-deep";
const MS_MAX = 15 * 60_000;
const IN_FLIGHT_MAX = 3;
const ROWS_MAX = 50;
const ROW_CHARS_MAX = 500;
const [BUDGET_CENTS_MIN, BUDGET_CENTS_MAX, ROW_CENTS] = [10, 500, 16];

function faultOf(text: string): string | null {
  const read = readIdentifier(text);
  return typeof read === "string" ? read : null;
}

const row = z
  .string()
  .trim()
  .min(1)
  .max(ROW_CHARS_MAX)
  .refine((text) => faultOf(text) === null, { error: ({ input }) => faultOf(String(input)) ?? "" });

const params = z
  .strictObject({
    query: query.optional().describe("Who is wanted: a description, or one person by name and company"),
    rows: z
      .array(row)
      .min(1)
      .max(ROWS_MAX)
      .optional()
      .describe(
        "Who is meant, each by an email address, a LinkedIn URL, or a name with a company: Ada Lovelace, Example",
      ),
    limit: limit
      .optional()
      .describe(`How many people of a query at the most; only with query. Default ${LIMIT_DEFAULT}`),
    budgetCents: budgetCents(
      BUDGET_CENTS_MIN,
      BUDGET_CENTS_MAX,
      `${ROW_CENTS} for each row, at most ${BUDGET_CENTS_MAX}`,
    ),
  })
  .check(exactlyOne("query", "rows"), notBoth("limit", "rows"));
type Start = z.infer<typeof params>;

function identifiersOf(
  rows: readonly string[],
): ReadonlyMap<string, { readonly input: string; readonly by: Identifier }> {
  const meant = new Map<string, { readonly input: string; readonly by: Identifier }>();
  for (const input of rows) {
    const by = readIdentifier(input);
    if (typeof by === "string" || meant.has(identifierKey(by))) continue;
    meant.set(identifierKey(by), { input, by });
  }
  return meant;
}

/** The hold where the caller names no budget. */
function defaultCents(start: Start, { roles }: PeopleFinderSpec): number {
  const named = start.query === undefined ? null : personIn(start.query, roles);
  const people = named === null ? (start.limit ?? LIMIT_DEFAULT) : 1;
  const count = start.rows === undefined ? people : identifiersOf(start.rows).size;
  return Math.min(BUDGET_CENTS_MAX, count * ROW_CENTS);
}

/** `finder` is read at each call, because the catalog may change. */
export function onefindDeep(finder: () => PeopleFinderSpec): LocalAction {
  return localAction({
    service: "core",
    action: NAME,
    description:
      "Finds people, or takes those you name by email, LinkedIn URL or name and company, and looks up email, phone and facts of their companies. Starts a job; core/result tells what it found.",
    keywords: "enrich; find email; contacts; lead list; who is this email; emails of LinkedIn profiles",
    category: "core",
    asked:
      "emails and phones of a list of people; enrich my leads; build a list of contacts; contact details of many persons; list of prospects with email; phone of a person",
    effect: "read",
    params,
    price: {
      mode: "capped",
      cents: BUDGET_CENTS_MAX,
      quoteCents: (start) => start.budgetCents ?? defaultCents(start, finder()),
    },
    launches: { job: NAME, inFlightMax: IN_FLIGHT_MAX },
    needs: () => {
      const { find, enrich } = finder();
      return [find, ...enrich.email, ...enrich.linkedin].map(({ action }) => action);
    },
    run: (_, call) => launched(call),
    example: { params: { rows: ["ada@example.com", "https://www.linkedin.com/in/ada"] } },
  });
}

interface Done extends RowDone {
  readonly isFound: boolean;
  readonly enriched: boolean;
  readonly hasEmail: boolean;
  readonly hasPhone: boolean;
  readonly isSkipped: boolean;
  readonly wasAsked: boolean;
  readonly wasAnswered: boolean;
}

interface Before {
  /** A query's search and the people whom it found; null until it has answered. */
  readonly find: { readonly hop: Hop; readonly people: readonly PersonRow[] } | null;
}

export interface OnefindDeepDeps extends RowsDeps {
  readonly finder: () => PeopleFinderSpec;
}

class PeopleJob {
  readonly #job: RunningJob;
  readonly #start: Start;
  readonly #finder: PeopleFinderSpec;
  readonly #rows: RowsJob<Done, Before>;

  constructor(job: RunningJob, deps: OnefindDeepDeps) {
    this.#job = job;
    this.#start = job.start as Start;
    this.#finder = deps.finder();
    this.#rows = new RowsJob<Done, Before>(job, deps, { find: null }, ({ find }) => find?.hop.charged_cents ?? 0);
  }

  async run(): Promise<JobEnd> {
    const { query: words, rows = [] } = this.#start;
    if (words !== undefined) {
      const end = await this.#find(words);
      if (end !== null) return end;
    }
    const { find } = this.#rows.before;
    const tasks: readonly Task[] =
      find === null
        ? [...identifiersOf(rows).values()].map(({ input, by }) => {
            return { person: new Person(input), learn: (person, deps) => enrichBy(by, person, deps) };
          })
        : find.people.map((row) => ({ person: Person.of(row), learn: enrichFound }));
    await this.#rows.each(tasks, (task, at) => this.#row(task, at));
    return this.#end();
  }

  /** Runs the search of a query; returns the job's end where it found no person. */
  async #find(words: string): Promise<JobEnd | null> {
    if (this.#rows.before.find !== null) return null;
    const named = personIn(words, this.#finder.roles);
    const wanted = { query: words, limit: this.#start.limit ?? LIMIT_DEFAULT, named };
    const found = await this.#rows.paid(() => findPeople(wanted, this.#finder, this.#job), null);
    const { stopped } = this.#rows;
    if (stopped !== null) return { ...failed("stopped", "Its key or its account may pay no more."), stopped };
    if (found === null || found.people.length === 0) {
      const error = found && findError(found);
      return failed(error?.code ?? "no_people", error?.message ?? `Nobody was found for ${shownQuery(words)}.`);
    }
    const { hop, people } = found;
    this.#rows.budget.charge(hop.charged_cents);
    await this.#rows.save({ find: { hop, people: people.map((one) => one.row()) } }, { total: people.length });
    return null;
  }

  async #row({ person, learn }: Task, at: number): Promise<void> {
    if (this.#rows.stopped !== null) return;
    const calls = this.#job.part();
    const deps: EnrichDeps = { calls, signal: this.#job.signal, finder: this.#finder, rows: this.#rows };
    const cut = await learn(person, deps);
    if (cut === "stopped" && !person.wasAsked) return;
    const error = errorOf(person, cut, endedBy(this.#job.signal));
    const told = person.row(error);
    const name = await this.#rows.put(told);
    const done: Done = {
      name,
      cents: told.charged_cents,
      isFound: person.isFound,
      enriched: told.enriched,
      hasEmail: person.hasFrom("email"),
      hasPhone: person.hasFrom("phone"),
      isSkipped: error !== undefined,
      wasAsked: person.wasAsked,
      wasAnswered: person.wasAnswered,
    };
    calls.end();
    await this.#rows.keep(done, at);
  }

  #end(): JobEnd {
    const rows = this.#rows;
    const { done, spentCents } = rows;
    const { find } = rows.before;
    if (rows.count(({ isFound }) => isFound) === 0 && rows.stopped === null) return nobody(done);
    return rows.end("succeeded", spentCents, {
      query: this.#start.query ?? null,
      row_count: done.length,
      enriched_count: rows.count(({ enriched }) => enriched),
      skipped_count: rows.count(({ isSkipped }) => isSkipped),
      stats: { emails: rows.count(({ hasEmail }) => hasEmail), phones: rows.count(({ hasPhone }) => hasPhone) },
      spent_cents: spentCents,
      budget_cents: rows.budget.limitCents,
      ...(find === null ? {} : { find: foundBy(find.hop) }),
    });
  }
}

type Learn = (person: Person, deps: EnrichDeps) => Promise<Cut | null>;

interface Task {
  readonly person: Person;
  readonly learn: Learn;
}

function foundBy({ action: id, ok, latency_ms }: Hop) {
  const [service, action] = id.split("/");
  return { service, action, ok, latency_ms };
}

function nobody(rows: readonly Done[]): JobEnd {
  if (rows.some(({ wasAnswered }) => wasAnswered)) return failed("no_people", "Nobody was found.");
  if (rows.some(({ wasAsked }) => wasAsked)) return failed("upstream_error", "Nobody who was asked has answered.");
  const isCut = rows.some(({ isSkipped }) => isSkipped);
  if (isCut) return failed("no_people", "It ended before anybody was asked.");
  return failed("upstream_not_configured", "Nobody who could be asked is configured here.");
}

function errorOf(person: Person, cut: Cut | null, ended: "timeout" | "cancelled" | null): PersonRow["error"] {
  if (cut === "over budget" || cut === "unpaid_costs") return person.wasAsked ? undefined : cut;
  return ended === null || person.isEnriched ? undefined : ended;
}

export function onefindDeepJob(deps: OnefindDeepDeps): JobKind {
  return {
    name: NAME,
    msMax: MS_MAX,
    // The budget counts what steps charge. Our own cost has a separate bound: empty answers are free for the payer, but may cost us.
    counted: "upstream_cost",
    mayCostMore: true,
    run: (job) => new PeopleJob(job, deps).run(),
  };
}
