// Who makes the parts of core/produce_demo and core/produce_autodemo: who writes, who speaks, and whose browser is shown where the operator has none.
import { defineDemoMaker } from "#tier";

export default defineDemoMaker({
  writer: "core/mid",
  speaker: { model: "openai/gpt-4o-mini-tts", voice: "alloy" },
  browser: {
    begin: { action: "browserbase/create_session", params: { estimatedMinutes: 2 }, connectAt: "/connectUrl" },
    end: { action: "browserbase/release_session", param: "session_id", idAt: "/sessionId" },
  },
});
