// Where the endpoints of models are.

/** Also below `/v1`, so that a client whose base URL ends as everybody else's does works unchanged. */
export function at(path: string) {
  return { path: `/api/llm/v1${path}`, alias: `/v1${path}` };
}
