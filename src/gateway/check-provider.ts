// Calls one vendor once with each of our keys and returns a verdict. No account pays and no route's health changes.

import { randomBytes } from "node:crypto";
import type { Adapter, Catalog } from "../catalog/catalog.ts";
import { keyVariablesOf } from "../catalog/variables.ts";
import type { Clock } from "../core/clock.ts";
import type { FailureKind } from "../core/failures.ts";
import type { AttemptFailure, Candidate, FinalPart, Reading } from "../core/route.ts";
import { atPointer } from "../upstream/json-pointer.ts";
import { lineOf } from "../upstream/route-failures.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { failureOfKind } from "../upstream/vendor-failure.ts";
import { checkQuestion } from "./check-question.ts";
import { type CheckVerdict, VERDICTS } from "./refused-key.ts";

interface AskBounds {
  readonly contentMsMax: number;
  readonly wholeMsMax: number;
  readonly signal?: AbortSignal;
}

export interface Asked {
  readonly failure: AttemptFailure | null;
  readonly reading: Reading;
  readonly streamed: Buffer;
  readonly final: FinalPart | null;
}

/** Runs the attempt once. Never rejects. */
export function askOnce(candidate: Candidate, { contentMsMax, wholeMsMax, signal }: AskBounds): Promise<Asked> {
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = [];
    const end = (failure: AttemptFailure | null, final: FinalPart | null) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", leave);
      resolve({ failure, final, reading: attempt.reading(), streamed: Buffer.concat(chunks) });
    };
    const giveUp = (words: string) => {
      attempt.abort();
      end(failureOfKind("provider_timeout", words), null);
    };
    const leave = () => giveUp("it was stopped here");
    // The attempt's own timers limit the wait for each part of an answer, not for the whole.
    const timer = setTimeout(() => giveUp("no whole answer came"), wholeMsMax);
    const attempt = candidate.open(
      {
        content: (bytes) => {
          chunks.push(Buffer.from(bytes));
        },
        done: (final) => end(null, final),
        failed: (failure) => end(failure, null),
      },
      contentMsMax,
    );
    signal?.addEventListener("abort", leave);
  });
}

const ANSWER_MS_MAX = 20_000;
const WHOLE_MS_MAX = 30_000;
/** An answer that takes longer counts as slow. */
const SLOW_MS = 5_000;
const MODELS_SHOWN_MAX = 10;

export interface ProviderCheck {
  readonly provider: string;
  /** The environment variable of the key, and its position among several; null: no key is sent. */
  readonly key: string | null;
  /** The vendor's model, the action or the path that was called; null: none. */
  readonly asked: string | null;
  readonly verdict: CheckVerdict;
  readonly answered: boolean;
  /** The vendor's HTTP status; 0 where there was none. */
  readonly status: number;
  readonly ms: number;
  readonly proxy?: string;
  /** The vendor's message or the remedy; "" where there is nothing to say. */
  readonly detail: string;
}

export interface CheckDeps {
  readonly catalog: Catalog;
  readonly upstream: Upstream;
  readonly clock: Clock;
  readonly namesSet: readonly string[];
}

/** The names under which callers can use the models that a server lists. */
function modelsIn(answer: unknown, { id }: Adapter): string {
  const list = atPointer(answer, "/data");
  const names = (Array.isArray(list) ? list : []).flatMap((row: unknown) => {
    const name = atPointer(row, "/id");
    return typeof name === "string" ? [`${id}/${name}`] : [];
  });
  if (names.length === 0) return "";
  const more = names.length > MODELS_SHOWN_MAX ? ` and ${names.length - MODELS_SHOWN_MAX} more` : "";
  return `serves ${names.slice(0, MODELS_SHOWN_MAX).join(", ")}${more}`;
}

/** Names the address where no server answered or the answer is of another kind, since it may be wrong. Omits credentials in it. */
function placeOf(kind: FailureKind, { origin: address }: Adapter): string {
  if (kind !== "provider_connection_failed" && kind !== "provider_model_missing") return "";
  const { origin, pathname } = new URL(address);
  return ` (at ${origin}${pathname})`;
}

async function checkKey(adapter: Adapter, keyName: string | null, deps: CheckDeps): Promise<ProviderCheck> {
  const { catalog, upstream, clock } = deps;
  const requestId = `req_check${randomBytes(8).toString("hex")}`;
  const createdS = Math.floor(clock.epochMs() / 1000);
  const question = checkQuestion(adapter, { catalog, upstream, requestId, createdS, msMax: ANSWER_MS_MAX });
  const proxy = upstream.proxyOf(adapter.origin);
  const common = { provider: adapter.id, key: keyName, ...(proxy === null ? {} : { proxy }) };
  if (typeof question === "string")
    return { ...common, asked: null, verdict: "not asked", answered: false, status: 0, ms: 0, detail: question };
  const startedMs = clock.elapsedMs();
  const ended = await askOnce(question.candidate, { contentMsMax: ANSWER_MS_MAX, wholeMsMax: WHOLE_MS_MAX });
  const ms = Math.round(clock.elapsedMs() - startedMs);
  const asked = { ...common, asked: question.asked, ms };
  if (ended.failure === null) {
    const verdict = ms > SLOW_MS ? "slow" : "fine";
    return { ...asked, verdict, answered: true, status: 200, detail: modelsIn(ended.reading.answer, adapter) };
  }
  const { kind, status, message } = ended.failure;
  const words = lineOf(message) + placeOf(kind, adapter);
  const detail = ended.failure.todo === undefined ? words : `${words}; ${ended.failure.todo}`;
  return { ...asked, verdict: VERDICTS[kind] ?? "failing", answered: false, status, detail };
}

/** Calls a vendor with each of our keys concurrently. Null: the vendor is unknown or disabled. */
export async function checkProvider(id: string, deps: CheckDeps): Promise<readonly ProviderCheck[] | null> {
  const adapter = deps.catalog.adapters({ sandbox: false }).get(id);
  if (adapter === undefined || !adapter.configured) return null;
  const { spec, keys } = adapter;
  if (keys.length === 0) return [await checkKey(adapter, null, deps)];
  const set = spec.keyEnv?.filter((name) => deps.namesSet.includes(name)).slice(0, 1) ?? [];
  const variable = (set.length > 0 ? set : keyVariablesOf(id, spec)).join(" + ");
  return Promise.all(
    keys.map((key, at) => {
      const name = keys.length === 1 ? variable : `${variable} (${at + 1} of ${keys.length})`;
      return checkKey({ ...adapter, keys: [key] }, name, deps);
    }),
  );
}
