// Assembles metered sessions: their actions, their job kind, and the boxes to close.
import type { Adapter } from "../../catalog/catalog.ts";
import type { JobKind } from "../../catalog/job-kind.ts";
import type { LocalAction } from "../../catalog/local-action.ts";
import { BoxCleanups } from "./box-cleanups.ts";
import { SessionCommands } from "./commands.ts";
import type { SessionsDeps } from "./deps.ts";
import { sessionActions } from "./session-actions.ts";
import { sessionKind } from "./session-kind.ts";
import { SessionVendor } from "./vendor.ts";

export interface Sessions {
  readonly kind: JobKind;
  readonly unclosed: BoxCleanups;
  actionsOf(adapter: Adapter): readonly LocalAction[];
}

export function openSessions(deps: SessionsDeps): Sessions {
  const vendor = new SessionVendor(deps);
  const commands = new SessionCommands(deps.records, deps.clock);
  const unclosed = new BoxCleanups(deps, vendor);
  const parts = { deps, vendor, commands, unclosed };
  return { kind: sessionKind(parts), unclosed, actionsOf: (adapter) => sessionActions(adapter, parts) };
}
