// AviationStack: flights with their status, delays, gates and times. Our cost is its public pay-per-call price; a plan may differ.
// From memory: the names of most params.
import { action, defineAdapter, keyInQuery, like, needsOne, optional, withRules, z } from "#adapter";

const code = (letters: RegExp, as: string) => like(letters, `must be as ${as}`);
const airport = code(/^[A-Z]{3}$/, "LHR");

export default defineAdapter({
  name: "AviationStack",
  docs: "https://docs.apilayer.com/aviationstack",
  beliefs: { "*": "the names of most params, how it says that a plan is used up, and what a call costs us by plan" },
  origin: "https://api.aviationstack.com/v1",
  auth: keyInQuery("access_key"),
  rules: [
    // From memory: the codes for an exhausted plan and for a plan that lacks the feature.
    { status: [403, 429], at: "/error/code", is: "usage_limit_reached", means: "provider_billing" },
    { status: 403, at: "/error/code", is: "function_access_restricted", means: "provider_billing" },
  ],
  actions: {
    flights: action({
      asked:
        "is my flight on time; flight delayed or cancelled; when does the plane land; which gate; arrivals and departures of an airport; track a flight; has it taken off; terminal; landing time; airline schedule; pick up somebody from the airport; connection; boarding; a flight by its number; where is flight BA117 now",
      description:
        "Status of flights: delays, gates, terminals, scheduled and actual times, by number, airline or airport.",
      category: "market",
      keywords:
        "flight status; flight number; is my flight delayed; departures; arrivals; airport; gate; plane; departure board; is a plane on time; airline; landing",
      effect: "read",
      params: withRules(
        [needsOne("flight_iata", "flight_icao", "flight_number", "airline_iata", "dep_iata", "arr_iata")],
        {
          flight_iata: optional(
            code(/^[A-Z0-9]{2}\d{1,4}[A-Z]?$/, "BA117"),
            "Flight number with the airline's two letters",
          ),
          flight_icao: optional(
            code(/^[A-Z]{3}\d{1,4}[A-Z]?$/, "BAW117"),
            "Flight number with the airline's three letters",
          ),
          flight_number: optional(code(/^\d{1,4}$/, "117"), "Flight number alone"),
          airline_iata: optional(code(/^[A-Z0-9]{2}$/, "BA"), "Airline, two letters"),
          dep_iata: optional(airport, "Airport of departure, three letters"),
          arr_iata: optional(airport, "Airport of arrival, three letters"),
          date: optional(z.iso.date(), "Day of the flight, YYYY-MM-DD"),
          flight_status: optional(
            z.enum(["scheduled", "active", "landed", "cancelled", "incident", "diverted"]),
            "Only flights of this status",
          ),
          limit: z.int().min(1).max(100).default(10).describe("The most flights"),
          offset: optional(z.int().min(0), "How many flights to skip"),
        },
      ),
      price: { mode: "fixed", cents: 0.5 },
      upstreamCents: 0.5,
      mayCostMore: "it is its public price for paying call by call; a plan may differ",
      request: { method: "GET", path: "/flights", names: { date: "flight_date" } },
      content: ["/data"],
      example: {
        params: { flight_iata: "SQ705" },
        answer: {
          pagination: { limit: 10, offset: 0, count: 1, total: 1 },
          data: [
            {
              flight_date: "2026-09-08",
              flight_status: "active",
              departure: { iata: "BKK", delay: null, scheduled: "2026-09-08T01:00:00+00:00" },
              arrival: { iata: "SIN", terminal: "3", gate: "A5", delay: 12, scheduled: "2026-09-08T04:30:00+00:00" },
              airline: { name: "Singapore Airlines", iata: "SQ" },
              flight: { number: "705", iata: "SQ705" },
            },
          ],
        },
      },
    }),
  },
});
