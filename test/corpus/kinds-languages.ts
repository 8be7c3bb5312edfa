// A kind of page for each of twenty languages: articles in their own words, scripts and writing directions.
import { readFileSync } from "node:fs";
import { type CorpusPage, Draft } from "./draft.ts";
import { framed } from "./layouts.ts";

/** Rows of a language's code and sentences in it. */
const LANGUAGES = JSON.parse(readFileSync(new URL("languages.json", import.meta.url), "utf8")) as [
  string,
  ...string[],
][];

export function language(seed: number, at: number): CorpusPage {
  const draft = new Draft(seed);
  const [lang, ...sentences] = LANGUAGES[at % LANGUAGES.length] ?? ["en"];
  // A number in each sentence makes it unique on its page.
  const numbered = Array.from({ length: draft.chance.whole(1, 4) }, (_, round) =>
    sentences.map((one) => `${one} (${at}${round})`),
  ).flat();
  draft.must.push(...numbered);
  if (lang === "ja") draft.must.push("漢字(かんじ)");
  const ruby = lang === "ja" ? "<p><ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>を読む。</p>" : "";
  const dir = lang === "ar" || lang === "he" ? ' dir="rtl"' : "";
  const main = `<div${dir}>${numbered.map((one) => `<p>${one}</p>`).join("\n")}${ruby}</div>`;
  return draft.end({
    kind: "language",
    name: `language-${lang}`,
    html: framed(draft, at, { title: sentences[0] ?? "", main, lang }),
  });
}
