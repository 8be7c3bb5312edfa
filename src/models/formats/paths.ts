// The paths of model endpoints.

/** Also under `/v1`, for clients whose base URL ends there. */
export function at(path: string) {
  return { path: `/api/llm/v1${path}`, alias: `/v1${path}` };
}
