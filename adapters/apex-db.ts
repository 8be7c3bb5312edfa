// Apex DB: normalized specifications of car models. A pay-per-call merchant; its listed price is our cap.
import { defineAdapter, recordsMerchant } from "#adapter";

export default defineAdapter(
  recordsMerchant({
    name: "Apex DB",
    docs: "https://apex-db.org",
    origin: "https://api.apex-db.org/v1",
    path: "/apex",
    record: { id: "apx-1042", make: "Mazda", model: "MX-5", year: 2024, variant: "2.0 Sport" },
    asked:
      "car specs; horsepower, torque and mileage of a car; compare two vehicles; which suv has most space; electric cars with long range; engines of a model; fuel consumption; how fast is a car; 0 to 60; sedan, pickup, truck, motor; towing capacity; boot size",
    search: {
      description: "Searches car models and their variants by the filters of a normalized vehicle database.",
      keywords:
        "vehicle; car specifications; make and model; automobile; engine; car specs; model year; fuel consumption",
      filters: { make: "Mazda", model: "MX-5" },
    },
    get: {
      description: "The specifications of one variant of a car model, by its id. An unknown id is free.",
      keywords: "vehicle; car specifications; trim; horsepower",
    },
  }),
);
