/** An address within a cell, and what else the cell holds. */
export interface WrappedAddress {
  readonly address: string
  readonly note: string
}

/** An address without quotes, comments or an address literal, so that its ends are certain. */
const ADDRESS =
  /^[^\s@<>()[\]\\,;:"“”„«»]+@(?:[^\s@<>()[\]\\,;:"'“”„‘’«».]+\.)+[^\s@<>()[\]\\,;:"'“”„‘’«».]{2,}$/

const MAILTO = /^mailto:([^?]*)(?:\?.*)?$/is
const NAMED = /^([^<>]*)<([^<>]*)>$/
const QUOTED = /^["'“”„‘’«»]([^"“”„‘’«»]*)["'“”„‘’«»]$/
const QUOTES = /["'“”„‘’«»]/g

/**
 * The address in a cell as address books and mail programs copy it: `mailto:ann@b.example`, `Ann
 * <ann@b.example>`, in quotes, with a comma or semicolon behind it, or the first of several with
 * these between them. Undefined for an address as it is, and for what can be read in two ways.
 */
export function wrappedAddress(text: string): WrappedAddress | undefined {
  if (!mayWrap(text) || ADDRESS.test(text)) return undefined
  const single = unwrapped(text)
  const values = single === undefined ? severalOf(text) : [single]
  const [address] = values
  if (address === undefined) return undefined
  const note =
    values.length === 1
      ? 'holds more than the address that was checked'
      : `holds ${values.length} values, of which the first was checked`
  return { address, note }
}

const COLON = 58

/** Quick test that leaves out nearly every address. */
function mayWrap(text: string): boolean {
  const last = text.charCodeAt(text.length - 1) | 0x20
  const hasPlainEnd = last >= 97 && last <= 122
  if (!hasPlainEnd || text.charCodeAt(6) === COLON) return text.includes('@')
  return text.indexOf('@') !== text.lastIndexOf('@')
}

function unwrapped(text: string): string | undefined {
  const [, name = '', named] = NAMED.exec(text) ?? []
  const inner = (named ?? QUOTED.exec(text)?.[1] ?? text).trim()
  const address = (MAILTO.exec(inner)?.[1] ?? inner).trim()
  // A name that is another address leaves open which of them is meant.
  if (name.includes('@') && withoutQuotes(name) !== address.toLowerCase()) return undefined
  return ADDRESS.test(address) ? address : undefined
}

function withoutQuotes(name: string): string {
  return name.replaceAll(QUOTES, '').trim().toLowerCase()
}

/** The addresses in a cell, with commas or semicolons between them; none if anything else is there. */
function severalOf(text: string): readonly string[] {
  const parts = text.split(/[,;]/).filter((part) => part.trim() !== '')
  const values = parts.flatMap((part) => unwrapped(part.trim()) ?? [])
  return values.length === parts.length ? values : []
}
