// Where the endpoints of models are, and what those that cost have in common.

const BODY_BYTES_MAX = 32 * 1024 * 1024;

export const PAID = { method: "POST", auth: "key", bodyBytesMax: BODY_BYTES_MAX } as const;

/** Also below `/v1`, so that a client whose base URL ends as everybody else's does works unchanged. */
export function at(path: string) {
  return { path: `/api/llm/v1${path}`, alias: `/v1${path}` };
}
