// Replaces the model of core/consult where there is none, as in the sandbox: code with the model's input and output schema.
import type { Json } from "../../catalog/said.ts";
import { type FormKind, formsIn } from "../../catalog/text-patterns.ts";
import type { Said } from "./conversation.ts";

export interface ToldAction {
  readonly id: string;
  readonly about: string;
  /** The search's estimate of how well it fits the conversation, from 0 to 1. */
  readonly fit: number;
  /** One line per param: its name, a star where it is required, its type, and its description. */
  readonly params: string;
}

export interface Told {
  /** Oldest first. */
  readonly said: readonly Said[];
  /** Best first. */
  readonly actions: readonly ToldAction[];
}

/** The model's answer: `params` is a JSON object as text; `action` is "none" with a question. */
export interface ConsultAnswer {
  readonly question: string;
  readonly action: string;
  readonly params: string;
}

/** Below this an action fits too badly for a call. */
const FIT_MIN = 0.5;
/** Where the best action lacks a param, others may be called whose fit is at least this share of its fit. */
const NEARLY = 0.8;
/** An action that takes nothing from the text is called only with at least this fit; below it the two may merely sound alike. */
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

/** Values recognizable in text by their form, by the name or type of the param that takes them. */
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

/** Names of params that take a text to search for or to work on. */
const TEXT =
  /^(query|q|search|term|keywords?|prompt|input|objective|intent|text|question|instructions?|instruction|topic|content|message)$/;

function formIn(words: string, { name, kind, about }: Param): string | undefined {
  const asks = /^(to|id|number)$/.test(name) ? [name, kind, about] : [name, kind];
  const found = FORMS.find((one) => asks.some((text) => one.asks.test(text)));
  return found === undefined ? undefined : formsIn(words).forms.find((one) => found.kinds.includes(one.kind))?.text;
}

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

function filled(action: ToldAction, words: string) {
  const params = paramsOf(action);
  const required = params.filter(({ isRequired }) => isRequired);
  const given: Record<string, Json> = {};
  for (const param of required) {
    const value = valueIn(param, words);
    if (value !== undefined) given[param.name] = value;
  }
  if (required.length > 0) return { given, missing: required.filter(({ name }) => given[name] === undefined) };
  // Nothing is required: pass the page's address, else the text; where no param takes text, pass any values recognizable by form.
  const page = params.find(({ name }) => /^urls?$/.test(name));
  const address = formsIn(words).forms.find(({ kind }) => kind === "url" || kind === "linkedin")?.text;
  const text = params.find(({ name, kind }) => kind === "string" && TEXT.test(name));
  if (page !== undefined && address !== undefined) given[page.name] = page.kind === "array" ? [address] : address;
  else if (text !== undefined) given[text.name] = words;
  else {
    for (const param of params) {
      const form = formIn(words, param);
      // Each value goes to the first param that takes it.
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

/** What the text alone supports, best first: calls, then a question for missing params, or one that says that no action fits well. */
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
