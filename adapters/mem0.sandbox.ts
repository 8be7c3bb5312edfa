// Sandbox stand-in for mem0: stores messages verbatim and finds them by their words.
import { byWords, defineStandIn, put, randomUUID, textAt, withNewIds } from "#sandbox";

const METADATA_CHARS_MAX = 4_000;

export default defineStandIn({
  actions: {
    add(call) {
      const answer = withNewIds(call.answer, "/event_id");
      call.keep("event", textAt(answer, "/event_id"));
      const user_id = call.text("user_id");
      const metadata = call.sent("metadata");
      // Each message keeps a copy of it.
      const kept = JSON.stringify(metadata ?? null).length > METADATA_CHARS_MAX ? {} : metadata;
      for (const { content } of call.each("messages")) {
        const id = randomUUID();
        const rest = { score: 0.83, metadata: kept, created_at: call.now, id };
        call.keep("memory", id, { memory: content, user_id, ...rest }, { owner: ["user", user_id] });
      }
      return answer;
    },
    search(call) {
      const newest = call.list("memory", ["user", call.text("user_id")]).toReversed();
      return put(call.answer, { "/results": byWords(newest, call.text("query")).slice(0, call.number("top_k")) });
    },
  },
});
