// Decides by media type whether an answer is text, both for reading it and for returning it to the caller.

/** Text types, and JSON and XML types by their suffix (RFC 6839). Case-insensitive. */
const TEXT = /^(text\/|application\/(json|xml|javascript|(x-)?ndjson)|[^;]*\+(json|xml))/i;

export function isTextType(contentType: string): boolean {
  return TEXT.test(contentType.trim());
}
