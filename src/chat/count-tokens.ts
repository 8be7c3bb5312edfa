// Says how many tokens a prompt in the messages wire has, for free: by a sample of it, and rather too many than too few.
import { modelsRefusal } from "../accounts/allowed.ts";
import { seenBy } from "../catalog/audience.ts";
import type { SoldModel } from "../catalog/catalog.ts";
import type { Answer, Call } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { wireHeaders } from "../wires/messages/headers.ts";
import { checkMessages } from "./messages-body.ts";
import { MESSAGES_FIELDS } from "./messages-fields.ts";
import type { ChatDeps } from "./model-plan.ts";
import { type PromptShape, partTokensMax, shapeOf } from "./prompt-bounds.ts";
import { readText } from "./prompt-text.ts";
import { resolveModels } from "./resolve-models.ts";

/** So much of a prompt is really counted, in slices from all over it: some 20 ms of a thread that nothing else waits for. */
const SAMPLE_CHARS = 20_000;
const SLICES = 20;
/** More at once are not counted but taken by their length: clients ask for a count of each part of a prompt at the same time. */
const COUNTS_AT_ONCE = 8;
const CHARS_PER_TOKEN_MIN = 3;

/** An account's counted prompts in a minute. Reading them is all that a free count costs us. */
const BYTES_PER_MINUTE = 64 * 1024 * 1024;
const MINUTE_MS = 60_000;

/** Never too few: an agent that thinks it has room sends a prompt that is refused. Other tokenizers make more tokens than ours. */
const MARGIN: Readonly<Record<SoldModel["tokenizer"], number>> = { o200k: 1.05, unknown: 1.3 };
const TOKENS_PER_MESSAGE = 8;
const TOKENS_OF_TOOLS = 350;
/** Of a part that the model does not take, and whose size nobody can say. */
const TOKENS_PER_PART = 1_600;

/** How much each account has had counted in the minute that runs. */
class CountedBytes {
  #minute = -1;
  readonly #byAccount = new Map<string, number>();

  /** Null: it may go on; else the milliseconds until it may. */
  take(accountId: string, bytes: number, nowMs: number): number | null {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute !== this.#minute) this.#byAccount.clear();
    this.#minute = minute;
    const counted = (this.#byAccount.get(accountId) ?? 0) + bytes;
    if (counted > BYTES_PER_MINUTE) return (minute + 1) * MINUTE_MS - nowMs;
    this.#byAccount.set(accountId, counted);
    return null;
  }
}

function sampleOf(text: string): string {
  if (text.length <= SAMPLE_CHARS) return text;
  const size = SAMPLE_CHARS / SLICES;
  const step = (text.length - size) / (SLICES - 1);
  return Array.from({ length: SLICES }, (_, at) => text.slice(at * step, at * step + size)).join("");
}

function besideText(shape: PromptShape, { parts, contextTokens }: SoldModel): number {
  const media = Object.values(shape.parts).reduce((sum, count) => sum + count, 0);
  const ofMedia = partTokensMax({ ...shape, parts: { ...shape.parts, anything: 0 } }, parts, contextTokens);
  const around = TOKENS_PER_MESSAGE * shape.messages + (shape.hasSchemas ? TOKENS_OF_TOOLS : 0);
  return around + Math.min(contextTokens, ofMedia ?? media * TOKENS_PER_PART);
}

/** What is asked for: an endpoint's answer. The models behind a tier are counted for the first of them. */
export function countTokens(deps: ChatDeps): (call: Call) => Promise<Answer | GatewayError> {
  const counted = new CountedBytes();
  let counting = 0;

  async function tokensOf(text: string, { tokenizer }: SoldModel): Promise<number> {
    const sample = sampleOf(text);
    if (sample === "") return 0;
    if (counting >= COUNTS_AT_ONCE) return Math.ceil(Buffer.byteLength(text) / CHARS_PER_TOKEN_MIN);
    counting++;
    try {
      const tokens = await deps.counter.count(sample);
      return Math.ceil(tokens * (text.length / sample.length) * MARGIN[tokenizer]);
    } finally {
      counting--;
    }
  }

  return async ({ request, caller }) => {
    const headers = wireHeaders(request);
    if (headers instanceof GatewayError) return headers;
    const waitMs = counted.take(caller?.payer.accountId ?? "", request.body.length, deps.clock.elapsedMs());
    if (waitMs !== null) {
      const detail = { limit: `${BYTES_PER_MINUTE} bytes of prompts to count`, window_seconds: MINUTE_MS / 1_000 };
      return new GatewayError("rate_limited", { detail, retryAfterSeconds: waitMs / 1_000 });
    }
    const checked = checkMessages(request.body);
    if (checked instanceof GatewayError) return checked;
    const { body, sifted } = checked;
    const { sandbox } = seenBy(caller);
    const wanted = [{ name: body.model, param: "model" }];
    const resolved = resolveModels(wanted, deps.catalog(), { sandbox, ...deps.settings });
    if (resolved instanceof GatewayError) return resolved;
    const refused = caller === null ? null : modelsRefusal(caller.allows, resolved.asked);
    const [first] = resolved.models;
    if (refused !== null || first === undefined) return refused ?? new GatewayError("upstream_not_configured");
    const text = await tokensOf(readText(sifted.body, MESSAGES_FIELDS), first.model);
    const input_tokens = text + besideText(shapeOf(sifted), first.model);
    return { status: 200, body: { input_tokens } };
  };
}
