// Requests with a key and a JSON body, as programs send them.

type Headers = Readonly<Record<string, string>>;

/** Without a body, only the head is sent. */
export function sendAs(
  key: string,
  method: string,
  url: string,
  body?: unknown,
  headers: Headers = {},
): Promise<Response> {
  return fetch(url, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

export function postAs(key: string, url: string, body: unknown, headers: Headers = {}): Promise<Response> {
  return sendAs(key, "POST", url, body, headers);
}

export function getAs(key: string, url: string): Promise<Response> {
  return fetch(url, { headers: { authorization: `Bearer ${key}` } });
}
