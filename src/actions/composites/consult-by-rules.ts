// Stands in for the model of core/consult where there is none, as in a sandbox: plain code that is told what the model is told and answers in its schema.
import type { Json } from "../../catalog/said.ts";
import { type FormKind, formsIn } from "../../catalog/text-patterns.ts";
import type { Said } from "./conversation.ts";

/** An action as the model is told of it. */
export interface ToldAction {
  readonly id: string;
  readonly about: string;
  /** How well it fits what was said, by the search, from 0 to 1. */
  readonly fit: number;
  /** A line for each param: its name, a star where it is required, its kind, and what it is. */
  readonly params: string;
}

export interface Told {
  /** The oldest first. */
  readonly said: readonly Said[];
  /** The best first. */
  readonly actions: readonly ToldAction[];
}

/** The model's answer: params as the text of a JSON object; action none with a question. */
export interface ConsultAnswer {
  readonly question: string;
  readonly action: string;
  readonly params: string;
}

/** Below it, what an action says of itself is too far from what was said for a call. */
const FIT_MIN = 0.5;
/** An action that fits nearly as well as the best may be called where the best lacks a param. */
const NEARLY = 0.8;
/** What nothing of the words goes into is called where it fits as well as this; else it only sounds alike. */
const SURE = 0.8;
const NAMED_MAX = 2;

interface Param {
  readonly name: string;
  readonly isRequired: boolean;
  readonly kind: string;
  readonly about: string;
}

const LINE = /^(\w+)(\*?) ([^:]+)(?:: (.*))?$/;

function paramsOf({ params }: ToldAction): readonly Param[] {
  return params.split("\n").flatMap((line): Param[] => {
    const [, name, star, kind, about = ""] = LINE.exec(line) ?? [];
    return name === undefined || kind === undefined ? [] : [{ name, isRequired: star === "*", kind, about }];
  });
}

/** What stands in words by its form alone, by the name or the kind of the param that asks for it. */
const FORMS: readonly { readonly asks: RegExp; readonly kinds: readonly FormKind[] }[] = [
  { asks: /linkedin|profile_url/i, kinds: ["linkedin"] },
  { asks: /^e?mails?$|_emails?$|^email_address$/i, kinds: ["email"] },
  { asks: /^ur[li]s?$|_url$|_urls$|^link$|^page$/i, kinds: ["url", "linkedin"] },
  { asks: /domain|website|host/i, kinds: ["domain"] },
  { asks: /phone|fax|\+1\d/i, kinds: ["phone"] },
  { asks: /\bdoi\b/i, kinds: ["doi"] },
  { asks: /flight/i, kinds: ["flight"] },
  { asks: /iban/i, kinds: ["iban"] },
  { asks: /wallet|^address(es)?$|_address$/i, kinds: ["house", "wallet"] },
];

/** Params that are a text to search for or to work on, by the names that actions have for it. */
const TEXT =
  /^(query|q|search|term|keywords?|prompt|input|objective|intent|text|question|instructions?|instruction|topic|content|message)$/;

function formIn(words: string, { name, kind, about }: Param): string | undefined {
  const asks = /^(to|id|number)$/.test(name) ? [name, kind, about] : [name, kind];
  const found = FORMS.find((one) => asks.some((text) => one.asks.test(text)));
  return found === undefined ? undefined : formsIn(words).forms.find((one) => found.kinds.includes(one.kind))?.text;
}

/** What the words give of one param; undefined: nothing. */
function valueIn(param: Param, words: string): Json | undefined {
  const { name, kind } = param;
  if (kind.includes("|")) {
    const spoken = words.toLowerCase();
    return kind.split("|").find((one) => one.length > 1 && spoken.includes(one.toLowerCase().replaceAll("_", " ")));
  }
  const form = formIn(words, param);
  if (form !== undefined) return kind === "array" ? [form] : form;
  if (kind === "string" && TEXT.test(name)) return words;
  return undefined;
}

/** The params that the words give, and the names of the required ones that they do not give. */
function filled(action: ToldAction, words: string) {
  const params = paramsOf(action);
  const required = params.filter(({ isRequired }) => isRequired);
  const given: Record<string, Json> = {};
  for (const param of required) {
    const value = valueIn(param, words);
    if (value !== undefined) given[param.name] = value;
  }
  if (required.length > 0) return { given, missing: required.filter(({ name }) => given[name] === undefined) };
  // None is required: the page whose address stands there, or the words; without a param for them whatever stands there by its form.
  const page = params.find(({ name }) => /^urls?$/.test(name));
  const address = formsIn(words).forms.find(({ kind }) => kind === "url" || kind === "linkedin")?.text;
  const text = params.find(({ name, kind }) => kind === "string" && TEXT.test(name));
  if (page !== undefined && address !== undefined) given[page.name] = page.kind === "array" ? [address] : address;
  else if (text !== undefined) given[text.name] = words;
  else {
    for (const param of params) {
      const form = formIn(words, param);
      // What stands there once is meant once: the first param that asks for it has it.
      const isTaken = Object.values(given)
        .flat()
        .includes(form ?? "");
      if (form !== undefined && !isTaken) given[param.name] = param.kind === "array" ? [form] : form;
    }
  }
  return { given, missing: [] };
}

const asking = (question: string): ConsultAnswer => ({ question, action: "none", params: "" });

function askedFor(action: ToldAction, missing: readonly Param[]): ConsultAnswer {
  const named = missing
    .slice(0, NAMED_MAX)
    .map(({ name, about }) => (about === "" ? name : `${name} (${about.slice(0, 60)})`));
  if (named.length === 0) return asking(`Do you mean ${action.id}: ${action.about}`);
  return asking(`For ${action.id}: what is ${named.join(" and ")}?`);
}

/**
 * The answers that the words alone give, the best first: calls, and last a question. Where no action fits well the question says so; where
 * the best lacks what it must have it asks for that.
 */
export function answersByRules({ said, actions }: Told): readonly ConsultAnswer[] {
  const spoken = said.flatMap(({ by, text }) => (by === "caller" ? [text] : []));
  const hasAsked = said.some(({ by }) => by === "us");
  const fitting = actions.filter(({ fit }) => fit >= FIT_MIN);
  const [best] = fitting;
  if (best === undefined) {
    const named = actions.slice(0, NAMED_MAX).map(({ id }) => id);
    const meant = named.length === 0 ? "" : ` Do you mean ${named.join(" or ")}?`;
    return [asking(`No action here is known to do that.${meant} Else: what should be read, found, made or sent?`)];
  }
  const considered = fitting.filter(({ fit }) => hasAsked || fit >= best.fit * NEARLY);
  const words = spoken.join(" ").slice(0, 500);
  const calls = considered.flatMap((action) =>
    [...new Set([words, spoken.at(-1) ?? words])].flatMap((text): ConsultAnswer[] => {
      const { given, missing } = filled(action, text);
      const isSure = Object.keys(given).length > 0 || action.fit >= SURE;
      return missing.length > 0 || !isSure ? [] : [{ question: "", action: action.id, params: JSON.stringify(given) }];
    }),
  );
  return [...calls, askedFor(best, filled(best, words).missing)];
}
