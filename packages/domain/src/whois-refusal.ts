import { spellingsOf } from './name.ts'
import { REFUSALS } from './whois-answers.ts'
import type { WhoisEntry, WhoisText } from './whois-text.ts'

/** Whether a line says that the server limits or refuses us. */
export function isRefusing(line: string): boolean {
  return REFUSALS.some((rule) => rule.pattern.test(line))
}

/** The lines without the name that was asked for, nor its first label, in any spelling. */
export function withoutName(
  lines: readonly string[],
  domain: string | null | undefined,
): readonly string[] {
  if (domain === undefined || domain === null || domain === '') return lines
  const names = spellingsOf(domain)
  const labels = names.map((name) => name.split('.', 1)[0] ?? '')
  const forms = [...names, ...labels].filter((form) => form !== '').map(escaped)
  const pattern = new RegExp(`${WORD_START}(?:${forms.join('|')})${WORD_END}`, 'giu')
  return lines.map((line) => line.replace(pattern, ANY_NAME))
}

function escaped(form: string): string {
  return form.replaceAll(/[^\p{L}\p{N}]/gu, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`)
}

const WORD_START = '(?<![\\p{L}\\p{N}_-])'
const WORD_END = '(?![\\p{L}\\p{N}_-])'
const ANY_NAME = 'x.test'

/** What a refusal is about: every name, or this name alone for all that the reply shows. */
export type Refusal = 'of_all' | 'of_name'

/**
 * The refusal in a reply; null if there is none. Whoever registers or asks for a name chooses words
 * of the reply: those of the name are no refusal if the rest says something of it (`isUnderstood`),
 * nor are values of a record (`isRecord`), such as name servers.
 *
 * @param bare the lines without the name
 */
export function refusalOf(
  { lines, entries }: WhoisText,
  bare: readonly string[],
  { isRecord, isUnderstood }: { readonly isRecord: boolean; readonly isUnderstood: boolean },
): Refusal | null {
  if (lines.length === 0) return 'of_all'
  const refusing = lines.keys().filter((at) => isRefusing(lines[at] ?? ''))
  const said = isRecord ? unlessValues(lines, refusing, entries) : [...refusing]
  if (said.length === 0) return null
  if (!said.some((at) => isRefusing(bare[at] ?? ''))) return isUnderstood ? null : 'of_name'
  return lines.every((line, at) => line === bare[at]) ? 'of_all' : 'of_name'
}

function unlessValues(
  lines: readonly string[],
  refusing: Iterable<number>,
  entries: readonly WhoisEntry[],
): number[] {
  const values = new Set(entries.map(({ value }) => value))
  return [...refusing].filter((at) => {
    const line = lines[at] ?? ''
    return !values.has(line) && !values.has(line.slice(line.indexOf(':') + 1).trim())
  })
}
