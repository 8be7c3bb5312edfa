// Calls the running gateway, or computes the answer locally where none runs.
import { type AdminClient, NoGateway } from "./admin-client.ts";

export interface Asked<T> {
  readonly from: "gateway" | "environment";
  readonly answer: T;
  /** Text for people; notes where no gateway was called. */
  told(text: string): string;
}

/** Calls the gateway, and `otherwise` only where none runs. A refusal by the gateway is final. */
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

export async function providersOn(admin: AdminClient): Promise<readonly string[]> {
  const { providers } = await admin.call<{ providers: { id: string; on: boolean }[] }>("GET", "/admin/v1/providers");
  return providers.flatMap(({ id, on }) => (on ? [id] : []));
}
