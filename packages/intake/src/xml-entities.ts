/** The five predefined entities. Source: XML 1.0, section 4.6. */
const NAMED: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
])

const REFERENCE = /&([^;&]{0,12}[;&]?)/g
const NUMBER = /^#(?:x([\dA-Fa-f]{1,8})|(\d{1,10}));$/

/**
 * Replaces references by their characters; entities of a document type are not supported.
 *
 * @param fault called, and must throw, for an invalid reference
 */
export function charsOfEntities(text: string, fault: (what: string) => never): string {
  if (!text.includes('&')) return text
  return text.replace(REFERENCE, (_, reference: string) => {
    const named = reference.endsWith(';') ? NAMED.get(reference.slice(0, -1)) : undefined
    if (named !== undefined) return named
    const [, hex, decimal] = NUMBER.exec(reference) ?? []
    const code = hex === undefined ? Number(decimal ?? Number.NaN) : Number.parseInt(hex, 16)
    return isCharacter(code) ? String.fromCodePoint(code) : fault('a reference to nothing')
  })
}

/** Whether XML allows a character. Source: XML 1.0, section 2.2. */
function isCharacter(code: number): boolean {
  return (
    code === 0x9 ||
    code === 0xa ||
    code === 0xd ||
    (code >= 0x20 && code <= 0xd7ff) ||
    (code >= 0xe000 && code <= 0xfffd) ||
    (code >= 0x10000 && code <= 0x10ffff)
  )
}
