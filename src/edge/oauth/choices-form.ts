// The form in which a person limits a grant: an amount per period, what may be called, and an end date.
import { z } from "zod";
import type { KeyLimits } from "../../core/account-rows.ts";
import type { Clock } from "../../core/clock.ts";
import { readFields } from "../../core/field-issues.ts";
import { nanoFromCents, parseUsd } from "../../core/money.ts";
import type { Choice } from "./pages.ts";

const DAY_MS = 86_400_000;
const CEILING_MAX = nanoFromCents(900_000_000);

const formSchema = z.object({
  label: z.string().trim().min(1, "must not be empty").max(100, "must have at most 100 characters"),
  dollars: z.string().regex(/^\d{1,7}(\.\d{1,2})?$/, "must be a sum in dollars, such as 5 or 0.50"),
  period: z.enum(["day", "week", "month"], "must be day, week or month"),
  what: z.string(),
  days: z.enum(["1", "30", "90", "365"], "must be 1, 30, 90 or 365"),
});

export interface Granted {
  readonly label: string;
  readonly limits: KeyLimits;
}

/** The fields of a form (application/x-www-form-urlencoded); of repeated names the last counts. */
export function fieldsOf(body: Buffer): Readonly<Record<string, string>> {
  return Object.fromEntries(new URLSearchParams(body.toString("utf8")));
}

/** What the person agreed to, or an error message about the form for the person. */
export function readGranted(
  fields: Readonly<Record<string, string>>,
  choices: readonly Choice[],
  clock: Clock,
): Granted | string {
  const read = readFields(formSchema, fields);
  if (!("data" in read)) return read.map(({ path, message }) => `${path} ${message}`).join("; ");
  const { label, dollars, period, what, days } = read.data;
  const choice = choices.find(({ id }) => id === what);
  if (choice === undefined) return "what must be one of those listed";
  const ceilingNano = parseUsd(dollars);
  if (ceilingNano === null || ceilingNano > CEILING_MAX) return "dollars must be at most 9000000";
  return {
    label,
    limits: {
      ceilingNano,
      ceilingPeriod: period,
      services: choice.services,
      models: choice.models,
      expiresAtMs: clock.epochMs() + Number(days) * DAY_MS,
    },
  };
}
