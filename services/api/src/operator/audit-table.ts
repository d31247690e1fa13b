import type { AuditEntry } from '@plumbline/db/audit-log'
import type { Db } from '@plumbline/db/database'
import { readEmails } from '@plumbline/db/people/users'
import { actInWords, peopleOf } from './audit-words.ts'
import { html, moment, table, type Html } from './html.ts'

/** A table of audit log entries as sentences, with the addresses of the users who acted. */
export async function auditTable(db: Db, trail: readonly AuditEntry[]): Promise<Html> {
  const ids = trail.flatMap((entry) => [entry.actor, ...peopleOf(entry)])
  const people = await readEmails(db, [...new Set(ids)])
  return table(
    ['When', 'Who', 'What', 'Account'],
    trail.map((entry) => [
      moment(entry.actedAt),
      people.get(entry.actor) ?? entry.actor,
      actInWords(entry, people),
      entry.accountId === null
        ? '-'
        : html`<a href="/operator/accounts/${encodeURIComponent(entry.accountId)}"
            >${entry.accountId}</a
          >`,
    ]),
  )
}
