// Reads one request, and decides how the sandbox answers it before anything is sent.

import { parsedJson } from "../core/json.ts";
import type { Vendors } from "./action-vendors.ts";
import { type Answer, answerTo } from "./answer.ts";
import { type Ask, conversationOf, directivesOf } from "./ask.ts";
import type { Dialect, DialectReading, Target } from "./dialect.ts";
import { audioTranscription, audioTranslation, audioVoice } from "./dialects/audio.ts";
import { embeddings } from "./dialects/embeddings.ts";
import { falImages, geminiImages, openaiImageEdits, openaiImages } from "./dialects/images.ts";
import { moderation } from "./dialects/moderation.ts";
import { cohereRerank, dataRerank } from "./dialects/rerank.ts";
import { fillInTheMiddle, textCompletions } from "./dialects/text-completions.ts";
import { type Conduct, conductOf, HEALTHY, VENDOR_MODEL } from "./faults.ts";
import { readForm } from "./form.ts";
import type { Refusal } from "./refusals.ts";
import type { ScriptedFaults } from "./scripted-faults.ts";

export type Act =
  | { readonly kind: "refuse"; readonly refusal: Refusal }
  | { readonly kind: "reset" }
  | { readonly kind: "silent" }
  | { readonly kind: "answer"; readonly reading: DialectReading; readonly answer: Answer };

export interface Scenario {
  readonly dialect: Dialect;
  readonly adapter: string;
  readonly ask: Ask | null;
  readonly conduct: Conduct;
  readonly act: Act;
}

export interface Arrival {
  readonly method: string;
  readonly target: Target;
  /** Null if it was too large. */
  readonly body: Buffer | null;
  /** The messages received so far on the web socket that this request opened. */
  readonly said?: readonly Uint8Array[];
}

/** The dialects of models sold by units. */
const UNITS: readonly Dialect[] = [
  geminiImages,
  embeddings,
  cohereRerank,
  dataRerank,
  moderation,
  openaiImages,
  openaiImageEdits,
  falImages,
  audioTranscription,
  audioTranslation,
  audioVoice,
  textCompletions,
  fillInTheMiddle,
];

/** The sandbox's own adapters name their models after faults, so an unknown name there is a mistake, not a vendor's model. */
const OWN_ADAPTER = /^sandbox(-|$)/;

/** Chooses by the end of the path; for unknown paths, by the vendor's own headers, so that the error has the vendor's form. */
function dialectOf({ url, headers }: Target, chats: readonly Dialect[]): { dialect: Dialect; known: boolean } {
  const dialects = [...UNITS, ...chats];
  const dialect = dialects.find((one) => one.path.test(url.pathname));
  if (dialect) return { dialect, known: true };
  const marked = dialects.find((one) => one.marks.some((mark) => headers[mark] !== undefined));
  return { dialect: marked ?? embeddings, known: false };
}

export function jsonOf(body: Buffer): unknown {
  return parsedJson(body.toString("utf8"));
}

async function readingOf(dialect: Dialect, { method, target, body }: Arrival): Promise<DialectReading | Refusal> {
  if (method !== "POST") return { kind: "no_path" };
  if (body === null) return { kind: "too_large" };
  if (!dialect.hasCredential(target)) return { kind: "bad_key" };
  const type = String(target.headers["content-type"] ?? "");
  const json = type.startsWith("multipart/form-data") ? await readForm(body, type) : jsonOf(body);
  if (json === undefined) return { kind: "invalid", message: "The request body is not valid JSON." };
  return dialect.read(json, target);
}

/** For vendors that always report usage in streams, in the last chunk. */
const TELLING_MODEL: Conduct = { ...VENDOR_MODEL, usage: "finish" };

function conductFor(ask: Ask, adapter: string, vendors: Vendors): Conduct | null {
  const isTelling = vendors.get(adapter)?.spec.chat?.streamUsage === "always";
  const vendor = isTelling ? TELLING_MODEL : VENDOR_MODEL;
  const named = conductOf(ask.model) ?? (OWN_ADAPTER.test(adapter) ? null : vendor);
  const pace = directivesOf(ask.turns).tokensPerSecond;
  return named && pace !== null ? { ...named, tokensPerSecond: pace } : named;
}

function actOf(reading: DialectReading, conduct: Conduct, scriptedFaults: ScriptedFaults): Act {
  const { ask } = reading;
  const answer = (): Act => ({ kind: "answer", reading, answer: answerTo(ask, conduct) });
  const spared = conduct.onlyPrefill && ask.turns.at(-1)?.role !== "assistant";
  const faulty = conduct.refuse !== null || conduct.connection !== "answer";
  if (spared || !faulty || !scriptedFaults.applies(conversationOf(ask), conduct.when)) return answer();
  if (conduct.refuse) return { kind: "refuse", refusal: conduct.refuse };
  return conduct.connection === "answer" ? answer() : { kind: conduct.connection };
}

/** Decides the scenario. If its fault applies only for a while, counts the attempt in `scriptedFaults`. */
export async function scenarioOf(
  arrival: Arrival,
  {
    dialects,
    scriptedFaults,
    vendors,
  }: { readonly dialects: readonly Dialect[]; readonly scriptedFaults: ScriptedFaults; readonly vendors: Vendors },
): Promise<Scenario> {
  const { dialect, known } = dialectOf(arrival.target, dialects);
  const adapter = arrival.target.url.pathname.split("/")[1] ?? "";
  const refused = (refusal: Refusal, ask: Ask | null): Scenario => {
    return { dialect, adapter, ask, conduct: HEALTHY, act: { kind: "refuse", refusal } };
  };
  if (!known) return refused({ kind: "no_path" }, null);
  const reading = await readingOf(dialect, arrival);
  if ("kind" in reading) return refused(reading, null);
  const { ask } = reading;
  const conduct = conductFor(ask, adapter, vendors);
  if (conduct === null) return refused({ kind: "no_model", message: `The model ${ask.model} does not exist.` }, ask);
  return { dialect, adapter, ask, conduct, act: actOf(reading, conduct, scriptedFaults) };
}
