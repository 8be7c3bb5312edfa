// Why a job that was told to end with what it has was told so.
import { CANCELLED } from "../../catalog/job-kind.ts";

/** Why a job is to end with what it has; null: it goes on. */
export function endedBy({ aborted, reason }: AbortSignal): "timeout" | "cancelled" | null {
  if (!aborted) return null;
  return reason === CANCELLED ? "cancelled" : "timeout";
}
