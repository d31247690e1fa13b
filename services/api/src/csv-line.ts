/**
 * One line of CSV (RFC 4180) of values that the service made itself: none of them is a customer's
 * text.
 */
export function csvLine(values: readonly (string | number | null)[]): string {
  return `${values.map((value) => quoted(String(value ?? ''))).join(',')}\r\n`
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
