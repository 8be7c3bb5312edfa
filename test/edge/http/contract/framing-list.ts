// Requests of RFC 9112 and of known smuggling families, in test/fixtures/framing.json.
import { foldedJson } from "../../../support/folded-json.ts";

/**
 * The expected outcome, by engine. `ok`: a 2xx answer. `error`: a 4xx answer. `refused`: 4xx, 501 or 505, or the connection closes without
 * an answer, and nothing behind the request is served. `closed`: a 2xx answer is allowed, but nothing behind it is served.
 */
export type Outcome = "ok" | "error" | "refused" | "closed";

export interface FramingCase {
  readonly family: string;
  readonly name: string;
  readonly sent: string;
  readonly node: Outcome;
  readonly uws: Outcome;
}

export const FRAMING_LIST = foldedJson<readonly FramingCase[]>("framing.json");
