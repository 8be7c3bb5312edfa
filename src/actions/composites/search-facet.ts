// Searches one facet: its sources in order until one finds something; where time is short, two of them at once.
import type { FacetSpec, SearchWanted, SourceSpec } from "../../catalog/facets.ts";
import type { InnerAnswer } from "../../catalog/local-action.ts";
import { type Evidence, evidenceIn, within } from "./evidence.ts";
import type { SourceCalls } from "./source-calls.ts";

export interface FacetFound {
  readonly evidence: readonly Evidence[];
  /** A source has answered, even with nothing. */
  readonly answered: boolean;
  readonly raw: { readonly transaction_id: string; readonly data: unknown } | null;
}

interface Asked {
  readonly source: SourceSpec;
  readonly params: NonNullable<ReturnType<SourceSpec["params"]>>;
}

const NOTHING: FacetFound = { evidence: [], answered: false, raw: null };

export interface FacetOrder {
  readonly name: string;
  readonly spec: FacetSpec;
  readonly wanted: SearchWanted;
  readonly races: boolean;
}

const adapterOf = ({ source }: Asked) => source.action.split("/")[0];

/** The first two sources that can be called, of different vendors; fewer where there are fewer. */
function racersOf({ spec, wanted }: FacetOrder, calls: SourceCalls): readonly Asked[] {
  const able = spec.sources.slice(0, spec.racing ?? 0).flatMap((source) => {
    const params = calls.isConfigured(source.action) ? source.params(wanted) : null;
    return params === null ? [] : [{ source, params }];
  });
  const [first] = able;
  if (first === undefined) return [];
  const second = able.find((one) => adapterOf(one) !== adapterOf(first));
  return second === undefined ? [first] : [first, second];
}

function found(
  order: FacetOrder,
  source: SourceSpec,
  answer: InnerAnswer & { ok: true },
  calls: SourceCalls,
): FacetFound {
  const answered = { facet: order.name, source: answer.provider, transaction_id: answer.id };
  const evidence = within(evidenceIn(answer.data, source, answered), order.wanted);
  calls.count(answer.id, evidence.length);
  const raw = order.spec.raw === true ? { transaction_id: answer.id, data: answer.data } : null;
  return { evidence, answered: true, raw };
}

const isEnough = ({ evidence, raw }: FacetFound) => evidence.length > 0 || raw !== null;

export async function searchFacet(order: FacetOrder, calls: SourceCalls): Promise<FacetFound> {
  const { name, spec, wanted } = order;
  const racers = order.races ? racersOf(order, calls) : [];
  const raced = new Set<SourceSpec>();
  let last = NOTHING;
  if (racers.length === 2) {
    const both = racers.map(({ source, params }) => ({ action: source.action, params }));
    const answer = await calls.race(name, both);
    for (const { source } of racers) raced.add(source);
    const winner = racers.find(({ source }) => answer?.ok && source.action === answer.action);
    if (answer?.ok && winner !== undefined) last = found(order, winner.source, answer, calls);
  }
  for (const source of spec.sources) {
    if (isEnough(last)) return last;
    if (raced.has(source)) continue;
    const params = source.params(wanted);
    if (params === null) {
      calls.skip(name, source.action, "not_possible");
      continue;
    }
    const answer = await calls.ask(name, source.action, params);
    if (answer?.ok) last = found(order, source, answer, calls);
  }
  return last;
}
