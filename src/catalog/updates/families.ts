// Model families: names that differ only in their numbers, whose models a vendor most likely serves with the same wire format.

/** Versions and sizes: `3.3` and `70` in `3.3-70b`. */
const NUMBER = /\d+(?:[.-]\d+(?![\da-zA-Z]))*/g;
/** A name with a date is a snapshot of a model with an undated name. */
const SNAPSHOT = /\d{4}-?\d{2}-?\d{2}|-\d{4}(?!\d)|@/;

export function familyOf(name: string): string {
  return name.replace(NUMBER, "#");
}

/** The versions and sizes in order: `3.3-70b` is 3.3, then 70. */
function numbersOf(name: string): readonly (readonly number[])[] {
  return (name.match(NUMBER) ?? []).map((group) => group.split(/[.-]/).map(Number));
}

function difference(ours: readonly number[], theirs: readonly number[]): number {
  for (let at = 0; at < Math.max(ours.length, theirs.length); at++) {
    const by = (ours[at] ?? 0) - (theirs[at] ?? 0);
    if (by !== 0) return by;
  }
  return 0;
}

/** Whether a name is a later version than another of its family, by the first number that differs. */
export function isLater(name: string, than: string): boolean {
  const theirs = numbersOf(than);
  const differences = numbersOf(name).map((ours, at) => difference(ours, theirs[at] ?? []));
  return (differences.find((by) => by !== 0) ?? 0) > 0;
}

/** The newest known model of a new one's family; null if it has no known family, is a snapshot, or is older than a known one. */
export function newestLike(name: string, known: readonly string[]): string | null {
  if (SNAPSHOT.test(name) || name.length > 200) return null;
  const family = familyOf(name);
  if (family === name) return null;
  const same = known.filter((one) => !SNAPSHOT.test(one) && familyOf(one) === family);
  const newest = same.reduce<string | null>((last, one) => (last === null || isLater(one, last) ? one : last), null);
  return newest !== null && isLater(name, newest) ? newest : null;
}

/** A new model's slug like a similar one's: `5-6` in its name becomes `5.6` if `5-5` was `5.5`. Null if it cannot be derived. */
export function slugLike(name: string, like: string, slug: string): string | null {
  const [ours, theirs, sold] = [name, like, slug].map((one) => one.match(NUMBER) ?? []);
  if (ours === undefined || theirs === undefined || sold === undefined || ours.length !== theirs.length) return null;
  if (theirs.join(" ").replaceAll("-", ".") !== sold.join(" ").replaceAll("-", ".")) return null;
  let at = 0;
  return slug.replace(NUMBER, (was) => {
    const next = ours[at++] ?? was;
    return was.includes("-") ? next.replaceAll(".", "-") : next.replaceAll("-", ".");
  });
}
