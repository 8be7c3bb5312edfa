// The services behind core/produce_demo and core/produce_autodemo: writer, speaker, and a browser where there is no own one.
import { defineDemoMaker } from "#tier";

export default defineDemoMaker({
  writer: "core/mid",
  speaker: { model: "openai/gpt-4o-mini-tts", voice: "alloy" },
  browser: {
    begin: { action: "browserbase/create_session", params: { estimatedMinutes: 2 }, connectAt: "/connectUrl" },
    end: { action: "browserbase/release_session", param: "session_id", idAt: "/sessionId" },
  },
});
