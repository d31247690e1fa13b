/** A price in US dollars; `-` where one has to ask. */
export function priceText(cents: number | null): string {
  return cents === null ? '-' : (cents / 100).toFixed(2)
}
