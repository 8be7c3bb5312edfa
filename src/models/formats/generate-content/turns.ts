// Reads contents of the generate-content format as the turns of a conversation.
import { isRecord, type Json, stringOf, wordOf } from "../../../core/json.ts";
import { type MediaSource, type NeutralBlock, type NeutralTurn, thought } from "../../../core/neutral.ts";
import { jsonText } from "../../../core/raw-json.ts";

function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function textBlock(text: string): NeutralBlock {
  return { kind: "text", text, cacheMark: false };
}

function mediaBlock(source: MediaSource, mediaType: string): NeutralBlock {
  const kind = mediaType.startsWith("image/") ? "image" : mediaType.startsWith("audio/") ? "audio" : "file";
  return { kind, source, filename: null, cacheMark: false };
}

function mediaOf({ inlineData, fileData }: Json): NeutralBlock | null {
  if (isRecord(inlineData)) {
    const mediaType = wordOf(inlineData.mimeType);
    // Clients may use the URL-safe alphabet; vendors of other formats accept only the standard one.
    const base64 = wordOf(inlineData.data).replaceAll("-", "+").replaceAll("_", "/");
    return mediaBlock({ at: "inline", mediaType, base64 }, mediaType);
  }
  if (!isRecord(fileData)) return null;
  return mediaBlock({ at: "url", url: wordOf(fileData.fileUri) }, wordOf(fileData.mimeType));
}

/** One of our seals as a signature, which clients base64-decode. */
export function signatureOf(sealed: string): string {
  return Buffer.from(sealed).toString("base64");
}

function sealedIn(signature: unknown): string {
  return Buffer.from(stringOf(signature) ?? "", "base64").toString("utf8");
}

/** A function's result: plain text if the response contains nothing else. */
function resultText(response: unknown): { readonly content: string; readonly isError: boolean } {
  if (isRecord(response) && Object.keys(response).length === 1) {
    const { output, result, error } = response;
    if (typeof error === "string") return { content: error, isError: true };
    const only = output ?? result;
    if (typeof only === "string") return { content: only, isError: false };
  }
  return { content: jsonText(response ?? {}), isError: false };
}

/** Reads parts in order. Calls and results without ids are matched by function name, in order. */
class PartReader {
  readonly #waiting = new Map<string, Set<string>>();
  #count = 0;

  blocksOf({ parts }: Json): NeutralBlock[] {
    return listOf(parts).flatMap((part) => this.#part(part));
  }

  #part(part: Json): NeutralBlock[] {
    const { functionCall, functionResponse, thoughtSignature } = part;
    const call = isRecord(functionCall) ? this.#call(functionCall) : null;
    const thoughts = this.#thought(thoughtSignature, call?.kind === "tool-call" ? call.id : null);
    if (call !== null) return [...thoughts, call];
    if (isRecord(functionResponse)) return [this.#result(functionResponse)];
    const media = mediaOf(part);
    if (media !== null) return [...thoughts, media];
    // Thoughts must not be repeated as the model's own text.
    if (part.thought === true || typeof part.text !== "string" || part.text === "") return thoughts;
    return [...thoughts, textBlock(part.text)];
  }

  /** A signature that is not our seal is readable only to its vendor. */
  #thought(signature: unknown, callId: string | null): NeutralBlock[] {
    const sealed = sealedIn(signature);
    if (sealed === "") return [];
    return [thought({ sealed, callId })];
  }

  #call({ id: given, name: called, args }: Json): NeutralBlock {
    const name = wordOf(called);
    const id = stringOf(given) || `call_${this.#count++}`;
    const waiting = this.#waiting.get(name) ?? new Set<string>();
    this.#waiting.set(name, waiting.add(id));
    return { kind: "tool-call", id, name, arguments: jsonText(args ?? {}), cacheMark: false };
  }

  #result({ id: given, name: called, response, parts }: Json): NeutralBlock {
    const name = wordOf(called);
    const waiting = this.#waiting.get(name);
    const [first = null] = waiting ?? [];
    const callId = stringOf(given) || first;
    if (callId !== null) waiting?.delete(callId);
    const { content, isError } = resultText(response);
    const media = listOf(parts).flatMap((part) => mediaOf(part) ?? []);
    const blocks = media.length === 0 ? content : [textBlock(content), ...media];
    return { kind: "tool-result", callId, name, content: blocks, isError, cacheMark: false };
  }
}

/** The conversation in order, system instructions first. */
export function turnsOf({ systemInstruction, contents }: Json): NeutralTurn[] {
  const reader = new PartReader();
  const system = isRecord(systemInstruction) ? reader.blocksOf(systemInstruction) : [];
  const first: NeutralTurn[] = system.length === 0 ? [] : [{ role: "system", blocks: system }];
  const turns = listOf(contents).map((content): NeutralTurn => {
    const role = content.role === "model" ? "assistant" : content.role === "system" ? "system" : "user";
    return { role, blocks: reader.blocksOf(content) };
  });
  return [...first, ...turns.filter(({ role, blocks }) => role !== "assistant" || blocks.length > 0)];
}
