// The signatures of this wire's thinking blocks: a thought under our own seal, so that its vendor gets back exactly what it signed.
import type { ReasoningBlock, ThoughtSeal } from "../../neutral.ts";

/** Clients keep no thought without a signature. This is the one of thoughts whose vendor signs none: it opens to nothing. */
const UNSIGNED = "tgs0_";
/** Behind the seal stands whose thought it is, in the clear: a seal opens only to whoever knows. */
const BETWEEN = ".";

/** Seals a thought; what has nothing to give back, or is too long to be carried, is marked as such. */
export function sealThought(thought: ReasoningBlock, seal: ThoughtSeal): string {
  const { format, signature, sealed } = thought;
  if (format === null || (signature === null && sealed === null)) return UNSIGNED;
  const text = seal.seal(thought, format);
  return text === null ? UNSIGNED : text + BETWEEN + format;
}

/** The thought that was sealed; null where it was sealed by another, or for another. */
export function openThought(text: string, seal: ThoughtSeal): ReasoningBlock | null {
  const at = text.indexOf(BETWEEN);
  return at < 0 ? null : seal.open(text.slice(0, at), text.slice(at + 1));
}
