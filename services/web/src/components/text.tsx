import type { JSX } from 'preact'
import * as format from '../format.ts'

/** Characters of a text that are shown; the rest can be read in the download. */
const SHOWN_CHARS = 600

/**
 * Foreign text of a customer or server: plain text in its own direction, without invisible or
 * bidirectional control characters.
 */
export function Foreign({
  text,
  clip = false,
}: {
  readonly text: string
  readonly clip?: boolean
}): JSX.Element {
  const shown = visibleText(text)
  return (
    <bdi class={clip ? 'clip' : 'wrap'} dir="auto" title={clip && shown !== '' ? shown : undefined}>
      {shown}
    </bdi>
  )
}

/** The text with a symbol in place of each invisible character, cut if it is very long. */
export function visibleText(text: string): string {
  const whole = text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\uFEFF]/gu, signOf)
  const characters = [...whole]
  return characters.length <= SHOWN_CHARS ? whole : `${characters.slice(0, SHOWN_CHARS).join('')}…`
}

/**
 * A multi-line text with its line breaks, and a symbol in place of each other invisible character.
 */
export function visibleLines(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/(?![\t\n])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\uFEFF]/gu, signOf)
}

/** A blank for line breaks and tabs, else the replacement character. */
function signOf(character: string): string {
  return /[\t\n\r\u2028\u2029]/u.test(character) ? ' ' : '\uFFFD'
}

/** A time of the past or future, in the reader's own notation. */
export function Time({
  at,
  dayOnly = false,
}: {
  readonly at: string
  readonly dayOnly?: boolean
}): JSX.Element {
  return <time dateTime={at}>{dayOnly ? format.day(at) : format.time(at)}</time>
}
