// What a gateway is started with.

import type { JobKind } from "../catalog/job-kind.ts";
import type { LocalAction } from "../catalog/local-action.ts";
import type { AnonymousAccess } from "../edge/serve/deps.ts";
import type { ModelWire } from "../models/formats/wire.ts";
import type { Readiness } from "../money/accounts/admin-endpoints.ts";
import type { Wallet } from "../money/wallet/wallet.ts";
import type { Config } from "../platform/config.ts";
import type { LogOptions } from "../platform/observe/log.ts";
import type { PublicFetchOptions } from "../upstream/public-fetch.ts";

/** The part of a process that is one of several: the parent watches and administers, its children serve callers. */
export type Role =
  | {
      readonly kind: "parent";
      /** Of all processes together. */
      readonly readiness: () => Readiness;
      readonly metricsText: () => Promise<string>;
    }
  | {
      readonly kind: "child";
      /** Callers come to it. */
      readonly serves: boolean;
      /** What this process alone keeps lies here. */
      readonly ownDir: string;
    };

export interface GatewayOptions {
  readonly config: Config;
  /** Where log lines go instead of standard output. */
  readonly logStream?: LogOptions["stream"];
  /** The store has broken for good: the process should end. */
  readonly onFatal: (error: Error) => void;
  /** Left out where this process is all there is. */
  readonly role?: Role;
  /** Actions and kinds of jobs beside our own. */
  readonly actions?: readonly LocalAction[];
  readonly jobKinds?: readonly JobKind[];
  /** Wires in which models are asked, beside our own. */
  readonly wires?: readonly ModelWire[];
  /** How the pages of the internet are reached in tests. */
  readonly internet?: PublicFetchOptions;
  /** The process that signs payments to merchants. Left out: none are paid. It is the starter's to close. */
  readonly wallet?: Wallet;
  /** How callers without a key pay. Left out: they need a key. */
  readonly anonymousPayer?: AnonymousAccess;
}
