/** Error text of a row from which something was erased. */
export const ERASED_NOTE = 'erased: a value of this row was erased'

/** Replaces an erased subject; no real subject is empty. */
export const ERASED_SUBJECT = ''

/** Whether a subject of a chunk was erased. */
export function isErasedSubject(subject: string): boolean {
  return subject === ERASED_SUBJECT
}
