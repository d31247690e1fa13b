import { hash } from 'node:crypto'
import { judgeName, type MailDomainLists } from '@plumbline/datasets/mail-domains'
import type { Db } from '@plumbline/db/database'
import { writeMailDomainLists } from '@plumbline/db/mail-domain-lists'
import type { Log } from '@plumbline/ports/log'

/** Milliseconds between two checks whether other lists were loaded. */
const POLL_MS = 30_000

/**
 * Keeps the database's copy of the mail domain lists, which sign-up uses, equal to what this worker
 * has loaded.
 */
export function publishMailDomains(
  db: Db,
  current: () => MailDomainLists,
  log: Log,
): AsyncDisposable {
  let published: MailDomainLists | undefined
  let running: Promise<void> = Promise.resolve()
  const look = (): void => {
    const lists = current()
    if (lists === published) return
    published = lists
    running = publish(db, lists).catch((error: unknown) => {
      published = undefined
      log.warn({ err: error }, 'mail domain lists could not be stored; tried again')
    })
  }
  look()
  const timer = setInterval(look, POLL_MS)
  timer.unref()
  return {
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer)
      await running
    },
  }
}

async function publish(db: Db, lists: MailDomainLists): Promise<void> {
  await writeMailDomainLists(db, versionOf(lists), () => ({
    disposable: [...lists.disposable.entries()].filter((name) => judgeName(name, lists).disposable),
    free: [...lists.free.entries()].filter((name) => judgeName(name, lists).free),
  }))
}

/** Equal for the same names, whichever worker loaded them. */
function versionOf({ disposable, disposableAllow, privacyRelay, free }: MailDomainLists): string {
  const lists = [disposable, disposableAllow, privacyRelay, free]
  return hash('sha256', lists.map((list) => [...list.entries()].join('\n')).join('\n\n'))
}
