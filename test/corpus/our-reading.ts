// Reads a corpus page like our own fetcher, in the caller's thread.
import { type JudgedPage, judgedPage } from "../../src/actions/composites/pages/page-tasks.ts";
import type { QualityFlag } from "../../src/actions/composites/pages/yield.ts";
import type { CorpusPage } from "./draft.ts";
import type { Reading } from "./score.ts";

function judgedByUs({ html, url, status }: CorpusPage): JudgedPage {
  return judgedPage(html, { url, status, format: "markdown", mainContent: true, hasRun: false });
}

export function isFlagged(page: CorpusPage, flag: QualityFlag): boolean {
  return judgedByUs(page).judged.flags.includes(flag);
}

export function readByUs(page: CorpusPage): Reading {
  const { content, judged } = judgedByUs(page);
  const { instead } = judged;
  if (instead === undefined) return { content, is: "content" };
  return { content, is: instead === "shell" || instead === "nothing" ? "shell" : "wall" };
}
