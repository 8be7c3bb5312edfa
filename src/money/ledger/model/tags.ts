// A posting's tags as every store keeps them: `name=value` pairs with distinct names.

export function tagsText(tags: readonly string[]): string | null {
  return tags.length === 0 ? null : JSON.stringify(tags);
}

/** Postings of releases without tags have none. */
export function tagsIn(text: string | null | undefined): readonly string[] {
  return text == null ? [] : (JSON.parse(text) as string[]);
}
