// Node's own HTTP. Required, since an import takes every export at once: of this module that reads a second HTTP client, a tenth of a start.
import { createRequire } from "node:module";

const http = createRequire(import.meta.url)("node:http") as typeof import("node:http");

export const { Agent, createServer, request, ServerResponse, STATUS_CODES } = http;
export type ServerResponse = InstanceType<typeof ServerResponse>;
