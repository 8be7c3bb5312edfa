// Node's HTTP module, by require: an import evaluates every export, and one loads a second HTTP client, a tenth of a start.
import { createRequire } from "node:module";

const http = createRequire(import.meta.url)("node:http") as typeof import("node:http");

export const { Agent, createServer, request, ServerResponse, STATUS_CODES } = http;
export type ServerResponse = InstanceType<typeof ServerResponse>;
