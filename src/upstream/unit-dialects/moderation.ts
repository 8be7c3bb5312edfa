// OpenAI's moderations: what is wrong with texts and pictures, for nothing.
import { isRecord } from "../../core/json.ts";
import { readError } from "../dialects/error-body.ts";
import { failureIn, malformed, type UnitDialect } from "./unit-dialect.ts";

export const moderation: UnitDialect = {
  request: ({ body }, { upstreamModel, spec }) => ({
    path: spec.path ?? "/moderations",
    body: { ...body, model: upstreamModel },
  }),
  answer(json, _, { servedSlug }) {
    const failure = failureIn(json);
    if (failure !== null || !isRecord(json)) return failure ?? malformed("the answer is no object");
    if (!Array.isArray(json.results) || json.results.length === 0) return malformed("the answer has no results");
    return { body: { ...json, model: servedSlug }, counts: {} };
  },
  error: readError,
};
