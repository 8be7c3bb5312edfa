// RealEstateAPI: U.S. properties by location and features, their owners, values and comparable sales. The wire format follows its
// specification.
import { action, defineAdapter, keyHeader, like, needsOne, optional, withRules, z } from "#adapter";

/** From memory: its plans are by contract, and no published plan charges more per record. */
const RECORD_CENTS = 2;
const BASE_CENTS = 5;
const EACH_CENTS = 15;

const words = z.string().min(1).max(200);
/** One optional param for each name in the list. */
const each = <S extends z.ZodType>(names: string, schema: S, about: string) =>
  Object.fromEntries(names.split(" ").map((name) => [name, optional(schema, about)]));
/** A minimum and a maximum param for each name in the list, such as `beds_min` and `beds_max`. */
const bounds = <S extends z.ZodType>(names: string, schema: S) =>
  Object.fromEntries(
    names.split(" ").flatMap((name) => [
      [`${name}_min`, optional(schema, `Least ${name.replaceAll("_", " ")}`)],
      [`${name}_max`, optional(schema, `Most ${name.replaceAll("_", " ")}`)],
    ]),
  );

const id = optional(like(/^\d{1,18}$/, "must be digits"), "The vendor's id of the property");
const address = optional(words, "Whole address: street, city, state and ZIP code");
const parts = {
  ...each("house unit street city county", words, "A part of the address"),
  state: optional(like(/^[A-Z]{2}$/, "must be two letters such as VA"), "State, two letters"),
  zip: optional(like(/^\d{5}$/, "must have five digits"), "ZIP code, five digits"),
};
const parcel = { apn: optional(words, "Parcel number; needs fips or county"), fips: optional(words, "FIPS code") };
const corner = z.strictObject({ lat: z.number(), lon: z.number() });
const area = {
  latitude: optional(z.number().min(-90).max(90), "Middle of a circle; needs longitude and radius"),
  longitude: optional(z.number().min(-180).max(180), "Middle of a circle; needs latitude and radius"),
  radius: optional(z.number().min(0.1).max(10), "Miles around the middle"),
  polygon: optional(z.array(corner).min(4).max(500), "Corners of an area; the last is the first again"),
};

const circle = ["latitude", "longitude", "radius"] as const;
/** Identifiers of a property; each is sufficient alone. */
const property = [
  "address",
  "id",
  ["house", "street", "city", "state"],
  ["house", "street", "zip"],
  ["apn", "fips"],
  ["apn", "county"],
] as const;

const search = withRules([needsOne("state", "zip", "address", circle, "polygon")], {
  address,
  ...each("house street city county", words, "A part of the address"),
  state: parts.state,
  zip: optional(z.union([parts.zip.unwrap(), z.array(parts.zip.unwrap()).min(1).max(50)]), "ZIP codes, one or a list"),
  ...area,
  count: z.boolean().default(false).describe("Say only how many there are, for 2 cents"),
  summary: z.boolean().default(false).describe("Say how many there are of each kind of lead, for 2 cents"),
  ids_only: z.boolean().default(false).describe("Return only ids, up to 10,000, for 2 cents"),
  size: z.int().min(1).max(25).default(5).describe("The most records; each one found costs 15 cents"),
  resultIndex: optional(z.int().min(0), "How many records to skip"),
  property_type: optional(z.enum(["SFR", "MFR", "LAND", "CONDO", "MOBILE", "OTHER"]), "Kind of property"),
  notice_type: optional(z.enum(["FOR", "NOD", "NOL", "NTS", "REO"]), "Kind of foreclosure notice"),
  ...each(
    "absentee_owner adjustable_rate assumable attic auction basement breezeway carport cash_buyer corporate_owned death deck feature_balcony fire_sprinklers flood_zone foreclosure free_clear garage high_equity hoa individual_owned inherited in_state_owner investor_buyer judgment last_sale_arms_length mfh_2to4 mfh_5plus mls_active mls_pending mls_cancelled mls_sold out_of_state_owner patio pool pre_foreclosure prior_owner_individual private_lender quit_claim reo rv_parking tax_lien trust_owned vacant",
    z.boolean(),
    "Only properties of which this is so, or is not",
  ),
  ...bounds(
    "assessed_improvement_value assessed_land_value assessed_value baths beds building_size deck_area estimated_equity last_sale_price lot_size ltv median_income mls_days_on_market mls_listing_price mortgage rooms pool_area portfolio_equity portfolio_mortgage_balance portfolio_purchased_last12 portfolio_purchased_last6 portfolio_value prior_owner_months_owned properties_owned stories tax_delinquent_year units value year year_built years_owned",
    z.int(),
  ),
  ...bounds("auction_date foreclosure_date last_sale_date last_update_date pre_foreclosure_date", z.iso.date()),
});

const comps = withRules([needsOne("address", "id")], {
  id,
  address,
  exact_match: optional(z.boolean(), "Take no address that is only like this one"),
  max_results: z.int().min(1).max(25).default(10).describe("The most comparable sales, at 15 cents each"),
  max_radius_miles: optional(z.number().min(0.1).max(10), "How far away they may be"),
  max_days_back: optional(z.int().min(1).max(3_650), "How long ago they may have been sold"),
  ...each(
    "arms_length same_baths same_beds same_census_tract same_county same_neighborhood same_zip",
    z.boolean(),
    "Only sales of which this is so",
  ),
  ...bounds(
    "last_sale_price mls_listing_price bathrooms bedrooms living_square_feet lot_square_feet year_built",
    z.int(),
  ),
  ...each(
    "bathrooms_boost bedrooms_boost living_square_feet_boost lot_square_feet_boost year_built_boost",
    z.int().min(1).max(50),
    "How much likeness in this counts",
  ),
});

const person = withRules(
  [
    needsOne(
      ["address", "zip"],
      ["address", "city", "state"],
      "email",
      "phone",
      ["mail_address", "mail_zip"],
      ["mail_address", "mail_city", "mail_state"],
      ["first_name", "last_name"],
    ),
  ],
  {
    ...each("first_name middle_name last_name", words, "Name of the person"),
    ...each("mail_address mail_unit mail_city mail_state mail_zip", words, "Where the person gets mail"),
    ...each("address unit city state zip", words, "Address of a property of the person's"),
    email: optional(z.email(), "Mail address of the person"),
    phone: optional(like(/^\d{10}$/, "must have ten digits"), "Phone number of the person, ten digits"),
    match_requirements: optional(
      z.strictObject({ phones: z.boolean().optional(), emails: z.boolean().optional() }),
      "What a match has to have",
    ),
  },
);

const addresses = z
  .array(
    withRules([needsOne("address", ["street", "zip"], ["street", "city", "state"])], {
      key: optional(z.union([z.string().max(100), z.int()]), "Comes back with its answer"),
      address,
      ...each("street city", words, "A part of the address"),
      state: parts.state,
      zip: parts.zip,
    }),
  )
  .min(1)
  .max(10)
  .describe("The addresses; each costs 15 cents");

const common = { category: "real-estate", effect: "read" } as const;
const flat = (cents: number) => ({ mode: "fixed", cents, freeOnMiss: true }) as const;
const counted = (at: string, minCents: number) =>
  ({
    mode: "capped",
    minCents,
    cents: BASE_CENTS + 25 * EACH_CENTS,
    unit: "record",
    counted: { at, centsEach: EACH_CENTS, baseCents: BASE_CENTS },
    freeOnMiss: true,
  }) as const;
const post = (path: string) => ({ method: "POST", path }) as const;
const [apn, where] = ["11-016-007", "6806 19th Rd N, Arlington, VA 22205"];
const found = { statusCode: 200, statusMessage: "Success", live: true, requestExecutionTimeMS: "381ms" };
const house = { id: "150461064", apn, fips: "51013" };
const record = {
  ...house,
  propertyId: "150461064",
  propertyType: "SFR",
  bedrooms: 3,
  bathrooms: 2,
  squareFeet: 1878,
  yearBuilt: 1951,
  estimatedValue: 1249000,
  address: { address: where, city: "Arlington", state: "VA", zip: "22205" },
};

export default defineAdapter({
  name: "RealEstateAPI",
  docs: "https://developer.realestateapi.com",
  beliefs: { "*": "what its records, the lender's grade of valuation and completions of an address cost us" },
  origin: "https://api.realestateapi.com",
  auth: keyHeader("x-api-key"),
  rate: { requests: 60, perMs: 1_000 },
  rules: [
    // An unknown property is a 404 with a complete answer of the vendor.
    { status: 404, at: "/statusCode", is: 404, means: "miss" },
    { at: "/data/error", is: true, means: "caller_invalid", messageAt: "/data/errorMessage" },
  ],
  actions: {
    "property-search": action(common, {
      asked:
        "houses to invest in; foreclosures; vacant homes; motivated sellers; absentee owners; fixer-upper; properties with equity; land for a deal; off-market; wholesale; flips",
      description:
        "Finds U.S. properties by place, size, value, sale, mortgage and signs of a motivated owner. Needs a zip, an address, a circle, a polygon, or a state with a city or a street. 5 cents and 15 for each record.",
      keywords: "real estate leads; homes; houses for sale; foreclosure; absentee owner; list of properties",
      params: search,
      price: {
        ...counted("/data", 2),
        quoteCents: ({ count, summary, ids_only, size }) =>
          count || summary || ids_only ? 2 : BASE_CENTS + size * EACH_CENTS,
      },
      upstreamCents: ({ count, summary, ids_only, size }) =>
        count ? 0 : summary || ids_only ? RECORD_CENTS : size * RECORD_CENTS,
      request: {
        ...post("/v2/PropertySearch"),
        // We do not sell the records that come with a summary, so we request the minimum.
        params: (p) => ({ ...p, size: p.summary ? 1 : p.size }),
      },
      content: ["/data", "/summary", "/resultCount"],
      example: {
        params: { zip: "22205", beds_min: 3, size: 2 },
        answer: { ...found, data: [record], resultCount: 1, resultIndex: 1, recordCount: 1 },
      },
    }),
    "property-detail": action(common, {
      asked:
        "who owns this house; when was it built; property taxes; owner of a building; square feet and bedrooms; mortgage on a home; last sale; landlord; history of a house",
      description:
        "All that is known of one U.S. property: owner, building, lot, taxes, mortgages, sales. A miss is free.",
      keywords: "who owns this house; property record; owner of a property; mortgage; tax record; deed",
      params: withRules([needsOne(...property)], {
        id,
        address,
        ...parts,
        ...parcel,
        exact_match: optional(z.boolean(), "Take no address that is only like this one"),
      }),
      price: flat(20),
      upstreamCents: RECORD_CENTS,
      request: post("/v2/PropertyDetail"),
      content: ["/data/id"],
      example: {
        params: { address: where },
        answer: { ...found, data: { ...record, ownerInfo: {}, lotInfo: { apn } } },
      },
    }),
    valuation: action(common, {
      asked:
        "what is my house worth; value of a home; estimate of a property's price; zestimate; sell my house for; appraisal; too expensive; fair price of a flat, an apartment, a condo",
      description: "What a U.S. property is worth: an estimate with its range and how sure it is. A miss is free.",
      keywords: "home value; house price estimate; AVM; appraisal; what is my house worth",
      params: withRules([needsOne("address", "id")], {
        id,
        address,
        strict: optional(z.boolean(), "Take no address that is only like this one"),
      }),
      price: flat(25),
      upstreamCents: 10 * RECORD_CENTS,
      request: post("/v2/PropertyAvm"),
      content: ["/data/avm"],
      example: {
        params: { address: where },
        answer: {
          ...found,
          data: { ...house, avm: "1249000", avmMin: "1099120", avmMax: "1398880", confidence: "88" },
        },
      },
    }),
    comps: action(common, {
      asked: "what did similar homes sell for; houses sold nearby; recent sales in the street; comparables",
      description: "Recent sales of U.S. properties like the one you name. 5 cents and 15 for each; a miss is free.",
      keywords: "comparable sales; comps; recently sold nearby; houses sold on my street",
      params: comps,
      price: {
        ...counted("/comps", BASE_CENTS),
        quoteCents: ({ max_results }) => BASE_CENTS + max_results * EACH_CENTS,
      },
      upstreamCents: ({ max_results }) => max_results * RECORD_CENTS,
      request: post("/v3/PropertyComps"),
      content: ["/comps"],
      example: {
        params: { address: where, max_results: 5 },
        answer: {
          ...found,
          subject: house,
          comps: [{ id: "150461071", distance: 0.21, bedrooms: 3 }],
          reapiAvm: 1249000,
        },
      },
    }),
    skiptrace: action(common, {
      asked:
        "phone of a home's owner; how to reach the owner of a house; track down a landlord; contact of an absentee owner; where does somebody live now",
      description:
        "Finds a property owner's phone numbers, emails and addresses by name and address, email or phone number. A miss is free.",
      keywords: "skip trace; owner contact; phone number of a homeowner; reverse phone lookup",
      params: person,
      price: flat(25),
      upstreamCents: 5 * RECORD_CENTS,
      request: post("/v1/SkipTrace"),
      content: ["/output"],
      rules: [{ at: "/match", is: false, means: "miss" }],
      rate: { requests: 10, perMs: 1_000 },
      example: {
        params: { first_name: "John", last_name: "Smith", address: "6806 19th Rd N", city: "Arlington", state: "VA" },
        answer: {
          ...found,
          output: { identity: { names: [{ fullName: "John Smith" }], phones: [{ phone: "7035550100" }], emails: [] } },
          match: true,
        },
      },
    }),
    "address-verify": action(common, {
      asked:
        "is this address real; correct a postal address; standard form; zip code of an address; typo in an address",
      description:
        "Says of up to ten U.S. addresses which are real, each in its standard form with an id. A match has a confidence of 0.88 or more. 5 cents and 15 for each address.",
      keywords: "validate an address; standardize addresses; USPS; is this address real",
      params: z.strictObject({
        addresses,
        strict: optional(z.boolean(), "Take no address that is only like this one"),
      }),
      price: {
        mode: "ranged",
        minCents: BASE_CENTS + EACH_CENTS,
        cents: BASE_CENTS + 10 * EACH_CENTS,
        unit: "address",
        quoteCents: (p) => BASE_CENTS + p.addresses.length * EACH_CENTS,
        otherPrice: {
          addresses: [
            { address: "6806 19th Rd N, Arlington, VA 22205" },
            { address: "6808 19th Rd N, Arlington, VA 22205" },
          ],
        },
      },
      upstreamCents: (p) => p.addresses.length * RECORD_CENTS,
      request: {
        ...post("/v2/AddressVerification"),
        // The vendor requires a key for each address.
        params: (p) => ({ ...p, addresses: p.addresses.map((one, at) => ({ key: at + 1, ...one })) }),
      },
      content: ["/data"],
      rate: { requests: 10, perMs: 1_000 },
      example: {
        params: { addresses: [{ address: where }] },
        answer: {
          ...found,
          data: [{ input: { key: 1, address: where }, match: true, confidence: 0.99, id: 150461064 }],
          matchCount: 1,
        },
      },
    }),
    parcel: action(common, {
      asked: "boundaries of a lot; how big is the land; parcel number; where does my property end; fence; acreage",
      description:
        "The boundaries of a U.S. parcel of land as GeoJSON, by address, parcel number or place. A miss is free.",
      keywords: "parcel boundary; lot lines; GeoJSON of a property; plot of land",
      params: withRules([needsOne(...property, circle, "polygon")], { id, address, ...parts, ...parcel, ...area }),
      price: flat(20),
      upstreamCents: 10 * RECORD_CENTS,
      mayCostMore: "its plans are by contract",
      request: {
        ...post("/v1/PropertyParcel"),
        // An area may contain any number of parcels.
        fixed: { size: 10 },
        params: ({ id: digits, ...p }) => ({ ...p, id: digits === undefined ? undefined : Number(digits) }),
      },
      content: ["/data"],
      example: {
        params: { address: where },
        answer: { ...found, data: [{ ...house, geometry: { type: "Polygon", coordinates: [] } }] },
      },
    }),
    autocomplete: action(common, {
      asked: "complete an address as I type; suggest addresses; address field",
      description: "Completes the beginning of a U.S. address, city, county, ZIP code or parcel number.",
      keywords: "address suggestions; type ahead; find an address",
      params: z.strictObject({
        search: z.string().min(3).max(200).describe("The beginning of what is looked for"),
        search_types: optional(
          z.array(z.enum(["A", "C", "G", "N", "P", "T", "Z"])).min(1),
          "Kinds: A address, C city, G neighborhood, N county, P parcel, T state, Z ZIP code",
        ),
        latitude: optional(z.number().min(-90).max(90), "What is near to here comes first"),
        longitude: optional(z.number().min(-180).max(180), "What is near to here comes first"),
        precision: optional(z.int().min(1).max(10), "How many digits of latitude and longitude are used"),
      }),
      price: { mode: "fixed", cents: 1 },
      upstreamCents: 0,
      request: post("/v2/AutoComplete"),
      content: ["/data"],
      example: {
        params: { search: "6806 19th" },
        answer: { ...found, data: [{ ...house, address: where, title: where, searchType: "A" }], totalResults: 1 },
      },
    }),
  },
});
