// Pages with a known class: walls, empty shells, and short and long pages, in twenty languages and as services generate them. Their texts,
// and some complete pages, are in labelled-pages.json.
import { readFileSync } from "node:fs";

export interface LabelledPage {
  readonly name: string;
  readonly html: string;
  readonly status: number;
  /** Whether it has readable content. */
  readonly isPage: boolean;
}

interface Language {
  /** A sentence of an article. */
  readonly sentence: string;
  /** A short page of a shop or an office. */
  readonly short: string;
  /** The text of a browser check. */
  readonly human: string;
  /** The text of a server that denies access. */
  readonly denied: string;
  /** The text of a site that requires an account. */
  readonly login: string;
  /** The text of an application that has not started. */
  readonly script: string;
  readonly loading: string;
}

interface Labelled {
  readonly languages: Readonly<Record<string, Language>>;
  /** Pages of services that use English everywhere. */
  readonly services: readonly LabelledPage[];
  /** Pages with visible elements but no text to read. */
  readonly skeletons: readonly LabelledPage[];
  /** Server-rendered pages that scripts will take over. */
  readonly filled: readonly LabelledPage[];
  /** Pages that mention a wall but are not one. */
  readonly mentions: readonly LabelledPage[];
  /** Walls of more than one sentence. */
  readonly wordyWalls: readonly LabelledPage[];
  /** Written after the rules. */
  readonly unseen: readonly LabelledPage[];
}

const labelled = JSON.parse(readFileSync(new URL("labelled-pages.json", import.meta.url), "utf8")) as Labelled;
export const {
  skeletons: SKELETONS,
  filled: FILLED,
  mentions: MENTIONS,
  wordyWalls: WORDY_WALLS,
  unseen: UNSEEN,
} = labelled;

const page = (head: string, body: string, lang = "en") =>
  `<!doctype html><html lang="${lang}"><head><meta charset="utf-8">${head}</head><body>${body}</body></html>`;
const app = (body: string, noscript: string) =>
  page(
    "<title>App</title>",
    `<noscript>${noscript}</noscript><div id="root">${body}</div><script src="/static/main.js"></script>`,
  );

function paragraphs(sentence: string, charsMin: number): string {
  const count = Math.ceil(charsMin / sentence.length);
  return Array.from({ length: Math.ceil(count / 4) }, () => `<p>${`${sentence} `.repeat(4)}</p>`).join("");
}

function pagesIn(lang: string, words: Language): LabelledPage[] {
  const { sentence, short, human, denied, login, script, loading } = words;
  const of = (name: string, html: string, isPage: boolean, status = 200) => ({
    name: `${lang} ${name}`,
    html,
    isPage,
    status,
  });
  const long = paragraphs(sentence, 1_500);
  const around = `<header><nav><a href="/">1</a><a href="/2">2</a></nav></header>`;
  return [
    of(
      "article",
      page(`<title>${short}</title>`, `${around}<article><h1>${short}</h1>${long}</article><footer>©</footer>`, lang),
      true,
    ),
    of("short page", page("<title>1</title>", `<h1>1</h1><p>${short}</p>`, lang), true),
    of(
      "short page with a script for counting",
      page("<title>1</title>", `<p>${short}</p><script async src="/count.js"></script>`, lang),
      true,
    ),
    of(
      "check of the browser",
      page("<title>example.com</title>", `<h1>example.com</h1><p>${human}</p><script src="/x.js"></script>`, lang),
      false,
    ),
    of("check of the browser, status 403", page("<title>example.com</title>", `<p>${human}</p>`, lang), false, 403),
    of(
      "denial with status 200",
      page("<title>403</title>", `<h1>${denied}</h1><hr><p>Reference #18.2f</p>`, lang),
      false,
    ),
    of(
      "login wall",
      page("<title>1</title>", `<h2>${short}</h2><p>${login}</p><form><input name="u"><input name="p"></form>`, lang),
      false,
    ),
    of(
      "article about walls",
      page("<title>1</title>", `<article>${long}<p>${human} ${denied} ${login}</p>${long}</article>`, lang),
      true,
    ),
    of("empty app", app("", script), false),
    of("loading app", app(`<div>${loading}</div>`, script), false),
    of("app that its server has filled", app(`<main>${long}</main>`, script), true),
    of(
      "list of links",
      page(
        "<title>1</title>",
        `<ul>${Array.from({ length: 30 }, (_, n) => `<li><a href="/${n}">${short} ${n}</a></li>`).join("")}</ul>`,
        lang,
      ),
      true,
    ),
  ];
}

export const LABELLED: readonly LabelledPage[] = [
  ...Object.entries(labelled.languages).flatMap(([lang, words]) => pagesIn(lang, words)),
  ...labelled.services,
];
