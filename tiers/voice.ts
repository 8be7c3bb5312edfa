// Realtime models: they hear and speak over a WebSocket.
import { defineTier } from "#tier";

export default defineTier({
  purpose: "Spoken conversation over a WebSocket, at /api/llm/v1/realtime.",
  realtime: true,
  firstTokenMsMax: 8_000,
  candidates: [{ model: "openai/gpt-realtime-2.1" }, { model: "openai/gpt-realtime-2" }],
});
