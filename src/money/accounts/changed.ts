// Runs a change of an account, after which its cached rows are dropped.
import { GatewayError } from "../../core/errors.ts";

/** Runs a change and then calls `forget`, unless the change was refused. A change that failed may have happened. */
export async function changed<Answer>(change: () => Promise<Answer>, forget: () => void): Promise<Answer> {
  let isRefused = false;
  try {
    return await change();
  } catch (error) {
    isRefused = error instanceof GatewayError && error.status < 500;
    throw error;
  } finally {
    if (!isRefused) forget();
  }
}
