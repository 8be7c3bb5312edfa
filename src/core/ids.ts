// The ids of one call: request, transaction, job and answer share their characters after the prefix, so that one leads to the others.

function renamed(id: string, from: string, to: string): string {
  return id.startsWith(from) ? to + id.slice(from.length) : id;
}

/** The id of what a request leads to, such as its answer. */
export function idAfter(requestId: string, prefix: string): string {
  return renamed(requestId, "req_", prefix);
}

export function transactionIdOf(requestId: string): string {
  return idAfter(requestId, "tx_");
}

export function requestIdOf(transactionId: string): string {
  return renamed(transactionId, "tx_", "req_");
}

export function jobIdOf(transactionId: string): string {
  return renamed(transactionId, "tx_", "job_");
}
