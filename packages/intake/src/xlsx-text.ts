const ESCAPED = /_x([0-9A-Fa-f]{4})_/g

/**
 * Decodes the escaped control characters of a text. Source: ECMA-376, part 1, section 22.9.2.19.
 */
export function unescapedText(text: string): string {
  const plain = text.includes('_x')
    ? text.replaceAll(ESCAPED, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    : text
  return plain.toWellFormed().replaceAll('\0', '\ufffd')
}
