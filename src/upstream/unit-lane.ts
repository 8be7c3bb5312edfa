// The lane of a model sold by units: adapts its dialect's request, answer and events for an attempt.
import { isRecord, type Json, parsedJson } from "../core/json.ts";
import type { AttemptFailure, Counts } from "../core/route.ts";
import { classify } from "./classify.ts";
import type { UpstreamBody } from "./format-kit/dialect.ts";
import { readError, statusInside } from "./format-kit/error-body.ts";
import type { HeldStream } from "./held-stream.ts";
import type { Lane } from "./lane.ts";
import type { UnitAsked, UnitContext, UnitDialect, UnitEvent } from "./unit-dialects/unit-dialect.ts";
import { malformed } from "./vendor-failure.ts";

/** The end mark of a stream, for vendors that send one besides the last event. */
const DONE = "[DONE]";

/** The object of an answer or event, or the failure that its good status hides. */
function goodJson(
  json: unknown,
  { error = readError }: UnitDialect,
): { readonly json: Json } | { readonly failed: AttemptFailure } {
  if (!isRecord(json)) return { failed: malformed("the answer is no object") };
  return json.error ? { failed: classify(statusInside(json), error(json), null) } : { json };
}

function readEvent(dialect: UnitDialect, asked: UnitAsked, context: UnitContext, out: HeldStream) {
  let bore = false;
  let ends = 0;
  const put = (read: UnitEvent, json: unknown): void => {
    if ("failed" in read) {
      const told = toldIn(dialect, json, { asked, context });
      if (told !== null) out.counts(told);
      return out.fail(read.failed);
    }
    const counts = counted(read.counts);
    if (counts !== null) out.counts(counts);
    if (read.kind === "usage") return;
    bore ||= read.kind === "content" || read.bears === true;
    if (read.kind === "finish" && !bore) return out.fail(malformed("the answer is empty"));
    out.choice(read.choice ?? 0, read.kind === "finish");
    if (read.text !== undefined) out.deliveredText(read.text);
    if (read.kind === "finish") return out.finish(ends++, read.bytes.length, () => read.bytes);
    // Held events may be content themselves, so release them first to keep the order.
    if (read.kind === "content") out.release();
    out.raw(read.bytes, read.kind);
  };
  return (bytes: Buffer, start: number, end: number): boolean => {
    const text = bytes.toString("utf8", start, end);
    if (text === DONE) {
      out.end();
      return true;
    }
    const json = parsedJson(text);
    if (json === undefined) return false;
    const good = goodJson(json, dialect);
    const read = "failed" in good ? good : (dialect.event?.(good.json, asked, context) ?? []);
    for (const one of [read].flat()) put(one, json);
    return true;
  };
}

/** Applies the model's field names and extra fields, without nulls, which some vendors refuse. The fields of a form are the same everywhere. */
function fitted(request: UpstreamBody, { spec }: UnitContext): UpstreamBody {
  const { body } = request;
  const origin = spec.origin === undefined ? {} : { origin: spec.origin };
  if (request.form !== undefined) return { ...request, ...origin };
  const { renamed = {}, extraFields = {}, omits = [] } = spec;
  const sent = Object.entries(body).filter(([name, value]) => value !== null && !omits.includes(name));
  const fields = sent.map(
    ([name, value]) => [Object.hasOwn(renamed, name) ? (renamed[name] ?? name) : name, value] as const,
  );
  return { ...request, ...origin, body: { ...Object.fromEntries(fields), ...extraFields } };
}

/** Treats all-zero counts as unreported usage. Free models have no counts at all. */
function counted(counts: Counts | null | undefined): Counts | null {
  const all = Object.values(counts ?? {});
  return counts == null || (all.length > 0 && all.every((count) => count === 0)) ? null : counts;
}

function toldIn(
  dialect: UnitDialect,
  json: unknown,
  { asked, context }: { readonly asked: UnitAsked; readonly context: UnitContext },
): Counts | null {
  return isRecord(json) ? counted(dialect.told?.(json, asked, context)) : null;
}

export function unitLane(dialect: UnitDialect, asked: UnitAsked, context: UnitContext): Lane {
  return {
    request: () => fitted(dialect.request(asked, context), context),
    reader: (out) => ({ event: readEvent(dialect, asked, context, out) }),
    answer(json) {
      const good = goodJson(json, dialect);
      if ("failed" in good) return good.failed;
      const read = dialect.answer(good.json, asked, context);
      return "kind" in read
        ? read
        : { body: read.body, usage: null, upstreamCostNano: null, text: read.text ?? "", counts: counted(read.counts) };
    },
    told(json) {
      const counts = toldIn(dialect, json, { asked, context });
      return counts === null ? null : { usage: null, counts };
    },
    error: dialect.error ?? readError,
    passesBytes: dialect.passesBytes === true && !asked.stream,
  };
}
