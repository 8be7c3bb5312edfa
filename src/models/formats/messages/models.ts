// The list of models in the messages format, paginated on request.
import type { GatewayError } from "../../../core/errors.ts";
import { invalid } from "../parse-json.ts";
import type { ModelRow } from "../wire.ts";

export function modelJson({ id, created, context_length, max_output_tokens }: ModelRow): Record<string, unknown> {
  return {
    type: "model",
    id,
    display_name: id,
    created_at: new Date(created * 1_000).toISOString(),
    max_input_tokens: context_length ?? null,
    max_tokens: max_output_tokens ?? null,
  };
}

/** Query parameters of the list; without them it is complete. */
const PAGE = ["limit", "after_id", "before_id"] as const;
const LIMIT_MAX = 1_000;

function talkable(all: readonly ModelRow[]): readonly ModelRow[] {
  return all.filter(({ kind }) => kind === "chat" || kind === "tier");
}

function listOf(rows: readonly ModelRow[], hasMore: boolean): Record<string, unknown> {
  return {
    data: rows.map(modelJson),
    has_more: hasMore,
    first_id: rows[0]?.id ?? null,
    last_id: rows.at(-1)?.id ?? null,
  };
}

export function modelListJson(all: readonly ModelRow[]): Record<string, unknown> {
  return listOf(talkable(all), false);
}

export function asksForPage(query: URLSearchParams): boolean {
  return PAGE.some((name) => query.has(name));
}

export function modelPageJson(
  all: readonly ModelRow[],
  query: URLSearchParams,
): Record<string, unknown> | GatewayError {
  const rows = talkable(all);
  const [limit, after, before] = PAGE.map((name) => query.get(name));
  const count = limit == null ? rows.length : Number(limit);
  if (limit != null && (!/^\d{1,4}$/.test(limit) || count < 1 || count > LIMIT_MAX))
    return invalid("limit", `must be a whole number from 1 to ${LIMIT_MAX}`);
  if (after != null && before != null) return invalid("before_id", "cannot go with after_id");
  const named = rows.findIndex(({ id }) => id === (after ?? before));
  if ((after ?? before) != null && named < 0)
    return invalid(after == null ? "before_id" : "after_id", "is no model here");
  const isBefore = before != null;
  const from = isBefore ? Math.max(0, named - count) : named + 1;
  const to = isBefore ? named : Math.min(rows.length, from + count);
  return listOf(rows.slice(from, to), isBefore ? from > 0 : to < rows.length);
}
