// Enriches a person in a deep job, by email or profile: the steps run in the tier's order, and each is charged only for what it returns.

import type { InnerAnswer, InnerCalls } from "../../../catalog/local-action.ts";
import type { EnrichSpec, PeopleFinderSpec } from "../../../catalog/people-finder.ts";
import { endedBy } from "../rows-job.ts";
import type { StepBudget } from "../step-budget.ts";
import { findPeople, hopOf, ONE_OF } from "./find-people.ts";
import { type Identifier, isWebmail } from "./identifier.ts";
import { type Hop, type Person, readPerson } from "./person-row.ts";

export type Cut = "over budget" | "unpaid_costs" | "timeout" | "cancelled" | "stopped";

export interface EnrichDeps {
  readonly calls: Pick<InnerCalls, "call">;
  readonly signal: AbortSignal;
  readonly finder: PeopleFinderSpec;
  readonly rows: { readonly budget: StepBudget; paid<T>(step: () => Promise<T>, instead: T): Promise<T> };
}

interface Taken {
  readonly cents: number;
  readonly hop: Hop;
}

function unasked({ tag, action }: Pick<EnrichSpec, "tag" | "action">, skipped: NonNullable<Hop["skipped"]>): Hop {
  return { provider: tag, action, ok: false, charged_cents: 0, latency_ms: 0, skipped };
}

/** Takes a step within the budget; `work` returns null where its cost to us has no room. The row records a step that is not taken. */
async function take(
  person: Person,
  step: Pick<EnrichSpec, "tag" | "action" | "cents">,
  work: () => Promise<Taken | null>,
  { signal, rows }: EnrichDeps,
): Promise<Cut | null> {
  const cut = (skipped: NonNullable<Hop["skipped"]>, why: Cut) => {
    person.hop(unasked(step, skipped));
    return why;
  };
  const ended = endedBy(signal);
  if (ended !== null) return cut(ended, ended);
  if (!(await rows.budget.setAside(step.cents))) return cut("over_budget", "over budget");
  let cents = 0;
  try {
    const taken = await rows.paid<Taken | null | "stopped">(work, "stopped");
    if (taken === "stopped") return taken;
    if (taken === null) return cut("unpaid_costs", "unpaid_costs");
    cents = taken.cents;
    person.hop(taken.hop);
    return null;
  } finally {
    rows.budget.settle(step.cents, cents);
  }
}

/** Whether the bound on what the job's calls cost us refused the call. */
function hasNoRoom(answer: InnerAnswer): boolean {
  return !answer.ok && answer.error.code === "over_budget";
}

/** Why a step would bring nothing; null where it may. */
function pointless(step: EnrichSpec, person: Person, identifier: string, { webmail }: PeopleFinderSpec) {
  if (step.skipsWebmail === true && isWebmail(identifier, webmail)) return "webmail";
  const isComplete = step.fills?.every((field) => person.known[field] !== null) ?? false;
  return isComplete ? "nothing_missing" : null;
}

async function enrich(
  person: Person,
  kind: "email" | "linkedin",
  identifier: string,
  deps: EnrichDeps,
): Promise<Cut | null> {
  for (const step of deps.finder.enrich[kind]) {
    const why = pointless(step, person, identifier, deps.finder);
    if (why !== null) {
      person.hop(unasked(step, why));
      continue;
    }
    const ask = async (): Promise<Taken | null> => {
      const answer: InnerAnswer = await deps.calls.call({ action: step.action, params: step.params(identifier) });
      if (hasNoRoom(answer)) return null;
      const told = answer.ok && !answer.isMiss ? readPerson(answer.data, step.person) : new Map();
      if (answer.ok) person.lookedUp();
      person.told(told, step.tag);
      const cents = told.size > 0 ? step.cents : 0;
      return { cents, hop: hopOf(step, answer, cents) };
    };
    const cut = await take(person, step, ask, deps);
    if (cut !== null) return cut;
  }
  return null;
}

async function locate(
  person: Person,
  { query, named }: Extract<Identifier, { kind: "name" }>,
  deps: EnrichDeps,
): Promise<Cut | null> {
  const { find } = deps.finder;
  const ask = async (): Promise<Taken | null> => {
    const found = await findPeople({ query, limit: ONE_OF, named }, deps.finder, deps.calls);
    if (hasNoRoom(found.answer)) return null;
    const [one] = found.person ? found.people : [];
    if (one !== undefined) {
      person.told(one.fields(), find.tag);
      person.agrees(one.match);
    }
    const cents = one === undefined ? 0 : find.cents;
    return { cents, hop: { ...found.hop, charged_cents: cents } };
  };
  return take(person, find, ask, deps);
}

export async function enrichBy(identifier: Identifier, person: Person, deps: EnrichDeps): Promise<Cut | null> {
  if (identifier.kind === "email") {
    person.given({ email: identifier.email });
    return enrich(person, "email", identifier.email, deps);
  }
  if (identifier.kind === "linkedin") person.given({ linkedin: identifier.url });
  else {
    person.given(identifier.named ?? {});
    const cut = await locate(person, identifier, deps);
    if (cut !== null) return cut;
  }
  return enrichFound(person, deps);
}

/** Enriches a person whose profile is known; does nothing for others. */
export async function enrichFound(person: Person, deps: EnrichDeps): Promise<Cut | null> {
  const { linkedin } = person.known;
  return linkedin === null ? null : enrich(person, "linkedin", linkedin, deps);
}
