import { buildNames } from '@plumbline/datasets/name-list'
import type { MailDomainLists } from '@plumbline/datasets/mail-domains'
import { openDatabase } from '@plumbline/db/database'
import { isMarked, readMailDomainLists } from '@plumbline/db/mail-domain-lists'
import { createLog } from '@plumbline/runtime/log'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { expect, test } from 'vitest'
import { publishMailDomains } from './publish-mail-domains.ts'

/** Lists of an operator's own disposable names. */
function listsWith(...disposable: readonly string[]): MailDomainLists {
  const source = { name: 'own', origin: 'own', licence: null, date: null, count: disposable.length }
  const none = { source: { ...source, count: 0 }, names: new Set<string>() }
  return {
    disposable: buildNames('disposable', [{ source, names: new Set(disposable) }]),
    disposableAllow: buildNames('disposable-allow', [none]),
    privacyRelay: buildNames('privacy-relay', [none]),
    free: buildNames('free', [none]),
  }
}

test('a name that takes the place of another in a list is stored', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test' })
  const log = createLog({ name: 'test', level: 'silent' })
  const store = async (lists: MailDomainLists): Promise<readonly boolean[]> => {
    await publishMailDomains(db, () => lists, log)[Symbol.asyncDispose]()
    const marks = (await readMailDomainLists(db))?.disposable ?? Buffer.alloc(0)
    return ['mispelt.example', 'misspelt.example'].map((name) => isMarked(marks, name))
  }
  expect(await store(listsWith('mispelt.example'))).toEqual([true, false])
  expect(await store(listsWith('misspelt.example'))).toEqual([false, true])
})
