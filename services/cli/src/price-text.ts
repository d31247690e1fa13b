/** A price in US dollars; `-` if it is on request. */
export function priceText(cents: number | null): string {
  return cents === null ? '-' : (cents / 100).toFixed(2)
}
