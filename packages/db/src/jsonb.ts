/**
 * A value as text for a `jsonb` column. It holds neither NUL nor half of a surrogate pair, which words of a
 * foreign server, or a cut through them, may leave; each is replaced by U+FFFD.
 */
export function jsonbText(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'string' ? part.toWellFormed().replaceAll('\0', '\ufffd') : part,
  )
}
