// What a round of a model with tools adds, one call at a time, over its model call and its action.
import { atMost, type Bench, expectWhole, type Row, withSubjects } from "../bench.ts";
import { Samples } from "../measure.ts";
import type { Client } from "../processes.ts";
import type { Subject, SubjectName } from "../subjects.ts";
import { postText, searchText } from "../workload.ts";

const NAME = "acting";
const MANY = 10;
const WARM_CONNECTIONS = 16;
const WARM_MS = 6_000;
/** A model that is also called with tools in the chat wire. */
const MODEL = "openai/gpt-5.1";

function chatText(subject: Subject, content: string, more: object = {}): string {
  const asked = { model: MODEL, max_tokens: 256, messages: [{ role: "user", content }] };
  return postText(subject, subject.path, Object.assign(asked, more));
}

/** A call whose model calls the bench's action this often in its first round, and answers in its second. */
export function actingText(subject: Subject, calls: number): string {
  const tools = [{ type: "action", action: "bench/search" }];
  return chatText(subject, `Which lighthouse? (bench-calls:${calls})`, { tools });
}

export function acting(bench: Bench): Promise<Row[]> {
  return withSubjects(bench, ["direct", "tollgate"], (subjects, client) => measure(bench, subjects, client));
}

async function measure(bench: Bench, subjects: ReadonlyMap<SubjectName, Subject>, client: Client): Promise<Row[]> {
  const [direct, ours] = [subjects.get("direct"), subjects.get("tollgate")];
  if (direct === undefined || ours === undefined) return [];
  const asked: Readonly<Record<string, readonly [Subject, string]>> = {
    "the model itself": [direct, chatText(direct, "Which lighthouse?")],
    "the action itself": [direct, searchText(direct)],
    "a call without action tools": [ours, chatText(ours, "Which lighthouse?")],
    "two rounds and an action": [ours, actingText(ours, 1)],
    [`two rounds and ${MANY} actions`]: [ours, actingText(ours, MANY)],
  };
  const p50s = new Samples();
  for (let round = 0; round <= bench.rounds; round++) {
    for (const [what, [subject, request]] of Object.entries(asked)) {
      // One call at a time does not warm code up: the first round would measure the compiler.
      const warm = { connections: round === 0 ? WARM_CONNECTIONS : 1, ms: round === 0 ? WARM_MS : 2_000 };
      const result = await client.run({
        kind: "closed",
        port: subject.port,
        request,
        ...warm,
        ...(bench.quick ? { ms: 500 } : {}),
      });
      expectWhole(subject, result);
      const p50 = result.wholeCall?.p50 ?? Number.NaN;
      bench.say(`  ${NAME}, round ${round}: ${what} p50 ${p50.toFixed(3)} ms`);
      if (round > 0) p50s.add(what, p50);
    }
  }
  const [model = Number.NaN, action = Number.NaN, plain = Number.NaN, one = Number.NaN, many = Number.NaN] =
    Object.keys(asked).map((what) => p50s.median(what));
  return [
    atMost(NAME, "p50 that a round and its action add over both's own time", one - plain - model - action, 1, " ms"),
    atMost(NAME, `p50 that ${MANY} actions side by side add over one`, many - one, 5, " ms"),
  ];
}
