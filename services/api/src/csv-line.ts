/** One line of CSV (RFC 4180) of values from the service itself, none of them a customer's text. */
export function csvLine(values: readonly (string | number | null)[]): string {
  return `${values.map((value) => quoted(String(value ?? ''))).join(',')}\r\n`
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
