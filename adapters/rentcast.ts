// RentCast: U.S. property records, listings for sale and rent, estimates of value and rent, and markets by ZIP code. The wire format
// follows its specification, except for ranges and errors, which are from memory, as is our cost.
import { action, defineAdapter, keyHeader, like, needsOne, optional, withRules, z } from "#adapter";

/** From memory: the price of a request beyond the quota in the most expensive plan. */
const REQUEST_CENTS = 20;

const words = z.string().min(1).max(200);
/** From memory: `min:max`, with `*` for an open end; several are joined by `|`. */
const range = (of: string) =>
  optional(
    like(/^[\d.*]+(:[\d.*]+)?(\|[\d.*]+(:[\d.*]+)?)*$/, "must be as 3, 2:4, *:500000 or 2|4"),
    `${of}: a number, or a range as 2:4, with * for an open end`,
  );

const zipCode = like(/^\d{5}$/, "must have five digits");
const spot = {
  address: optional(words, "Whole address as Street, City, State, Zip"),
  latitude: optional(z.number().min(-90).max(90), "With longitude, instead of an address"),
  longitude: optional(z.number().min(-180).max(180), "With latitude, instead of an address"),
};
const kinds = ["Single Family", "Condo", "Townhouse", "Manufactured", "Multi-Family", "Apartment"] as const;
const place = {
  ...spot,
  city: optional(words, "City; upper and lower case count"),
  state: optional(like(/^[A-Z]{2}$/, "must be two letters such as TX"), "State, two letters"),
  zipCode: optional(zipCode, "ZIP code, five digits"),
  radius: optional(z.number().positive().max(100), "Miles around the address or the point"),
  propertyType: optional(z.enum([...kinds, "Land"]), "Kind of property"),
  bedrooms: range("Bedrooms"),
  bathrooms: range("Bathrooms"),
  squareFootage: range("Square feet of the building"),
  lotSize: range("Square feet of the lot"),
  yearBuilt: range("Year of building"),
  limit: z.int().min(1).max(100).default(50).describe("The most rows"),
  offset: optional(z.int().min(0), "How many rows to skip"),
};
const listed = {
  ...place,
  status: z.enum(["Active", "Inactive"]).default("Active").describe("Listed now, or no longer"),
  price: range("Price in dollars"),
  daysOld: range("Days since it was listed"),
};

const isAt = needsOne("address", ["latitude", "longitude"]);
const isSomewhere = needsOne("address", "city", "state", "zipCode", ["latitude", "longitude"]);

const estimate = (types: readonly [string, ...string[]]) =>
  withRules([isAt], {
    ...spot,
    propertyType: optional(z.enum(types), "Kind of property, if the record is to be overruled"),
    bedrooms: optional(z.number().min(0), "Bedrooms, if the record is to be overruled"),
    bathrooms: optional(z.number().min(0), "Bathrooms, if the record is to be overruled"),
    squareFootage: optional(z.number().positive(), "Square feet, if the record is to be overruled"),
    maxRadius: optional(z.number().positive().max(100), "Miles within which to compare"),
    daysOld: optional(z.int().min(1), "Compare with listings of so many days at most"),
    compCount: z.int().min(5).max(25).default(15).describe("How many listings to compare with"),
    lookupSubjectAttributes: optional(z.boolean(), "False: do not look the property's own record up"),
  });

const common = { category: "real-estate", effect: "read", upstreamCents: REQUEST_CENTS } as const;
const flat = (cents: number) => ({ mode: "fixed", cents, freeOnMiss: true }) as const;
const get = (path: string) => ({ method: "GET", path }) as const;
const id = "5500-Grand-Lake-Dr,-San-Antonio,-TX-78244";
const address = "5500 Grand Lake Dr, San Antonio, TX 78244";
const home = {
  id,
  formattedAddress: address,
  city: "San Antonio",
  state: "TX",
  zipCode: "78244",
  latitude: 29.475962,
  longitude: -98.351442,
  propertyType: "Single Family",
  bedrooms: 3,
  bathrooms: 2,
  squareFootage: 1878,
  lotSize: 8850,
  yearBuilt: 1973,
};
const listing = { ...home, status: "Active", price: 289_000, listedDate: "2026-06-24T00:00:00.000Z", daysOnMarket: 99 };
const comparable = { ...listing, distance: 0.384, daysOld: 1, correlation: 0.9916 };
const averages = {
  averagePrice: 356_598,
  medianPrice: 295_000,
  totalListings: 248,
  dataByPropertyType: [],
  history: {},
};

export default defineAdapter({
  name: "RentCast",
  docs: "https://developers.rentcast.io",
  beliefs: { "*": "how ranges are written, its errors, and what it costs us" },
  origin: "https://api.rentcast.io/v1",
  auth: keyHeader("x-api-key"),
  rate: { requests: 20, perMs: 1_000 },
  rules: [
    // From memory: the answers for nothing found and for an unpaid plan.
    { status: 404, at: "/status", is: 404, means: "miss" },
    {
      status: [401, 403],
      at: "/error",
      matches: /^billing\//,
      sample: "billing/subscription-inactive",
      means: "provider_billing",
    },
  ],
  actions: {
    properties: action(common, {
      asked:
        "who owns this house; when was it built; property taxes; owner of a building; square feet and bedrooms; mortgage on a home; last sale; landlord; history of a house",
      description: "Records of U.S. properties by address or area: building, lot, owner, taxes and sales.",
      keywords: "property record; who owns this house; homes in an area; tax assessment; owner",
      params: withRules([isSomewhere], { ...place, saleDateRange: range("Days since it was last sold") }),
      price: flat(30),
      request: get("/properties"),
      example: { params: { address }, answer: [{ ...home, lastSaleDate: "2024-11-18T00:00:00.000Z", owner: {} }] },
    }),
    "sale-listings": action(common, {
      asked:
        "homes for sale; houses on the market; buy a house; condo, townhouse; open house; 3 bedrooms under 500k; listed by agents; property to buy",
      description: "U.S. homes that are or were listed for sale by address or area, with price, agent and history.",
      keywords: "houses for sale; homes for sale; MLS listings; listing price; buy a house; house hunting",
      params: withRules([isSomewhere], listed),
      price: flat(30),
      request: get("/listings/sale"),
      example: { params: { city: "San Antonio", state: "TX", price: "*:300000" }, answer: [listing] },
    }),
    "rental-listings": action(common, {
      asked:
        "apartments for rent; a place to live; rooms; find a home to rent; 2 bedroom under 2000 a month; studio; lease; moving to",
      description: "U.S. homes that are or were listed for rent by address or area, with rent, agent and history.",
      keywords: "apartments for rent; houses for rent; rental listings; flat to rent; apartment hunting",
      params: withRules([isSomewhere], listed),
      price: flat(30),
      request: get("/listings/rental/long-term"),
      example: { params: { zipCode: "78244", bedrooms: "2:4" }, answer: [{ ...listing, price: 1_620 }] },
    }),
    "market-stats": action(common, {
      asked:
        "housing market of a zip code; average rent in a neighbourhood; are prices rising; median home price; is it a good place to buy",
      description:
        "Prices, rents and listings of a U.S. ZIP code: averages by kind and by bedrooms, and month by month.",
      keywords: "housing market; average rent; median home price; real estate market; price trend",
      params: z.strictObject({
        zipCode: zipCode.describe("ZIP code, five digits"),
        dataType: z.enum(["All", "Sale", "Rental"]).default("All").describe("What to return"),
        historyRange: z.int().min(1).max(120).default(12).describe("Months of history"),
      }),
      price: flat(30),
      request: get("/markets"),
      content: ["/saleData", "/rentalData"],
      example: {
        params: { zipCode: "29611" },
        answer: { id: "29611", zipCode: "29611", saleData: averages, rentalData: { averageRent: 1_620 } },
      },
    }),
    "value-estimate": action(common, {
      asked:
        "what is my house worth; value of a home; estimate of a property's price; zestimate; sell my house for; appraisal; too expensive; fair price of a flat, an apartment, a condo",
      description: "What a U.S. home is worth: an estimate with its range and the listings it was compared with.",
      keywords: "home value; house price estimate; AVM; what is my house worth; comparable sales",
      params: estimate([...kinds, "Land"]),
      price: flat(35),
      request: get("/avm/value"),
      content: ["/price"],
      example: {
        params: { address },
        answer: {
          price: 250_000,
          priceRangeLow: 195_000,
          priceRangeHigh: 304_000,
          subjectProperty: home,
          comparables: [comparable],
        },
      },
    }),
    "rent-estimate": action(common, {
      asked:
        "how much rent can I ask; what would my flat rent for; rental income; fair rent; landlord; is my rent too high",
      description: "What a U.S. home would rent for: an estimate with its range and the listings it was compared with.",
      keywords: "rental value; how much rent; rent price; rent comparison",
      params: estimate(kinds),
      price: flat(35),
      request: get("/avm/rent/long-term"),
      content: ["/rent"],
      example: {
        params: { address, bedrooms: 3 },
        answer: {
          rent: 1_620,
          rentRangeLow: 1_550,
          rentRangeHigh: 1_690,
          subjectProperty: home,
          comparables: [{ ...comparable, price: 1_627 }],
        },
      },
    }),
  },
});
