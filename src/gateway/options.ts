// The options to start a gateway with.

import type { JobKind } from "../catalog/job-kind.ts";
import type { LocalAction } from "../catalog/local-action.ts";
import type { AnonymousAccess } from "../edge/serve/deps.ts";
import type { ModelWire } from "../models/formats/wire.ts";
import type { Readiness } from "../money/accounts/admin-endpoints.ts";
import type { Wallet } from "../money/wallet/wallet.ts";
import type { Config } from "../platform/config.ts";
import type { LogOptions } from "../platform/observe/log.ts";
import type { PublicFetchOptions } from "../upstream/public-fetch.ts";

/** The role of one of several processes: the parent watches and administers, its children serve callers. */
export type Role =
  | {
      readonly kind: "parent";
      /** The readiness of all processes together. */
      readonly readiness: () => Readiness;
      readonly metricsText: () => Promise<string>;
    }
  | {
      readonly kind: "child";
      readonly serves: boolean;
      /** The folder for data of this process alone. */
      readonly ownDir: string;
    };

export interface GatewayOptions {
  readonly config: Config;
  /** Where log lines go instead of standard output. */
  readonly logStream?: LogOptions["stream"];
  /** The store is broken beyond recovery: the process should exit. */
  readonly onFatal: (error: Error) => void;
  /** Absent where this is the only process. */
  readonly role?: Role;
  /** Actions and kinds of jobs besides our own. */
  readonly actions?: readonly LocalAction[];
  readonly jobKinds?: readonly JobKind[];
  readonly wires?: readonly ModelWire[];
  /** How tests reach the internet's pages. */
  readonly internet?: PublicFetchOptions;
  /** The process that signs payments to merchants. Absent: none are paid. The caller must close it. */
  readonly wallet?: Wallet;
  /** How callers without a key pay. Absent: a key is required. */
  readonly anonymousPayer?: AnonymousAccess;
}
