// Detects the end of a JSON value that arrives in fragments, in one pass.

export class WholeJson {
  #depth = 0;
  #begun = false;
  #inText = false;
  #escaped = false;

  /** True once the outermost object or list has ended. */
  get isWhole(): boolean {
    return this.#begun && this.#depth === 0;
  }

  add(fragment: string): void {
    for (const char of fragment) {
      if (this.#escaped) this.#escaped = false;
      else if (this.#inText) {
        if (char === "\\") this.#escaped = true;
        else if (char === '"') this.#inText = false;
      } else this.#outside(char);
    }
  }

  #outside(char: string): void {
    if (char === '"') this.#inText = true;
    else if (char === "{" || char === "[") {
      this.#depth++;
      this.#begun = true;
    } else if (char === "}" || char === "]") this.#depth--;
  }
}
