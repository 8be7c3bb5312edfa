// Sandbox stand-in for Tavily: news results have a date.
import { defineStandIn } from "#sandbox";

const news = {
  images: [],
  results: [
    {
      title: "Harbours",
      url: "https://harbours.example/guide",
      content: "Oulu has frozen.",
      score: 0.83,
      raw_content: null,
      published_date: "Fri, 20 Nov 2026 10:00:00 GMT",
    },
  ],
  response_time: 1.21,
  request_id: "123e4567-e89b-12d3-a456-426614174112",
  query: "harbours",
};

export default defineStandIn({ actions: { search: (call) => (call.text("topic") === "news" ? news : call.answer) } });
