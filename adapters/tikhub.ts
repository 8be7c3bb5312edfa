// TikHub: public data of social networks through some nine hundred endpoints, in the table beside this file.
import { action, bearer, defineAdapter, endpointParams, type z } from "#adapter";

const params = endpointParams("Path of the endpoint, such as tiktok/web/fetch_user_profile");
const networks =
  "tiktok; instagram; youtube; twitter; reddit; linkedin; threads; douyin; xiaohongshu; weibo; bilibili; kuaishou; zhihu; lemon8; wechat";

function answer(router: string, data: z.core.util.JSONType): z.core.util.JSONType {
  const request_id = "0d9b1c2e-7f3a-4c55-9a41-5e6f7a8b9c0d";
  return {
    code: 200,
    request_id,
    message: "Request successful. This request will incur a charge.",
    router,
    params: {},
    data,
  };
}

export default defineAdapter({
  name: "TikHub",
  docs: "https://docs.tikhub.io",
  origin: "https://api.tikhub.io",
  auth: bearer,
  rate: { requests: 10, perMs: 1_000 },
  // A success status can carry an error code.
  rules: [
    { at: "/code", is: [400, 404, 422], means: "caller_invalid" },
    { at: "/code", is: [401, 403], means: "provider_auth_failed" },
    { at: "/code", is: 402, means: "provider_billing" },
    { at: "/code", is: 429, means: "provider_rate_limited" },
    { at: "/code", not: 200, means: "provider_server_error" },
  ],
  actions: {
    fetch: action({
      asked:
        "tiktok, instagram, youtube, twitter, x, reddit, linkedin, threads, douyin, xiaohongshu, weibo, bilibili; views, likes, comments, followers of a post; what do people say under a video; a user's posts; trending hashtags; profile of an influencer, creator, streamer; social media; subreddit; reels, shorts, stories; viral; channel; tweets of somebody; download a clip",
      description:
        "Reads public data of a social network: profiles, posts, videos, comments, searches, rankings. Takes the endpoints that go by GET.",
      category: "social",
      keywords: `social media; profile; posts; comments; followers; hashtag; ${networks}; what people say; opinions about a brand; mentions; influencer; creator`,
      effect: "read",
      params,
      price: { mode: "ranged", cents: 8, minCents: 1 },
      upstreamCents: 0.1,
      table: { param: "endpoint", method: "GET" },
      request: { method: "GET", path: "" },
      content: ["/data"],
      example: {
        params: { endpoint: "/api/v1/tiktok/web/fetch_user_profile", uniqueId: "tiktok" },
        answer: answer("/api/v1/tiktok/web/fetch_user_profile", {
          userInfo: { user: { uniqueId: "tiktok", nickname: "TikTok" } },
        }),
      },
    }),
    submit: action({
      asked: "batch of videos; several posts at once; search of tiktok with filters",
      description:
        "Sends data to a social network's endpoint that goes by POST: batches of videos, searches with many filters, actions with a cookie of yours.",
      category: "social",
      keywords: `social media; batch; download videos; comment; like; follow; ${networks}`,
      effect: "write",
      params,
      price: { mode: "ranged", cents: 38, minCents: 1 },
      upstreamCents: 0.1,
      mayCostMore:
        "fetch_multi_video_high_quality_play_url is on offer at half of its usual 50 cents, for as long as the vendor likes",
      table: { param: "endpoint", method: "POST" },
      request: { method: "POST", path: "" },
      example: {
        params: { endpoint: "/api/v1/tiktok/app/v3/fetch_multi_video", aweme_ids: ["7350810998023949599"] },
        answer: answer("/api/v1/tiktok/app/v3/fetch_multi_video", {
          aweme_details: [{ aweme_id: "7350810998023949599" }],
        }),
      },
    }),
  },
});
