// Errors in the chat completions format.
import type { ErrorCodec } from "../../../core/endpoint.ts";
import { errorObject } from "../error-object.ts";
import { WIRE } from "./request.ts";

export const chatErrors: ErrorCodec = { wire: WIRE, body: (error) => ({ error: errorObject(error) }) };
