// Tells when JSON that comes in fragments is all there, looking at each character once.

export class WholeJson {
  #depth = 0;
  #begun = false;
  #inText = false;
  #escaped = false;

  /** An object or a list has begun and ended, and nothing has come that could not stand there. */
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
