import type { Db } from '@plumbline/db/database'
import {
  isMarked,
  readMailDomainLists,
  type MailDomainMarks,
} from '@plumbline/db/mail-domain-lists'
import type { MailDomains } from '@plumbline/people/people'
import { getDomain } from 'tldts'

/** Milliseconds for which the lists are cached: workers load new ones about once a day. */
const KEPT_MS = 10 * 60_000
/** Milliseconds between attempts while no worker has stored any lists. */
const RETRY_MS = 2_000

/**
 * Judges mail domains by the reference lists that workers have stored; the most specific entry
 * wins.
 */
export function createMailDomains(
  db: Db,
  now: () => number = () => performance.now(),
): MailDomains {
  let readAt = Number.NEGATIVE_INFINITY
  let known: Promise<MailDomainMarks | undefined> = Promise.resolve(undefined)

  async function lists(): Promise<MailDomainMarks | undefined> {
    const held = await known.catch(() => undefined)
    if (now() - readAt < (held === undefined ? RETRY_MS : KEPT_MS)) return held
    readAt = now()
    known = readMailDomainLists(db)
    return await known
  }

  return {
    judge: async (domain) => {
      const marks = await lists()
      const own = getDomain(domain) ?? domain
      if (marks === undefined) return { isDisposable: false, isFree: false, registrable: own }
      const isFree = isMarked(marks.free, domain)
      return {
        isDisposable: !isFree && hasEntry(marks.disposable, domain),
        isFree,
        // A name that a free provider gave away has an owner of its own.
        registrable: isMarked(marks.free, own) ? domain : own,
      }
    },
  }
}

/** Whether the domain or one of its parents is listed. */
function hasEntry(marks: Buffer, domain: string): boolean {
  const labels = domain.split('.').slice(-10)
  return labels.some((_label, at) => isMarked(marks, labels.slice(at).join('.')))
}
