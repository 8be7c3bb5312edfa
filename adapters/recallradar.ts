// RecallRadar: normalized recalls and safety notices. A pay-per-call merchant; its listed price is our cap.
import { defineAdapter, recordsMerchant } from "#adapter";

export default defineAdapter(
  recordsMerchant({
    name: "RecallRadar",
    docs: "https://recallradar.dev",
    origin: "https://api.recallradar.dev/v1",
    path: "/recalls",
    record: { id: "rec-24118", product: "Space heater", hazard: "Fire", published: "2026-10-02" },
    asked:
      "is a product recalled; food recall; is it safe to eat; salmonella, listeria; airbags; toy, baby seat, car seat hazard; contaminated; safety notice; dangerous product; warning; withdrawn from shops; choking, fire risk",
    search: {
      description:
        "Searches recalls and safety notices of products (food, drugs, vehicles, goods) in a normalized database.",
      keywords:
        "product recall; recalled; safety notice; CPSC; FDA recall; defect; unsafe product; dangerous toy; taken off the market",
      filters: { product: "space heater" },
    },
    get: {
      description: "One recall or safety notice by its id: product, hazard, remedy. An unknown id is free.",
      keywords: "recall notice; safety notice; hazard",
    },
  }),
);
