// What a command finds out from the running gateway, or, where none runs, from this shell's own environment; and which of them it was.
import { NoGateway } from "./admin-client.ts";

export interface Asked<T> {
  readonly from: "gateway" | "environment";
  readonly answer: T;
  /** Text for people, with a word before it where no gateway was asked. */
  told(text: string): string;
}

/** Asks the gateway; only where there is none, `otherwise`. What a gateway refuses is not made up. */
export async function askedOr<T>(ask: () => Promise<T>, otherwise: () => Promise<T>): Promise<Asked<T>> {
  try {
    return { from: "gateway", answer: await ask(), told: (text) => text };
  } catch (error) {
    if (!(error instanceof NoGateway)) throw error;
    const [why] = error.message.split(/[;(]/);
    const word = `${why?.trim()}: this is read from the variables of this shell.`;
    return { from: "environment", answer: await otherwise(), told: (text) => `${word}\n\n${text}` };
  }
}
