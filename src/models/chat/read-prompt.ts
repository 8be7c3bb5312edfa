// Parses a prompt for a token count, in the counter's thread, because the body may be long and the count is free.
import { type ErrorOptions, type GatewayError, refusalIn } from "../../core/errors.ts";
import { MODEL_WIRES } from "../formats/model-wires.ts";
import type { PromptShape } from "../formats/prompt-text.ts";
import type { CountContext } from "../formats/wire.ts";
import { thoughtSeal } from "./seal.ts";

/** A body to parse, for one of the wires with a count endpoint. */
export interface PromptOrder extends Omit<CountContext, "seal"> {
  /** The path of the count endpoint, which identifies the wire. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly payer: string;
}

/** The count, an error in the body, or the references to resolve before it can be parsed. */
export type PromptRead =
  | { readonly model: string | null; readonly shape: PromptShape; readonly tokens: number }
  | { readonly refused: Pick<GatewayError, "code" | "options"> }
  | { readonly previous: string }
  | { readonly ids: readonly string[] };

const COUNTS = new Map(MODEL_WIRES.flatMap(({ counts = [] }) => counts.map((count) => [count.path, count] as const)));

/** An error in a form that can be sent to another thread; drops its cause. */
function told({ code, options }: GatewayError): {
  readonly code: GatewayError["code"];
  readonly options: ErrorOptions;
} {
  const { cause: _, ...rest } = options;
  return { code, options: rest };
}

export function readPrompt(
  { path, bytes, payer, earlier, named, params }: PromptOrder,
  secrets: readonly string[],
  count: (text: string) => number,
): PromptRead {
  const counted = COUNTS.get(path);
  if (counted === undefined) throw new Error(`no wire counts at ${path}`);
  const context = { seal: thoughtSeal(secrets, payer), earlier, named, params };
  try {
    const read = counted.read(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), context);
    if (!("text" in read)) return read;
    return { model: read.model, shape: read.shape, tokens: count(read.text) };
  } catch (error) {
    return { refused: told(refusalIn(error)) };
  }
}
