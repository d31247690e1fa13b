import type { EmailLists } from '@plumbline/engines/email/engine'
import { loadNames, stampOf } from '@plumbline/engines/lists/load'
import type { Log } from '@plumbline/runtime/log'

/** How often the folder is looked at for a change. */
const LOOK_MS = 30_000

/** The lists by which addresses are flagged, read again when their files change. */
export interface FollowedLists extends Disposable {
  /** The newest that could be read; the same object until the files change. */
  current(): EmailLists
}

/** Reads the lists of a folder (null: the packaged ones) and follows its files. */
export async function followEmailLists(dir: string | null, log: Log): Promise<FollowedLists> {
  let stamp = await stampOf(dir)
  let lists = await loadEmailLists(dir)
  const look = async (): Promise<void> => {
    const seen = await stampOf(dir)
    if (seen === stamp) return
    lists = await loadEmailLists(dir)
    stamp = seen
    log.info({}, 'email lists read again')
  }
  const timer = setInterval(() => {
    look().catch((error: unknown) => log.warn({ err: error }, 'lists not read; the old ones stay'))
  }, LOOK_MS)
  timer.unref()
  return { current: () => lists, [Symbol.dispose]: () => clearInterval(timer) }
}

async function loadEmailLists(dir: string | null): Promise<EmailLists> {
  const [disposable, disposableAllow, privacyRelay, free, role, spamTrap, optOut] =
    await Promise.all([
      loadNames(dir, 'disposable'),
      loadNames(dir, 'disposable-allow'),
      loadNames(dir, 'privacy-relay'),
      loadNames(dir, 'free'),
      loadNames(dir, 'role'),
      loadNames(dir, 'spam-trap'),
      loadNames(dir, 'opt-out'),
    ])
  return { disposable, disposableAllow, privacyRelay, free, role, spamTrap, optOut }
}
