// Sandbox stand-in for Zep: users and threads by caller-chosen ids, and facts stored verbatim.
import { byWords, defineStandIn, put, randomUUID, refuse, type StandInCall } from "#sandbox";

const taken = refuse(400, { message: "bad request: it exists already" });

/** A user or thread by the id that the caller chose. */
const chosen = (call: StandInCall, kind: "user" | "thread") => call.use(kind, { id: call.text(`${kind}_id`) });

export default defineStandIn({
  actions: {
    "user-add"(call) {
      const user_id = call.text("user_id");
      if (call.find("user", user_id) !== undefined) return taken;
      call.keep("user", user_id);
      return put(call.answer, {
        "/user_id": user_id,
        "/first_name": call.sent("first_name"),
        "/last_name": call.sent("last_name"),
        "/email": call.sent("email"),
        "/created_at": call.now,
      });
    },
    "thread-create"(call) {
      chosen(call, "user");
      const [user_id, thread_id] = [call.text("user_id"), call.text("thread_id")];
      if (call.find("thread", thread_id) !== undefined) return taken;
      call.keep("thread", thread_id, { user_id }, { owner: ["user", user_id] });
      return put(call.answer, { "/user_id": user_id, "/thread_id": thread_id, "/created_at": call.now });
    },
    add(call) {
      chosen(call, "thread");
      for (const { content } of call.each("messages")) {
        const uuid = randomUUID();
        const fact = { name: "SAID", fact: content, score: 0.9, created_at: call.now, uuid };
        call.keep("fact", uuid, fact, { owner: ["thread", call.text("thread_id")] });
      }
      return call.answer;
    },
    "get-context"(call) {
      const { user_id } = chosen(call, "thread");
      const facts = call.list("fact", ["user", String(user_id)]).toReversed();
      return put(call.answer, { "/context": `<FACTS>\n${facts.map(({ fact }) => String(fact)).join("\n")}\n</FACTS>` });
    },
    search(call) {
      chosen(call, "user");
      const newest = call.list("fact", ["user", call.text("user_id")]).toReversed();
      const found = byWords(newest, call.text("query")).slice(0, call.number("limit"));
      return { [call.text("scope") || "edges"]: found };
    },
  },
});
