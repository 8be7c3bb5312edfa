// Calls that clients cancel with a message (`notifications/cancelled`), which may reach a different process than the call did.
import { isRecord, type Json } from "../../core/json.ts";

const CANCELLED = "notifications/cancelled";
/** The prefix of this message between processes. */
const NEWS = "mcp-cancelled ";
/** Ids go to every process, so long ones cannot be cancelled; those of clients are numbers or UUIDs. */
const ID_CHARS_MAX = 200;

export interface Others {
  tell(text: string): Promise<void>;
  hear(onText: (text: string) => void, onGap: () => void): Promise<void>;
}

export type Cancels = Awaited<ReturnType<typeof createCancels>>;

/** `others` is null where this is the only process. */
export async function createCancels(others: Others | null) {
  const running = new Map<string, Set<AbortController>>();

  /** Clients that we cannot tell apart may use the same id at once: then no call is aborted, because it may be another client's. */
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
    /** Aborts the call that a message of this client cancels; ignores any other message. */
    take(client: string, { method, params }: Json): void {
      if (method !== CANCELLED || !isRecord(params)) return;
      const { requestId: id } = params;
      if (typeof id !== "number" && !(typeof id === "string" && id.length <= ID_CHARS_MAX)) return;
      const call = nameOf(client, id);
      // If the message is lost the call runs to its end, as the protocol allows.
      if (!cancel(call)) others?.tell(NEWS + call).catch(() => {});
    },
    /** The signal aborts when the call is cancelled or `gone` aborts; `end` forgets the call. */
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
