// Connects a caller's wire with a vendor's: passes bytes through if both are the same wire, otherwise translates through neutral events.
import type { AnswerBlock, AnswerCodec, CallerRequest, NeutralAnswer, ThoughtSeal } from "../core/neutral.ts";
import { jsonText } from "../core/raw-json.ts";
import type { Counts, TokenUsage } from "../core/route.ts";
import type {
  ChatContext,
  Dialect,
  Passing,
  StreamReader,
  UnaryAnswer,
  UpstreamBody,
  VendorError,
} from "./dialects/dialect.ts";
import { fitOf } from "./dialects/tool-fit.ts";
import { EventWriter } from "./event-writer.ts";
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
  readonly grows?: string;
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

export function passingLane(
  passing: Passing,
  { body, sent }: Pick<CallerRequest, "body" | "sent">,
  { context, told }: { readonly context: ChatContext; readonly told: NonNullable<Lane["told"]> },
): Lane {
  const links = passing.links?.(body, context, sent) ?? [];
  return {
    links,
    told,
    request(media) {
      if (media === undefined) return passing.request(body, context, sent);
      const whole = passing.withMedia?.(body, media) ?? body;
      const bytes = sent && { ...sent, bytes: Buffer.from(jsonText(whole)) };
      return passing.request(whole, context, bytes);
    },
    reader: (out) => passing.reader(context, out),
    answer: (json) => passing.answer(json, context),
    error: (json) => passing.error(json),
  };
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

function translatingLane(
  dialect: Dialect,
  { asked, answers }: CallerSide,
  context: ChatContext,
  links: readonly MediaLink[],
): Lane {
  const { seal } = context;
  return {
    links,
    endsWithBody: dialect.end === null,
    grows: dialect.grows,
    request(media) {
      const whole = withMedia(asked.neutral(), links, media ?? null);
      return dialect.request(seal === undefined ? whole : openedRequest(whole, seal), context);
    },
    reader: (out) => dialect.reader(context, new EventWriter(out, answers.encoder(), seal)),
    answer(json) {
      const read = json instanceof GatheredAnswer ? json : gathered(dialect, json, context);
      if (read.failure !== null) return read.failure;
      const answer = read.answer();
      const empty = read.emptiness(answer);
      const told = seal === undefined ? answer : sealedAnswer(answer, seal);
      const { upstreamCostNano } = read;
      const whole = { body: answers.whole(told), usage: answer.usage, upstreamCostNano, text: textOf(answer) };
      return empty === null ? whole : { ...whole, empty };
    },
    tell: (json, out) => dialect.reader(context, new EventWriter(out, answers.encoder(), seal)).whole(json),
    gather: (answer, out) => dialect.reader(context, new EventWriter(out, answer)),
    told: toldBy(dialect, context),
    error: (body) => dialect.error(body),
  };
}

function toldBy(dialect: Dialect, context: ChatContext): NonNullable<Lane["told"]> {
  return (json) => {
    const { usage } = gathered(dialect, json, context).answer();
    return usage === null ? null : { usage };
  };
}

function tooMany(links: readonly MediaLink[]): string {
  return `messages have ${links.length} links that it cannot open itself; ${LINKS_MAX} are opened for it`;
}

/** The lane of a call, or the reason why the dialect cannot serve it. */
export function laneOf(dialect: Dialect, side: CallerSide, plain: ChatContext): Lane | string {
  const { asked } = side;
  const context = { ...plain, tools: fitOf(plain, dialect.wire) };
  const { passing } = dialect;
  const isOwnForm = context.wire.takes?.responsesForm !== undefined;
  if (passing === null || dialect.wire !== asked.wire || isOwnForm) {
    const links = linksOf(asked.neutral(), context.wire.fetches ?? dialect.fetches);
    if (links.length > LINKS_MAX) return tooMany(links);
    const why = dialect.unsupported(withMedia(asked.neutral(), links, null), context);
    return why ?? translatingLane(dialect, side, context, links);
  }
  const why = passing.unsupported?.(asked.body, context) ?? null;
  if (why !== null) return why;
  const lane = passingLane(passing, asked, { context, told: toldBy(dialect, context) });
  const { links = [] } = lane;
  if (links.length > LINKS_MAX) return tooMany(links);
  let translating: Lane | null = null;
  const other = () => {
    translating ??= translatingLane(dialect, side, context, links);
    return translating;
  };
  // Tool calls pass through unchecked only from vendors whose calls are always valid. Requests with features that the neutral format lacks
  // pass through anyway.
  const isLax = asked.usesTools && context.wire.toolCalls !== "strict" && asked.neutral().foreign.length === 0;
  const isTranslated = context.wire.answersInParts === true || isLax;
  // Whether names were changed is known only after the request is built.
  const chosen = () => (isTranslated || (context.tools.renames && !passing.restoresNames) ? other() : lane);
  return {
    ...lane,
    endsWithBody: dialect.end === null,
    grows: dialect.grows,
    reader: (out) => chosen().reader(out),
    answer: (json) => (json instanceof GatheredAnswer ? other() : chosen()).answer(json),
    tell: (json, out) => other().tell?.(json, out),
    gather: (answer, out) => dialect.reader(context, new EventWriter(out, answer)),
  };
}
