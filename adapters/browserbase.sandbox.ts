// Sandbox stand-in for Browserbase: sessions run until they are released.
import { defineStandIn, put, type StandInCall, textAt, type UseOptions, withNewIds } from "#sandbox";

/** The session in the request's path, even after its release. */
function aboutOne(call: StandInCall, how: UseOptions = {}) {
  const id = /^\/v1\/sessions\/([^/]+)$/.exec(call.path)?.[1] ?? "";
  call.use("session", { ...how, id });
  return put(call.answer, {
    "/id": id,
    ...(call.find("session", id) === undefined ? { "/status": "COMPLETED" } : null),
  });
}

export default defineStandIn({
  actions: {
    create_session(call) {
      const answer = withNewIds(call.answer, "/id");
      call.keep("session", textAt(answer, "/id"));
      return answer;
    },
    extend_session: (call) => aboutOne(call),
    session_status: (call) => aboutOne(call, { evenEnded: true }),
    release_session(call) {
      const answer = aboutOne(call, { evenEnded: true });
      // The session is read before it is released.
      if (call.at === 1) call.end("session");
      return answer;
    },
  },
});
