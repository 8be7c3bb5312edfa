// Calls that clients cancel by a message (`notifications/cancelled`), which may reach another process than the call did.
import { isRecord, type Json } from "../../core/json.ts";

const CANCELLED = "notifications/cancelled";
/** What the news of it begins with that processes tell each other. */
const NEWS = "mcp-cancelled ";

/** The way to the other processes. */
export interface Others {
  tell(text: string): Promise<void>;
  hear(onText: (text: string) => void, onGap: () => void): Promise<void>;
}

export type Cancels = Awaited<ReturnType<typeof createCancels>>;

/** `others` is null where this is the only process. */
export async function createCancels(others: Others | null) {
  const running = new Map<string, Set<AbortController>>();

  /** Clients that look like one may use the same id at once: then none of their calls is ended for another's. */
  function cancel(call: string): boolean {
    const found = running.get(call);
    if (found?.size === 1) for (const controller of found) controller.abort();
    return found !== undefined;
  }

  await others?.hear(
    (text) => {
      if (text.startsWith(NEWS)) cancel(text.slice(NEWS.length));
    },
    () => {},
  );
  const nameOf = (client: string, id: unknown) => JSON.stringify([client, id]);
  return {
    /** Ends the call that a message of this client cancels; any other message does nothing. */
    take(client: string, { method, params }: Json): void {
      if (method !== CANCELLED || !isRecord(params)) return;
      const call = nameOf(client, params.requestId);
      // News that is lost leaves the call to run to its end, as the protocol allows.
      if (!cancel(call)) others?.tell(NEWS + call).catch(() => {});
    },
    /** The signal is aborted when the call is cancelled or `gone` is; `end` forgets the call. */
    begin(client: string, { id }: Json, gone: AbortSignal) {
      const call = nameOf(client, id);
      const own = new AbortController();
      const same = (running.get(call) ?? new Set()).add(own);
      running.set(call, same);
      return {
        signal: AbortSignal.any([gone, own.signal]),
        end() {
          same.delete(own);
          if (same.size === 0) running.delete(call);
        },
      };
    },
  };
}
