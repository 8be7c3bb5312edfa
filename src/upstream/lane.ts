// Connects a caller's wire with a vendor's: passes bytes through if both are the same wire, otherwise translates through neutral events.
import type { AnswerBlock, AnswerCodec, CallerRequest, NeutralAnswer, ThoughtSeal } from "../core/neutral.ts";
import { jsonText } from "../core/raw-json.ts";
import type { Counts, TokenUsage } from "../core/route.ts";
import type { AnswerForm } from "./answer-form.ts";
import { EventWriter } from "./event-writer.ts";
import type {
  ChatContext,
  Dialect,
  Passing,
  StreamReader,
  UnaryAnswer,
  UpstreamBody,
  VendorError,
} from "./format-kit/dialect.ts";
import type { HeldStream } from "./held-stream.ts";
import { type FetchedMedia, LINKS_MAX, linksOf, type MediaLink, withMedia } from "./media-links.ts";
import { openedRequest, sealedAnswer } from "./sealed-thoughts.ts";
import { GatheredAnswer, gathered } from "./whole-stream.ts";

/** The usage that a vendor reports: tokens, or unit counts. */
export interface Told {
  readonly usage: TokenUsage | null;
  readonly counts?: Counts | null;
}

/** Everything that an attempt needs of a vendor's wire. */
export interface Lane {
  /** The links that the vendor cannot open; `request` gets their media. */
  readonly links?: readonly MediaLink[];
  request(media?: FetchedMedia): UpstreamBody;
  /** Frees the caller's request: an answer has begun, and no other request will be made. Absent: nothing to free. */
  dropRequest?(): void;
  reader(out: HeldStream): StreamReader;
  /** Reads a JSON body, or gathered events. */
  answer(json: unknown): UnaryAnswer;
  /** Replays a whole answer as the requested stream; absent: a whole answer is then a failure. */
  tell?(json: unknown, out: HeldStream): void;
  /** Reads events where a whole answer was requested; absent: events are then a failure. */
  gather?(gathered: GatheredAnswer, out: HeldStream): StreamReader;
  /** No mark within the stream ends it. */
  readonly endsWithBody?: boolean;
  /** The request field that is written last. */
  readonly grows?: string | undefined;
  /** Checks whole answers against the requested schema; null or absent: any will do. */
  form?: AnswerForm | null;
  /** The usage that a faulty body reports; absent: unknown. */
  told?(json: unknown): Told | null;
  error(body: unknown): VendorError;
  /** Passes on an answer that is neither JSON nor events as it arrives. */
  readonly passesBytes?: boolean;
}

export interface CallerSide {
  readonly asked: CallerRequest;
  readonly answers: AnswerCodec;
  /** The caller carries thoughts sealed; absent: as the vendor gives them. */
  readonly seal?: ThoughtSeal | undefined;
}

function blockText(block: AnswerBlock): string {
  if (block.kind === "tool-call") return block.name + block.arguments;
  return "text" in block ? block.text : "";
}

const COUNTED: readonly AnswerBlock["kind"][] = ["reasoning", "text", "refusal", "tool-call"];

function textOf({ choices }: NeutralAnswer): string {
  const blocks = choices.flatMap((choice) =>
    COUNTED.flatMap((kind) => choice.blocks.filter((block) => block.kind === kind)),
  );
  return blocks.map(blockText).join("");
}

/** Passes the caller's own wire through where `passing` is given, and translates the rest. A class, because a stream keeps it to its end. */
class ChatLane implements Lane {
  readonly links: readonly MediaLink[];
  form: AnswerForm | null = null;
  readonly #dialect: Dialect;
  /** Null once an answer has begun. */
  #asked: CallerRequest | null;
  readonly #answers: AnswerCodec;
  readonly #context: ChatContext;
  readonly #passing: Passing | null;
  /** Answers are translated although the request is passed through. */
  readonly #answersTranslated: boolean;

  constructor(
    dialect: Dialect,
    { asked, answers }: CallerSide,
    context: ChatContext,
    { passing, links }: { readonly passing: Passing | null; readonly links: readonly MediaLink[] },
  ) {
    this.#dialect = dialect;
    this.#asked = asked;
    this.#answers = answers;
    this.#context = context;
    this.#passing = passing;
    this.links = links;
    // Tool calls pass through unchecked only from vendors whose calls are always valid. Requests with features that the neutral format
    // lacks pass through anyway.
    const isLax = () => asked.usesTools && context.wire.toolCalls !== "strict" && asked.neutral().foreign.length === 0;
    this.#answersTranslated = passing === null || context.wire.answersInParts === true || isLax();
  }

  get endsWithBody(): boolean {
    return this.#dialect.end === null;
  }

  get grows(): string | undefined {
    return this.#dialect.grows;
  }

  /** Whether names were changed is known only after the request is built. */
  get #passes(): Passing | null {
    const passing = this.#answersTranslated ? null : this.#passing;
    return passing !== null && this.#context.tools?.renames === true && !passing.restoresNames ? null : passing;
  }

  request(media?: FetchedMedia): UpstreamBody {
    const passing = this.#passing;
    const context = this.#context;
    const asked = this.#asked;
    if (asked === null) throw new Error("a request is made only until an answer has begun");
    if (passing === null) {
      const whole = withMedia(asked.neutral(), this.links, media ?? null);
      return this.#dialect.request(context.seal === undefined ? whole : openedRequest(whole, context.seal), context);
    }
    const { body, sent } = asked;
    if (media === undefined) return passing.request(body, context, sent);
    const whole = passing.withMedia?.(body, media) ?? body;
    const bytes = sent && { ...sent, bytes: Buffer.from(jsonText(whole)) };
    return passing.request(whole, context, bytes);
  }

  dropRequest(): void {
    this.#asked = null;
  }

  reader(out: HeldStream): StreamReader {
    return this.#passes?.reader(this.#context, out) ?? this.#dialect.reader(this.#context, this.#writer(out));
  }

  #writer(out: HeldStream): EventWriter {
    return new EventWriter(out, this.#answers.encoder(), this.#context.seal);
  }

  answer(json: unknown): UnaryAnswer {
    const passing = json instanceof GatheredAnswer ? null : this.#passes;
    const read = passing === null ? this.#translated(json) : passing.answer(json, this.#context);
    return "kind" in read || this.form === null ? read : this.form.answer(read);
  }

  #translated(json: unknown): UnaryAnswer {
    const { seal } = this.#context;
    const read = json instanceof GatheredAnswer ? json : gathered(this.#dialect, json, this.#context);
    if (read.failure !== null) return read.failure;
    const answer = read.answer();
    const empty = read.emptiness(answer);
    const told = seal === undefined ? answer : sealedAnswer(answer, seal);
    const { upstreamCostNano } = read;
    const whole = { body: this.#answers.whole(told), usage: answer.usage, upstreamCostNano, text: textOf(answer) };
    return empty === null ? whole : { ...whole, empty };
  }

  tell(json: unknown, out: HeldStream): void {
    this.#dialect.reader(this.#context, this.#writer(out)).whole(json);
  }

  gather(answer: GatheredAnswer, out: HeldStream): StreamReader {
    return this.#dialect.reader(this.#context, new EventWriter(out, answer));
  }

  told(json: unknown): Told | null {
    const { usage } = gathered(this.#dialect, json, this.#context).answer();
    return usage === null ? null : { usage };
  }

  error(body: unknown): VendorError {
    return (this.#passing ?? this.#dialect).error(body);
  }
}

function tooMany(links: readonly MediaLink[]): string {
  return `messages have ${links.length} links that it cannot open itself; ${LINKS_MAX} are opened for it`;
}

/** The lane of a call, or the reason why the dialect cannot serve it. */
export function laneOf(dialect: Dialect, side: CallerSide, context: ChatContext): Lane | string {
  const { asked } = side;
  const { wire } = context;
  const passing = dialect.wire === asked.wire && wire.takes?.responsesForm === undefined ? dialect.passing : null;
  if (passing === null) {
    const links = linksOf(asked.neutral(), wire.fetches ?? dialect.fetches);
    if (links.length > LINKS_MAX) return tooMany(links);
    const why = dialect.unsupported(withMedia(asked.neutral(), links, null), context);
    return why ?? new ChatLane(dialect, side, context, { passing, links });
  }
  const why = passing.unsupported?.(asked.body, context) ?? null;
  if (why !== null) return why;
  const links = passing.links?.(asked.body, context, asked.sent) ?? [];
  return links.length > LINKS_MAX ? tooMany(links) : new ChatLane(dialect, side, context, { passing, links });
}
