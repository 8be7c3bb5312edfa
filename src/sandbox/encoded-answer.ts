// Feeds a sandbox answer to a format's encoder, as neutral blocks or neutral events.
import { createParser } from "eventsource-parser";
import {
  type AnswerBlock,
  type EventEncoder,
  type NeutralAnswer,
  type NeutralEvent,
  type ReasoningBlock,
  thought,
} from "../core/neutral.ts";
import type { Answer, Choice } from "./answer.ts";
import type { DialectEvent } from "./dialect.ts";

export interface AnswerWords {
  readonly callPrefix: string;
  /** The signature or seal of a thought; null if it has neither. */
  readonly seal: (thinking: string) => string | null;
  readonly native: (choice: Choice) => string;
}

function thoughtOf({ thinking }: Choice, { seal }: AnswerWords): ReasoningBlock | null {
  const text = thinking.join("");
  if (text === "") return null;
  return thought({ text, sealed: seal(text) });
}

export function neutralAnswer({ choices }: Answer, words: AnswerWords): NeutralAnswer {
  const blocksOf = (choice: Choice): AnswerBlock[] => {
    const thought = thoughtOf(choice, words);
    const calls = choice.calls.map(({ id, name, fragments }) => {
      return { kind: "tool-call", id: words.callPrefix + id, name, arguments: fragments.join("") } as const;
    });
    const text = choice.text.join("");
    return [
      ...(thought === null ? [] : [thought]),
      ...(text === "" ? [] : [{ kind: "text", text, citations: [] } as const]),
      ...calls,
    ];
  };
  return {
    usage: null,
    choices: choices.map((choice, index) => {
      return { index, blocks: blocksOf(choice), reason: choice.finish, native: words.native(choice) };
    }),
  };
}

interface CountedEvent {
  readonly event: NeutralEvent;
  readonly tokens: number;
}

function* eventsOf(choice: Choice, at: number, words: AnswerWords): Generator<CountedEvent> {
  const thought = thoughtOf(choice, words);
  for (const text of choice.thinking) yield { event: { kind: "reasoning", choice: at, text }, tokens: 1 };
  if (thought?.sealed != null) yield { event: { kind: "thought", choice: at, at: 0, thought }, tokens: 0 };
  for (const text of choice.text) yield { event: { kind: "text", choice: at, text }, tokens: 1 };
  for (const [index, { id, name, fragments }] of choice.calls.entries()) {
    const call = { kind: "tool-call", choice: at, at: index, id: words.callPrefix + id, name, arguments: "" } as const;
    yield { event: call, tokens: 0 };
    for (const text of fragments) yield { event: { kind: "tool-arguments", choice: at, at: index, text }, tokens: 1 };
  }
  yield { event: { kind: "finish", choice: at, reason: choice.finish, native: words.native(choice) }, tokens: 0 };
}

/** Alternates between the choices, as a vendor does that generates them in parallel. */
function* interleaved({ choices }: Answer, words: AnswerWords): Generator<CountedEvent> {
  for (const choice of choices.keys()) yield { event: { kind: "begin", choice }, tokens: 0 };
  let running = choices.map((choice, at) => eventsOf(choice, at, words));
  while (running.length > 0) {
    const next: typeof running = [];
    for (const events of running) {
      const step = events.next();
      if (step.done) continue;
      yield step.value;
      next.push(events);
    }
    running = next;
  }
}

/** Splits an encoder's output into server-sent events; the last one may be unterminated. */
function eventsIn(text: string): { readonly name: string | null; readonly data: string }[] {
  const events: { name: string | null; data: string }[] = [];
  createParser({ onEvent: ({ event = null, data }) => events.push({ name: event, data }) }).feed(`${text}\n\n`);
  return events;
}

/** The events of a stream as the encoder writes them. Tokens that it does not show count with the next event. */
export function* encodedEvents(answer: Answer, words: AnswerWords, encoder: EventEncoder): Generator<DialectEvent> {
  let unwritten = 0;
  for (const { event, tokens } of interleaved(answer, words)) {
    unwritten += tokens;
    const written = eventsIn(encoder.encode(event).toString("utf8"));
    for (const [at, one] of written.entries()) {
      const isLast = at === written.length - 1;
      const kind = event.kind === "begin" ? "preamble" : event.kind === "finish" && isLast ? "closing" : "content";
      yield { ...one, kind, tokens: isLast ? unwritten : 0 };
      if (isLast) unwritten = 0;
    }
  }
}
