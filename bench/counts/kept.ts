// The counts that were kept, in counts.json, and what is more than they were: a call that has become dearer by a twentieth is found.
import { readFileSync, writeFileSync } from "node:fs";
import {
  type Asked,
  type CountedGateway,
  eachChunk,
  type Figures,
  least,
  MEASURES,
  type Measure,
} from "./counted-gateway.ts";

const FILE = new URL("../counts.json", import.meta.url);
export const KEEP = "npm run bench -- counts --keep";

/** What the figures are of. */
export const UNITS = ["chat call", "action", "streamed call", "chunk"] as const;
export type Unit = (typeof UNITS)[number];
export type Counts = Readonly<Record<Unit, Figures>>;

export interface Kept {
  /** The day. */
  readonly taken: string;
  /** Node's version: another one has functions of its own, and other objects. */
  readonly node: string;
  readonly counts: Counts;
}

/** What a measure is, and how much of it is no change. */
interface About {
  readonly what: string;
  /** A share of what was kept. */
  readonly share: number;
  /** So many are no change either. */
  readonly floor: number;
}

// What is counted one by one and is the same in every round: half of one more is one more in some calls.
const WHOLE = { share: 0, floor: 0.5 };
// On a machine with other work two pieces that came apart may be read as one.
const MOSTLY_WHOLE = { share: 0, floor: 0.9 };
const SHARE = { share: 0.05, floor: 0 };
export const ABOUT: Readonly<Record<Measure, About>> = {
  bytes: { what: "bytes allocated on the event loop's heap", ...SHARE },
  functions: { what: "calls of functions, ours and packages'", ...SHARE },
  nodeFunctions: { what: "calls of Node's own functions", ...SHARE },
  promises: { what: "promises", ...WHOLE },
  timers: { what: "timers and immediates", ...WHOLE },
  messages: { what: "messages to other threads", ...WHOLE },
  reads: { what: "reads of sockets and files", ...MOSTLY_WHOLE },
  writes: { what: "writes to sockets and files", ...MOSTLY_WHOLE },
  syncs: { what: "syncs of the disk", ...WHOLE },
};

/** So much of a read or a write is what now and then comes by the clock. */
const READ_NOISE = 0.1;

export interface Change {
  readonly unit: Unit;
  readonly measure: Measure;
  readonly kept: number;
  readonly found: number;
}

export function readKept(): Kept {
  return JSON.parse(readFileSync(FILE, "utf8")) as Kept;
}

export function keep(counts: Counts): void {
  const rounded = (name: string, value: unknown) => {
    if (typeof value !== "number") return value;
    // What a quiet machine reads in each call: where some came as one, less was found.
    return name === "reads" || name === "writes" ? Math.ceil(value - READ_NOISE) : Number(value.toFixed(2));
  };
  const kept: Kept = { taken: new Date().toISOString().slice(0, 10), node: process.version, counts };
  writeFileSync(FILE, `${JSON.stringify(kept, rounded, 2)}\n`);
}

/** How far a measure may be from `kept`. */
function allowed(measure: Measure, kept: number): number {
  const { share, floor } = ABOUT[measure];
  return Math.max(share * kept, floor);
}

function changes(kept: Counts, found: Counts, isChange: (by: number, most: number) => boolean): readonly Change[] {
  return UNITS.flatMap((unit) =>
    MEASURES.map((measure) => ({ unit, measure, kept: kept[unit][measure], found: found[unit][measure] })),
  ).filter((one) => isChange(one.found - one.kept, allowed(one.measure, one.kept)));
}

export function dearer(kept: Counts, found: Counts): readonly Change[] {
  return changes(kept, found, (by, most) => by > most);
}

export function cheaper(kept: Counts, found: Counts): readonly Change[] {
  return changes(kept, found, (by, most) => by < -most);
}

export function told({ unit, measure, kept, found }: Change): string {
  const times = kept > 0 ? ` (${(found / kept).toFixed(3)}x)` : "";
  return `a ${unit}: ${found.toFixed(2)} ${ABOUT[measure].what}, ${kept.toFixed(2)} were kept${times}`;
}

const ROUNDS_AT_ONCE = 4;

/** Takes rounds of everything until `isEnough`, or `times` times: more rounds only ever lower a figure to what it is. */
export async function takeCounts(
  gateway: CountedGateway,
  times: number,
  isEnough: (counts: Counts) => boolean = () => false,
): Promise<Counts> {
  const taken = new Map<Asked, Figures>();
  const of = async (asked: Asked) => {
    const before = taken.get(asked);
    const found = await gateway.count(asked, ROUNDS_AT_ONCE);
    const figures = before === undefined ? found : least([before, found]);
    taken.set(asked, figures);
    return figures;
  };
  for (let time = 1; ; time++) {
    const [chat, action] = [await of("chat call"), await of("action")];
    const [short, long] = [await of("short stream"), await of("long stream")];
    const counts = { "chat call": chat, action, "streamed call": short, chunk: eachChunk(short, long) };
    if (time >= times || isEnough(counts)) return counts;
  }
}
