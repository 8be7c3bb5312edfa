// What realtime sessions need besides what every model call needs.
import type { SoldUnitModel } from "../../catalog/catalog.ts";
import type { ChatDeps } from "../chat/deps.ts";
import type { ClientSecrets } from "./client-secrets.ts";

export interface RealtimeDeps extends ChatDeps {
  readonly secrets: ClientSecrets;
  /** How long a session may be open, and how long both sides may be silent. */
  readonly openMsMax: number;
  readonly idleMsMax: number;
}

/** What a session was opened for. */
export interface Sold {
  /** As the caller named it, and its full name. */
  readonly asked: string;
  readonly name: string;
  /** In order of preference. */
  readonly models: readonly SoldUnitModel[];
  readonly tags: readonly string[];
}
