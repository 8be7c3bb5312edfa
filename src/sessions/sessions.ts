// Metered sessions, put together: their actions, the kind of job that each of them is, and the sweep over boxes that are to be closed.
import type { Adapter } from "../catalog/catalog.ts";
import type { JobKind } from "../catalog/job-kind.ts";
import type { LocalAction } from "../catalog/local-action.ts";
import { SessionCommands } from "./commands.ts";
import type { SessionsDeps } from "./deps.ts";
import { sessionActions } from "./session-actions.ts";
import { sessionKind } from "./session-kind.ts";
import { UnclosedBoxes, type UnclosedSeen } from "./unclosed.ts";
import { SessionVendor } from "./vendor.ts";

const SWEEP_MS = 15_000;

export interface Sessions {
  readonly kind: JobKind;
  /** What an adapter sells of its sessions. */
  actionsOf(adapter: Adapter): readonly LocalAction[];
  /** From now on boxes that are to be closed are closed. */
  start(): void;
  stop(): Promise<void>;
  /** Goes once over the boxes that are to be closed; never twice at a time. */
  sweep(): Promise<void>;
  /** Boxes that are to be closed, as the last sweep left them. */
  unclosed(): UnclosedSeen;
}

export function openSessions(deps: SessionsDeps): Sessions {
  const vendor = new SessionVendor(deps);
  const commands = new SessionCommands(deps.records, deps.clock);
  const unclosed = new UnclosedBoxes(deps, vendor);
  const parts = { deps, vendor, commands, unclosed };
  let timer: NodeJS.Timeout | undefined;
  let sweeping: Promise<void> | null = null;
  const sweep = () => {
    sweeping ??= unclosed.sweep().finally(() => {
      sweeping = null;
    });
    return sweeping;
  };
  return {
    kind: sessionKind(parts),
    actionsOf: (adapter) => sessionActions(adapter, parts),
    start() {
      timer = setInterval(() => void sweep().catch((error: unknown) => deps.onBroken(error, "")), SWEEP_MS);
      timer.unref();
    },
    async stop() {
      clearInterval(timer);
      await sweeping?.catch(() => {});
    },
    sweep,
    unclosed: () => unclosed.seen(),
  };
}
