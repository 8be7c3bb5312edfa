// Reads a stream of the generate-content wire, each event a part of the answer, and says it in OpenAI's deltas.
import { isRecord } from "../json-pointer.ts";
import { imageOf } from "./chat-completion.ts";
import { detailOf } from "./chat-reasoning.ts";
import type { Json } from "./chat-request.ts";
import type { ChatContext, ChatStreamOut, ChatStreamReader } from "./dialect.ts";
import { answerPartsOf, CallNames, type ReadAnswerPart } from "./generate-content-parts.ts";
import { blockedPrompt, endingOf, failureInside, finishReasonOf, formatOf, usageOf } from "./generate-content-wire.ts";

/** What one candidate has given so far. */
interface Choice {
  calls: number;
  details: number;
  images: number;
  finished: boolean;
}

class GenerateContentReader implements ChatStreamReader {
  readonly #out: ChatStreamOut;
  readonly #format: string;
  readonly #mayBeEmpty: boolean;
  readonly #names: CallNames;
  readonly #choices = new Map<number, Choice>();
  #delivered = false;

  constructor(context: ChatContext, out: ChatStreamOut) {
    this.#out = out;
    this.#format = formatOf(context);
    this.#mayBeEmpty = context.mayBeEmpty === true;
    this.#names = new CallNames(context);
  }

  event(bytes: Buffer, start: number, end: number): boolean {
    let data: unknown;
    try {
      data = JSON.parse(bytes.toString("utf8", start, end));
    } catch {
      return false;
    }
    if (!isRecord(data)) return false;
    const failure = data.error ? failureInside(data) : blockedPrompt(data);
    const usage = usageOf(data.usageMetadata);
    if (usage !== null) this.#out.usage(usage);
    if (failure !== null) this.#out.fail(failure);
    else for (const candidate of Array.isArray(data.candidates) ? data.candidates : []) this.#read(candidate);
    return true;
  }

  #read(candidate: unknown): void {
    if (!isRecord(candidate)) return;
    const index = Number.isInteger(candidate.index) ? Number(candidate.index) : 0;
    const choice = this.#choice(index);
    if (choice.finished) return;
    for (const part of answerPartsOf(candidate, this.#names)) this.#give(index, choice, part);
    const native = finishReasonOf(candidate);
    if (native !== null) this.#finish(index, choice, native, candidate);
  }

  /** The stream has no end of its own: once every choice has finished, the end of the body is the end of the answer. */
  #finish(index: number, choice: Choice, native: string, candidate: Json): void {
    choice.finished = true;
    const given = { anything: this.#delivered, calls: choice.calls > 0, mayBeEmpty: this.#mayBeEmpty };
    const ending = endingOf(native, candidate, given);
    if (typeof ending === "string") this.#out.finish(index, ending, native);
    else this.#out.fail(ending);
  }

  #choice(index: number): Choice {
    const known = this.#choices.get(index);
    if (known !== undefined) return known;
    const choice = { calls: 0, details: 0, images: 0, finished: false };
    this.#choices.set(index, choice);
    this.#out.delta(index, { role: "assistant", content: "" });
    return choice;
  }

  #give(index: number, choice: Choice, part: ReadAnswerPart): void {
    const deltas: Json[] = [];
    if (part.reasoning !== "") deltas.push({ reasoning: part.reasoning });
    if (part.text !== "") deltas.push({ content: part.text });
    if (part.image !== null) deltas.push({ images: [imageOf(part.image, choice.images++)] });
    if (part.call !== null) {
      const { id, name, arguments: text } = part.call;
      deltas.push({
        tool_calls: [{ index: choice.calls++, id, type: "function", function: { name, arguments: text } }],
      });
    }
    this.#delivered ||= deltas.length > 0;
    if (part.signed !== null) {
      deltas.push({ reasoning_details: [detailOf(part.signed, this.#format, choice.details++)] });
    }
    for (const delta of deltas) this.#out.delta(index, delta);
  }
}

/** A reader of one stream in the generate-content wire. */
export function generateContentReader(context: ChatContext, out: ChatStreamOut): ChatStreamReader {
  return new GenerateContentReader(context, out);
}
