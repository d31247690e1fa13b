/** Credits a month by plan, and whether it may hold test keys. Source: spec.md 5 and 8.2. */
export const PLANS = {
  free: { monthlyCredits: 200, testKeys: false },
  starter: { monthlyCredits: 5_000, testKeys: true },
  pro: { monthlyCredits: 25_000, testKeys: true },
} as const
/** One of the plans. */
export type Plan = keyof typeof PLANS

/** Add-on packs. Source: spec.md 8.3. */
export const PACKS = {
  starter: { credits: 1_000, priceUsd: 25 },
  growth: { credits: 5_000, priceUsd: 100 },
  scale: { credits: 20_000, priceUsd: 350 },
} as const
/** One of the add-on packs. */
export type Pack = keyof typeof PACKS

/** Production keys spend credits, test keys answer from magic values. */
export type KeyMode = 'live' | 'test'
