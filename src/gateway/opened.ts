// What a start has opened so far. A failed start and a shutdown both close it in reverse order.
export class Opened {
  readonly #closes: (() => unknown)[] = [];

  add(close: () => unknown): void {
    this.#closes.push(close);
  }

  /** Closes everything, even where closing one part fails; then rejects with the first failure. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.#closes.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
