// The first half of core/produce_autodemo: reads the site and has a model write the storyboard.
import type { ChatAnswer, InnerCalls, InnerModels } from "../../../catalog/local-action.ts";
import type { GatewayError } from "../../../core/errors.ts";
import { atPointer } from "../../../upstream/json-pointer.ts";
import type { DemoStart } from "./demo-job.ts";
import { BOARD_SCHEMA, readBoard, type Storyboard } from "./storyboard.ts";

type BoardWanted = Pick<DemoStart, "url" | "brief" | "seconds" | "language">;

const READER = "core/onescrape";
const PAGE_CHARS_MAX = 12_000;
const OUTPUT_TOKENS_MAX = 4_000;
const MS_MAX = 90_000;
const TRIES = 2;
/** Failed reads are free, and without the page there is no video. */
const LOOKS = 3;
const SCENE_SECONDS = 8;

const TASK = [
  "You write the storyboard of a short demo video of a web site, which is recorded in a browser.",
  "`brief` says what it is to show, `page` is the text of its first page at `url`, `seconds` how long it is to be, and `language` what it is written and spoken in.",
  "Each scene begins at `url`, a page of the same site, and does its steps: goto {url} another page of the site, click {on} the link or button that has these words, type {into} the field of this label {text}, scroll {by} pixels, wait {seconds}.",
  "Use only pages, links and fields that `page` shows. Never buy, order, send, delete or sign up for anything.",
  "`caption` is a line of at most 60 characters; `narration` is said during the scene, at most 2 words for each of its `seconds` (2 to 30). The seconds of all scenes add up to `seconds`.",
].join("\n");

export type Written = Storyboard | { readonly error: string; readonly message: string };

/** A storyboard without a model, for the sandbox: scrolls through the page. */
function plain({ url, brief, seconds }: BoardWanted): Storyboard {
  const count = Math.max(1, Math.min(6, Math.round(seconds / SCENE_SECONDS)));
  const scenes = Array.from({ length: count }, (_, at) => ({
    url,
    steps: at === 0 ? [] : [{ do: "scroll" as const, by: at * 400 }],
    caption: `${at + 1} of ${count}`,
    narration: brief.replace(/\p{Cc}+/gu, " ").slice(0, 200),
    seconds: Math.max(2, Math.min(30, seconds / count)),
  }));
  return { title: new URL(url).host, scenes };
}

async function pageText(calls: InnerCalls, url: string): Promise<string | GatewayError> {
  const answer = await calls.call({ action: READER, params: { urls: [url], main_content: false } });
  if (!answer.ok) return answer.error;
  const content = atPointer(answer.data, "/rows/0/content");
  return typeof content === "string" ? content.slice(0, PAGE_CHARS_MAX) : "";
}

/** `writer`: the model; `plays`: it is the sandbox's simulated one. */
export async function writeBoard(
  wanted: BoardWanted,
  calls: InnerCalls & InnerModels,
  { writer, plays }: { readonly writer: string; readonly plays: boolean },
): Promise<Written> {
  const { url, brief, seconds, language } = wanted;
  let page = await pageText(calls, url);
  for (let look = 1; look < LOOKS && typeof page !== "string"; look++) page = await pageText(calls, url);
  if (typeof page !== "string") return { error: page.code, message: `The site could not be read: ${page.message}` };
  let fault = "";
  for (let tried = 0; tried < TRIES; tried++) {
    const answer: ChatAnswer = await calls.chat({
      model: writer,
      task: TASK,
      given: { url, brief, seconds, language, page, ...(fault === "" ? {} : { wrong_last_time: fault }) },
      schema: BOARD_SCHEMA,
      outputTokensMax: OUTPUT_TOKENS_MAX,
      msMax: MS_MAX,
    });
    if (!answer.ok) return { error: answer.error.code, message: `No storyboard was written: ${answer.error.message}` };
    const read = readBoard(answer.json, url);
    if (typeof read !== "string") return read;
    if (plays) return plain(wanted);
    fault = read;
  }
  return { error: "upstream_error", message: `The storyboard that was written is none: ${fault}` };
}
