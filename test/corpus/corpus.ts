// The corpus: 400 pages of twenty kinds, identical in every run.
import type { CorpusPage } from "./draft.ts";
import { captcha, empty, limited, login, missing, skeleton } from "./kinds-closed.ts";
import { language } from "./kinds-languages.ts";
import { changelog, docs, figures, product, reference } from "./kinds-technical.ts";
import { article, jobAd, landing, legal, paywalled, recipe } from "./kinds-texts.ts";
import { forum, questions } from "./kinds-threads.ts";

const KINDS = [
  article,
  product,
  docs,
  reference,
  changelog,
  forum,
  questions,
  paywalled,
  figures,
  recipe,
  jobAd,
  landing,
  skeleton,
  login,
  captcha,
  limited,
  missing,
  empty,
  legal,
  language,
] as const;
const PAGES_OF_KIND = 20;

/** `salt` generates other pages of the same kinds, to test what was tuned to one set on another. */
export function corpus(salt = 0): readonly CorpusPage[] {
  return KINDS.flatMap((kind, number) =>
    Array.from({ length: PAGES_OF_KIND }, (_, at) => kind(salt * 1_000_003 + number * 1_009 + at * 7 + 1, at)),
  );
}
