/**
 * JSON text for a `jsonb` column. NUL and unpaired surrogates, which other servers' replies or
 * truncation may leave, are replaced by U+FFFD.
 */
export function jsonbText(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'string' ? part.toWellFormed().replaceAll('\0', '\ufffd') : part,
  )
}
