import type { Db } from '@plumbline/db/database'
import type { People, Visitor } from './people.ts'

/** A visitor of tests. */
export const VISITOR: Visitor = {
  network: '192.0.2.1',
  site: '192.0.2.1',
  browser: 'test browser',
  isLocal: true,
  origin: 'http://localhost',
}

/** Work of tests that does nothing. */
export const nothing = async (): Promise<void> => undefined

const free = async (): Promise<boolean> => true

/**
 * People without limits, whose passwords and messages are stored as they are.
 *
 * @param options `onCheck` runs once, while a password is checked; `onHash` once, while one is
 * hashed
 */
export function plainPeople(
  db: Db,
  { onCheck = nothing, onHash = nothing, hasMail = false } = {},
): People {
  const work = { check: onCheck, hash: onHash }
  const once = async (step: keyof typeof work): Promise<void> => {
    const run = work[step]
    work[step] = nothing
    await run()
  }
  return {
    db,
    settings: {
      signUp: 'open',
      hasMail,
      publicUrl: undefined,
      signUpsPerNetwork: 10,
      signUpsPerDomain: 10,
      invitationsPerDay: 10,
    },
    sealer: { encrypt: (text) => text, decrypt: (text) => text, digest: (text) => text },
    mailDomains: {
      judge: async (registrable) => ({ isDisposable: false, isFree: false, registrable }),
    },
    passwords: {
      hash: async (password) => {
        await once('hash')
        return password
      },
      matches: async (password, kept) => {
        await once('check')
        return password === kept
      },
    },
    tries: { pair: free, user: free, network: free },
    messages: { address: free, network: free },
    takeOfDay: async () => ({ giveBack: nothing }),
    wakeMail: () => undefined,
  }
}
