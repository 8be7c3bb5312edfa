// The list of models as clients of the messages wire read it.

/** What a row of the list of models says in any wire. */
export interface ModelRow {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly kind: string;
  readonly context_length?: number;
  readonly max_output_tokens?: number | null;
}

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

/** Those that can be talked to, all at once, whatever page was asked for. */
export function modelListJson(all: readonly ModelRow[]): Record<string, unknown> {
  const rows = all.filter(({ kind }) => kind === "chat" || kind === "tier");
  return {
    data: rows.map(modelJson),
    has_more: false,
    first_id: rows[0]?.id ?? null,
    last_id: rows.at(-1)?.id ?? null,
  };
}
