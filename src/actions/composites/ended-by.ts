// Why a job must end with the results so far.
import { CANCELLED } from "../../catalog/job-kind.ts";

/** Why a job must end with the results so far; null where it may continue. */
export function endedBy({ aborted, reason }: AbortSignal): "timeout" | "cancelled" | null {
  if (!aborted) return null;
  return reason === CANCELLED ? "cancelled" : "timeout";
}
