// A part that others ask for at calls, and that is made when they have been.

export interface Later<Part> {
  /** Throws before the part is there. */
  get(): Part;
  /** Answers the part. */
  set(part: Part): Part;
}

export function later<Part extends object>(name: string): Later<Part> {
  let made: Part | null = null;
  return {
    get() {
      if (made === null) throw new Error(`${name} was asked for before it was made`);
      return made;
    },
    set(part) {
      made = part;
      return part;
    },
  };
}
