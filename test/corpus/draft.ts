// A corpus page under construction: records what an extraction must and must not contain as the text is generated.
import { type Chance, chanceFrom } from "../simulation/random.ts";

export type PageClass = "content" | "wall" | "shell";

export interface CorpusPage {
  readonly name: string;
  readonly kind: string;
  readonly url: string;
  readonly html: string;
  readonly status: number;
  readonly is: PageClass;
  /** Sentences of the main content. */
  readonly must: readonly string[];
  /** Sentences of the surroundings. */
  readonly mustNot: readonly string[];
  /** Pieces of Markdown that must match exactly: code, table rows, headings, image URLs. */
  readonly exact: readonly string[];
}

const SUBJECTS = [
  "The harbour office",
  "A small team of engineers",
  "The old mill",
  "Our second survey",
  "The council of Arnhem",
  "Every ferry of the line",
  "The keeper of the bridge",
  "A retired surveyor",
  "The northern depot",
  "Each of the four stations",
  "The glass workshop",
  "A visiting botanist",
  "The night shift",
  "The union of bakers",
  "The river authority",
  "A class of students",
] as const;
const VERBS = [
  "measured",
  "repaired",
  "described",
  "counted",
  "abandoned",
  "repainted",
  "photographed",
  "compared",
  "documented",
  "replaced",
  "inspected",
  "catalogued",
  "financed",
  "reopened",
] as const;
const OBJECTS = [
  "the tidal gauges",
  "forty wooden boats",
  "a set of copper valves",
  "the upper reservoir",
  "every lamp along the quay",
  "the records of the toll",
  "three kinds of moss",
  "the long stone stairs",
  "a disused signal box",
  "the drainage of the fields",
  "seven hundred roof tiles",
  "the clock of the station",
  "an early printing press",
] as const;
const TAILS = [
  "before the first frost",
  "without any help from the state",
  "after a delay of two years",
  "in the spring of 1987",
  "at a cost that surprised everyone",
  "while the trains kept running",
  "with tools made for the purpose",
  "and published the result",
  "on the advice of a neighbour",
  "for the third time in a decade",
  "although the budget was spent",
  "under a contract from 1952",
] as const;
const WORDS = [
  "harbour",
  "lantern",
  "orchard",
  "granite",
  "meadow",
  "copper",
  "willow",
  "beacon",
  "thistle",
  "quarry",
  "saffron",
  "marble",
] as const;
const NAMES = [
  "Ada Byrne",
  "Jonas Weidmann",
  "Priya Natarajan",
  "Tomás Oliveira",
  "Mei-Ling Zhou",
  "Kwame Mensah",
  "Ingrid Solberg",
  "Luca Ferrante",
  "Noor Haddad",
  "Pavel Dvořák",
] as const;
const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
] as const;

export const escaped = (text: string) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

export class Draft {
  readonly chance: Chance;
  readonly must: string[] = [];
  readonly mustNot: string[] = [];
  readonly exact: string[] = [];
  #said = 0;

  constructor(seed: number) {
    this.chance = chanceFrom(seed);
  }

  word(): string {
    return this.chance.of(WORDS);
  }
  name(): string {
    return this.chance.of(NAMES);
  }
  date(): string {
    const { chance } = this;
    return `${chance.whole(1, 28)} ${chance.of(MONTHS)} ${chance.whole(2015, 2026)}`;
  }

  /** A sentence that occurs only once on its page. */
  sentence(): string {
    const { chance } = this;
    this.#said += 1;
    return `${chance.of(SUBJECTS)} ${chance.of(VERBS)} ${chance.of(OBJECTS)} ${chance.of(TAILS)}, as note ${chance.whole(10, 99)}-${this.#said} says.`;
  }

  /** A sentence of the main content. */
  wanted(): string {
    const sentence = this.sentence();
    this.must.push(sentence);
    return sentence;
  }

  /** A sentence of the surroundings. */
  unwanted(): string {
    const sentence = this.sentence();
    this.mustNot.push(sentence);
    return sentence;
  }

  title(): string {
    const { chance } = this;
    return `${chance.of(OBJECTS)} of the ${this.word()} ${this.word()}`.replace(/^./, (first) => first.toUpperCase());
  }

  /** Occasionally contains a link, emphasis or inline code; its first and last sentence must be extracted. */
  paragraph(): string {
    const { chance } = this;
    const between = Array.from({ length: chance.whole(0, 3) }, () => this.#marked(this.sentence()));
    return [this.wanted(), ...between, this.#marked(this.wanted())].join(" ");
  }

  paragraphs(count: number, open = "<p>", close = "</p>"): string {
    return Array.from({ length: count }, () => `${open}${this.paragraph()}${close}`).join("\n");
  }

  #marked(sentence: string): string {
    const { chance } = this;
    if (chance.happens(0.6)) return sentence;
    const words = sentence.split(" ");
    const at = chance.whole(1, words.length - 2);
    const word = words[at] ?? "";
    words[at] = chance.of([
      `<a href="/${this.word()}/${at}">${word}</a>`,
      `<em>${word}</em>`,
      `<strong>${word}</strong>`,
      `<span class="x${at}">${word}</span>`,
    ]);
    return words.join(" ");
  }

  end(page: { kind: string; name: string; html: string; is?: PageClass; status?: number }): CorpusPage {
    const { kind, name, html, is = "content", status = 200 } = page;
    const { must, mustNot, exact } = this;
    return { kind, name, html, is, status, url: `https://${kind}.example/a/${name}`, must, mustNot, exact };
  }
}
