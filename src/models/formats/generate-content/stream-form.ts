// The two forms of a stream in the generate-content format: server-sent events, or one growing JSON list.

/** The text around the pieces of a stream. */
export interface StreamForm {
  readonly type: string;
  readonly first: string;
  readonly next: string;
  readonly after: string;
  readonly end: string;
}

const EVENTS: StreamForm = { type: "text/event-stream", first: "data: ", next: "data: ", after: "\r\n\r\n", end: "" };
const LIST: StreamForm = { type: "application/json", first: "[", next: ",\r\n", after: "", end: "]" };

/** Clients request events with `alt=sse`; the default is the list. */
export function streamForm(query: URLSearchParams): StreamForm {
  return query.get("alt") === "sse" ? EVENTS : LIST;
}

export function isEvents(form: StreamForm | null): boolean {
  return form === EVENTS;
}
