// A call that a composite made or skipped, as its answer shows it.

export interface CallMade<Skipped extends string> {
  readonly provider: string;
  readonly action: string;
  readonly ok: boolean;
  readonly charged_cents: number;
  readonly latency_ms: number;
  readonly transaction_id?: string;
  readonly skipped?: Skipped;
}
