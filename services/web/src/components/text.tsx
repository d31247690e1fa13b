import type { JSX } from 'preact'
import * as format from '../format.ts'

/** Longest text that is shown at one place; the rest can be read in the download. */
const SHOWN_CHARS = 600

/**
 * Text of a customer or of another server: as text alone, in the direction of its own letters,
 * without the characters that would turn or hide what stands beside it.
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

/**
 * The text with a sign in place of each character that cannot be seen, and cut where it is very
 * long.
 */
export function visibleText(text: string): string {
  const whole = text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\uFEFF]/gu, signOf)
  const characters = [...whole]
  return characters.length <= SHOWN_CHARS ? whole : `${characters.slice(0, SHOWN_CHARS).join('')}…`
}

/**
 * The text of several lines, its breaks kept, with a sign in place of each other character that
 * cannot be seen.
 */
export function visibleLines(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/(?![\t\n])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\uFEFF]/gu, signOf)
}

/** A blank for breaks of lines and tabs, else the replacement character. */
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
