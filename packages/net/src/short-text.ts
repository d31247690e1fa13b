/** Characters of a text of an outside service that become facts. */
const MAX_CHARS = 200

/** The beginning of a text of an outside service, at most 200 characters; pairs stay whole. */
export function shortText(text: string): string {
  if (text.length <= MAX_CHARS) return text
  return text.slice(0, MAX_CHARS).replace(/[\ud800-\udbff]$/, '')
}
