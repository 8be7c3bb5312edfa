// Reads a prompt whose tokens a caller wants to know, in the counter's thread: its body may be long, and the reading is not paid for.
import { type ErrorOptions, GatewayError } from "../../core/errors.ts";
import { MODEL_WIRES } from "../formats/model-wires.ts";
import type { PromptShape } from "../formats/prompt-shape.ts";
import type { CountContext } from "../formats/wire.ts";
import { thoughtSeal } from "./seal.ts";

/** A body to be read, in one of the wires that have counts. */
export interface PromptOrder extends Omit<CountContext, "seal"> {
  /** The path of the count, which says of which wire it is. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly payer: string;
}

/** The count, what is wrong with the body, or what must be looked for before it can be read. */
export type PromptRead =
  | { readonly model: string | null; readonly shape: PromptShape; readonly tokens: number }
  | { readonly refused: Pick<GatewayError, "code" | "options"> }
  | { readonly previous: string }
  | { readonly ids: readonly string[] };

const COUNTS = new Map(MODEL_WIRES.flatMap(({ counts = [] }) => counts.map((count) => [count.path, count] as const)));

/** An error as another thread can be told it; its cause stays here. */
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
  const read = counted.read(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), context);
  if (read instanceof GatewayError) return { refused: told(read) };
  if (!("text" in read)) return read;
  return { model: read.model, shape: read.shape, tokens: count(read.text) };
}
