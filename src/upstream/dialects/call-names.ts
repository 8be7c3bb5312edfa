// Names for tool calls whose vendor gives them none: unique across answers, and short enough for any vendor.
import type { ChatContext } from "./dialect.ts";

export function callName({ completionId }: ChatContext, at: number): string {
  return `call_${completionId.replace(/^[a-z]+[-_]/, "").slice(-28)}_${at}`;
}
