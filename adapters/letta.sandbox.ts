// Sandbox stand-in for Letta: an agent remembers its initial memory and all messages, and repeats them.
import { defineStandIn, put, randomUUID, textAt } from "#sandbox";

export default defineStandIn({
  actions: {
    "agent-create"(call) {
      const answer = put(call.answer, { "/name": call.sent("name"), "/created_at": call.now });
      const id = textAt(answer, "/id");
      call.keep("agent", id);
      for (const { value } of call.each("memory_blocks")) {
        call.keep("said", randomUUID(), { text: value }, { owner: ["agent", id] });
      }
      return answer;
    },
    message(call) {
      call.use("agent");
      const id = call.text("agent_id");
      const known = call.list("said", ["agent", id]).map(({ text }) => String(text));
      call.keep("said", randomUUID(), { text: call.sent("input") }, { owner: ["agent", id] });
      return put(call.answer, { "/messages/0/content": `What I know so far: ${known.join(" | ")}` });
    },
  },
});
