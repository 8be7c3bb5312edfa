// Tells by its media type whether an answer is text: read as such from a vendor, and told as such to a caller.

/** Types that are text by their name, and those that are JSON or XML by their suffix (RFC 6839). Case does not count. */
const TEXT = /^(text\/|application\/(json|xml|javascript|(x-)?ndjson)|[^;]*\+(json|xml))/i;

export function isTextType(contentType: string): boolean {
  return TEXT.test(contentType.trim());
}
