/** The texts of all elements of a name, unparsed. */
export function elements(xml: string, name: string): readonly string[] {
  const parts = xml.split(new RegExp(`<${name}(?:\\s[^>]*)?>`)).slice(1)
  return parts.flatMap((part) => {
    const end = part.indexOf(`</${name}>`)
    return end === -1 ? [] : [part.slice(0, end)]
  })
}

/** The text of the first element of a name, unescaped; undefined if there is none. */
export function textOf(xml: string, name: string): string | undefined {
  const [found] = elements(xml, name)
  return found?.replaceAll(/&(#x[\da-f]+|#\d+|\w+);/gi, (whole, entity: string) =>
    unescaped(entity.toLowerCase(), whole),
  )
}

/** A text escaped for an element. */
export function escapedXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

const ENTITIES = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
])

function unescaped(entity: string, whole: string): string {
  if (!entity.startsWith('#')) return ENTITIES.get(entity) ?? whole
  const code = entity.startsWith('#x') ? Number(`0${entity.slice(1)}`) : Number(entity.slice(1))
  return code <= 0x10ffff ? String.fromCodePoint(code) : whole
}
