// Vendors' answers in every dialect, and callers' requests. test/fixtures/golden stores the resulting bytes.
import { readdirSync } from "node:fs";
import { fixture } from "../../support/dialect-replay.ts";

export type DialectName = "chat-completions" | "responses" | "messages" | "generate-content";

export interface AnswerCase {
  readonly name: string;
  readonly dialect: DialectName;
  readonly streamed: boolean;
  /** The vendor's bytes. */
  readonly vendor: string;
  /** The caller's fields besides the messages. */
  readonly asked?: Readonly<Record<string, unknown>>;
}

interface Cases {
  readonly chatStreams: Readonly<Record<string, string>>;
  readonly whole: Readonly<Record<DialectName, Readonly<Record<string, unknown>>>>;
  readonly asked: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const { chatStreams, whole, asked } = JSON.parse(fixture("golden-cases.json")) as Cases;

function recorded(dialect: Exclude<DialectName, "chat-completions">): AnswerCase[] {
  const files = readdirSync(new URL(`../../fixtures/${dialect}`, import.meta.url)).sort();
  return files.map((file) => ({ name: file, dialect, streamed: true, vendor: fixture(`${dialect}/${file}`) }));
}

export const ANSWERS: readonly AnswerCase[] = [
  ...Object.entries(chatStreams).map(([name, vendor]): AnswerCase => {
    return { name, dialect: "chat-completions", streamed: true, vendor };
  }),
  ...recorded("responses"),
  ...recorded("messages"),
  ...recorded("generate-content"),
  ...Object.entries(whole).flatMap(([dialect, cases]) =>
    Object.entries(cases).map(([name, json]): AnswerCase => {
      return { name, dialect: dialect as DialectName, streamed: false, vendor: JSON.stringify(json) };
    }),
  ),
];

/** Request bodies. Each goes to a vendor of every dialect; the golden file has the vendor's request, or why there is none. */
export const ASKED = asked;
