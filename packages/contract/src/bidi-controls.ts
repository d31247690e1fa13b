/**
 * Drops the characters that change the direction of text around them, so that `exe.<U+202E>vsc.txt`
 * is shown as it is. Source: Unicode Standard Annex 9, section 2 (property `Bidi_Control`).
 */
export function withoutBidiControls(text: string): string {
  return text.replaceAll(/\p{Bidi_Control}/gu, '')
}
