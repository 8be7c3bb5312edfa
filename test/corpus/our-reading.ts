// A page of the corpus as our own fetch reads it, in the thread that asks.
import { judgedPage } from "../../src/composites/pages/judged-page.ts";
import type { CorpusPage } from "./draft.ts";
import type { Reading } from "./score.ts";

export function readByUs({ html, url, status }: CorpusPage): Reading {
  const { content, judged } = judgedPage(html, { url, status, format: "markdown", mainContent: true, hasRun: false });
  const { instead } = judged;
  if (instead === undefined) return { content, is: "content" };
  return { content, is: instead === "shell" || instead === "nothing" ? "shell" : "wall" };
}
