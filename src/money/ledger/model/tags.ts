// The tags of a posting, as every store keeps them: pairs as `name=value`, which no two of one name have.

/** Null where there are none. */
export function tagsText(tags: readonly string[]): string | null {
  return tags.length === 0 ? null : JSON.stringify(tags);
}

/** Postings of releases that knew no tags have none. */
export function tagsIn(text: string | null | undefined): readonly string[] {
  return text == null ? [] : (JSON.parse(text) as string[]);
}
