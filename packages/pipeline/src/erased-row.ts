/** What a row says in place of what was erased of it. */
export const ERASED_NOTE = 'erased: a value of this row was erased'

/** In place of a subject that was erased; no subject is empty. */
export const ERASED_SUBJECT = ''

/** Whether a subject of a chunk was erased. */
export function isErasedSubject(subject: string): boolean {
  return subject === ERASED_SUBJECT
}
