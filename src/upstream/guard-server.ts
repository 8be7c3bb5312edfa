// A guard judge that runs on an operator's server: the requests it gets and the answers it may give, within size and time limits.
import { z } from "zod";
import { wholeOf, wholeWithin } from "../core/chunk-list.ts";
import { GatewayError } from "../core/errors.ts";
import { readJson } from "../core/json-bytes.ts";
import { jsonText, parseRaw } from "../core/raw-json.ts";
import type { Judge } from "./guard.ts";
import type { PublicFetch } from "./public-fetch.ts";
import { ANSWER_BYTES_MAX } from "./unary-body.ts";

const ERROR_BYTES_MAX = 64 * 1024;

export interface GuardServerOptions {
  readonly url: string;
  readonly msMax: number;
  readonly internet: PublicFetch;
}

const answerSchema = z.discriminatedUnion("action", [
  z.object({ action: z.literal("pass") }),
  z.object({ action: z.literal("refuse"), reason: z.string().default("") }),
  z.object({ action: z.literal("edit"), body: z.record(z.string(), z.unknown()) }),
]);

export function guardServer({ url, msMax, internet }: GuardServerOptions): Judge {
  return async ({ stage, requestId, path, accountId, keyId, body }) => {
    const sent = jsonText({ stage, request_id: requestId, path, account_id: accountId, key_id: keyId, body });
    const headers = { "content-type": "application/json", accept: "application/json" };
    const send = { headers, body: sent };
    const answer = await internet.open(url, { bytesMax: ANSWER_BYTES_MAX, msMax, redirectsMax: 0, send });
    if (answer instanceof GatewayError) throw answer;
    if (answer.status !== 200) {
      await wholeWithin(answer.body, ERROR_BYTES_MAX);
      throw new Error(`the guard answered ${answer.status}`);
    }
    const read = readJson(await wholeOf(answer.body), parseRaw);
    if ("wrong" in read) throw new Error(`the guard's answer is ${read.wrong}`);
    return answerSchema.parse(read.json);
  };
}
