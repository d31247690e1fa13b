import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createAccount } from '@plumbline/db/accounts'
import { inTransaction, openDatabase, type Db } from '@plumbline/db/database'
import { startEmbeddedPostgres } from '@plumbline/db/embedded'
import {
  changeFingerprint,
  lockFingerprint,
  noteInstallationKey,
} from '@plumbline/db/installation-key'
import { migrate } from '@plumbline/db/migrate'
import { insertLinkCode } from '@plumbline/db/people/link-codes'
import { beginFactor, insertUser } from '@plumbline/db/people/users'
import { createWebhook, rotateWebhookSecret } from '@plumbline/db/webhooks/endpoints'
import { openMail, queueMail } from '@plumbline/mail/outbox'
import { NEW_ADDRESS_SEALED_AS } from '@plumbline/people/address'
import { factorName } from '@plumbline/people/factor-check'
import { SIGN_UP_SEALED_AS } from '@plumbline/people/sign-up'
import { beginErasure, targetOf } from '@plumbline/pipeline/erasure'
import { createInstallationKey, type InstallationKey } from '@plumbline/pipeline/installation-key'
import { processEnvironment } from '@plumbline/runtime/settings'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { encryptSecret, decryptSecret } from '@plumbline/webhooks/secret-box'
import { expect, test } from 'vitest'
import { changeInstallationKey } from './change-installation-key.ts'

const PROGRAM = fileURLToPath(new URL('rekey.ts', import.meta.url))

/** Whole processes and a Postgres of their own, on a busy machine. */
const PATIENT_MS = 300_000

const OLD = 'the old key of this installation, long'
const NEXT = 'the new key of this installation, long'
const old = createInstallationKey(OLD)
const next = createInstallationKey(NEXT)
const ALONE = { actor: 'Olga', isAlone: true }

/** More than are read at a time. */
const MAILS = 1_203

async function openStore(): Promise<{ db: Db; url: string } & AsyncDisposable> {
  const stack = new AsyncDisposableStack()
  const { url } = stack.use(await createTestDatabase())
  const db = stack.use(openDatabase({ url, poolSize: 2, applicationName: 'test' }))
  return { db, url, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

/**
 * Stores one value of each kind that people and customers enter, by the functions that the programs
 * use.
 */
async function fill(db: Db, key: InstallationKey): Promise<void> {
  expect(await noteInstallationKey(db, key.fingerprint)).toBe(true)
  const { id: accountId } = await createAccount(db, { email: 'owner@localhost', plan: 'free' })
  await inTransaction(db, async (tx) => {
    const id = 'whk_0123456789abcdef'
    const hide = (secret: string): string => encryptSecret(key, id, secret)
    const url = 'https://example.com/hook'
    const first = {
      id,
      accountId,
      url,
      events: ['batch.completed'] as const,
      secret: hide('whsec_first'),
      most: 5,
    }
    await createWebhook(tx, first)
    for (const secret of ['whsec_second', 'whsec_third']) {
      await rotateWebhookSecret(tx, { accountId, id }, { secret: hide(secret), oldHours: 24 })
    }
    const email = 'ada@example.com'
    const user = await insertUser(tx, {
      name: 'Ada',
      email,
      emailKey: email,
      passwordDigest: 'none',
      verified: true,
    })
    const userId = user?.id ?? ''
    await beginFactor(tx, userId, key.encrypt('JBSWY3DPEHPK3PXP', factorName(userId)))
    for (const name of [NEW_ADDRESS_SEALED_AS, SIGN_UP_SEALED_AS]) {
      await insertLinkCode(tx, {
        purpose: name === SIGN_UP_SEALED_AS ? 'sign_up' : 'change_email',
        userId: null,
        accountId: null,
        emailKey: email,
        detail: key.encrypt(`detail of ${name}`, name),
        isLocalOnly: false,
        digest: randomBytes(32),
        minutes: 60,
      })
    }
    for (let no = 0; no < MAILS; no++) {
      const link = `https://example.com/#${no}`
      await queueMail(tx, key, { kind: 'reset', to: email, name: 'Ada', link })
    }
  })
  const values = { email: ['gone@example.com'] }
  const owner = { accountId, mode: 'live' } as const
  await beginErasure({ db, installationKey: key }, owner, values, async () => {})
}

/** The stored values, read by the functions that the programs use; throws under another key. */
async function readAll(db: Db, key: InstallationKey): Promise<unknown> {
  const [hook] = await db.kysely.selectFrom('webhook_endpoints').selectAll().execute()
  const [user] = await db.kysely.selectFrom('users').selectAll().execute()
  const links = await db.kysely.selectFrom('link_codes').selectAll().execute()
  const mails = await db.kysely.selectFrom('mails').selectAll().orderBy('id').execute()
  const [erasure] = await db.kysely.selectFrom('erasures').selectAll().execute()
  if (hook === undefined || user === undefined || erasure === undefined) throw new Error('empty')
  return {
    secrets: [hook.secret, hook.old_secret, hook.older_secret].map((it) =>
      decryptSecret(key, hook.id, it ?? ''),
    ),
    factor: key.decrypt(user.totp_secret ?? '', factorName(user.id)),
    links: links
      .map(({ purpose, detail }) => {
        const name = purpose === 'sign_up' ? SIGN_UP_SEALED_AS : NEW_ADDRESS_SEALED_AS
        return key.decrypt(detail ?? '', name)
      })
      .toSorted(),
    mails: mails.map(({ sealed }) => openMail(key, sealed)?.text.match(/#(\d+)/)?.[1]),
    erased: targetOf(key, erasure).values.email,
  }
}

const ALL = {
  secrets: ['whsec_third', 'whsec_second', 'whsec_first'],
  factor: 'JBSWY3DPEHPK3PXP',
  links: ['detail of new address', 'detail of sign-up'],
  mails: Array.from({ length: MAILS }, (_, no) => String(no)),
  erased: ['gone@example.com'],
}

test('every encrypted value that people and customers entered is read under the new key, and the change is in the audit log once', async () => {
  await using store = await openStore()
  const { db } = store
  await fill(db, old)
  const change = await changeInstallationKey(db, { old, next }, ALONE)
  expect(change.status === 'changed' && Object.fromEntries(change.kinds)).toEqual({
    webhookSecret: { reencryptedCount: 1, unreadCount: 0 },
    webhookOldSecret: { reencryptedCount: 1, unreadCount: 0 },
    webhookOlderSecret: { reencryptedCount: 1, unreadCount: 0 },
    secondFactor: { reencryptedCount: 1, unreadCount: 0 },
    mail: { reencryptedCount: MAILS, unreadCount: 0 },
    link: { reencryptedCount: 2, unreadCount: 0 },
    erasure: { reencryptedCount: 1, unreadCount: 0 },
  })
  expect(await readAll(db, next)).toEqual(ALL)
  await expect(readAll(db, old)).rejects.toThrow(
    'the secret of whk_0123456789abcdef cannot be read',
  )
  expect(await noteInstallationKey(db, next.fingerprint)).toBe(true)
  expect(await noteInstallationKey(db, old.fingerprint)).toBe(false)
  expect(await changeInstallationKey(db, { old, next }, ALONE)).toEqual({ status: 'was_changed' })
  expect(await readAll(db, next)).toEqual(ALL)
  const acts = await db.kysely.selectFrom('audit_log').selectAll().execute()
  expect(acts.filter(({ action }) => action === 'installation_key.change')).toMatchObject([
    { actor: 'Olga', account_id: null, before: { fingerprint: old.fingerprint } },
  ])
})

test('a wrong old key, or an open program, leaves everything unchanged', async () => {
  await using store = await openStore()
  const { db, url } = store
  const keys = { old, next }
  await expect(changeInstallationKey(db, keys, ALONE)).rejects.toThrow('nothing was ever encrypted')
  await fill(db, old)
  const wrong = createInstallationKey('a key that this database has never met')
  await expect(changeInstallationKey(db, { old: wrong, next }, ALONE)).rejects.toThrow(
    'the old key is not the one that this database was last used with',
  )
  await using api = openDatabase({ url, poolSize: 1, applicationName: 'api' })
  await api.pool.query('select')
  const beside = { actor: 'Olga', isAlone: false }
  await expect(changeInstallationKey(db, keys, beside)).rejects.toThrow(
    /stop the programs that have the database open first: api\b/,
  )
  expect(await readAll(db, old)).toEqual(ALL)
})

test('a value that the old key cannot decrypt stays as it is and is counted', async () => {
  await using store = await openStore()
  const { db } = store
  await fill(db, old)
  const lost = createInstallationKey('a key from before that nobody has now')
  const mail = { kind: 'reset', to: 'bob@example.com', name: 'Bob', link: '#7' } as const
  await queueMail(db, lost, mail)
  const change = await changeInstallationKey(db, { old, next }, ALONE)
  expect(change.status === 'changed' && change.kinds.get('mail')).toEqual({
    reencryptedCount: MAILS,
    unreadCount: 1,
  })
  const [last] = await db.kysely.selectFrom('mails').selectAll().orderBy('id', 'desc').execute()
  expect(openMail(lost, last?.sealed ?? '')).toMatchObject({ to: 'bob@example.com' })
})

test('a program that starts with the old key during the change is refused', async () => {
  await using store = await openStore()
  const { db, url } = store
  await noteInstallationKey(db, old.fingerprint)
  await using starting = openDatabase({ url, poolSize: 1, applicationName: 'api' })
  let noted: Promise<boolean> | undefined
  await inTransaction(db, async (tx) => {
    expect(await lockFingerprint(tx)).toBe(old.fingerprint)
    noted = noteInstallationKey(starting, old.fingerprint)
    await changeFingerprint(tx, next.fingerprint)
  })
  expect(await noted).toBe(false)
})

test(
  'the command changes the packaged Postgres and the file of the key, also if it was interrupted between the two',
  async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-rekey-'))
    await using stack = new AsyncDisposableStack()
    stack.defer(() => rm(dataDir, { recursive: true, force: true }))
    const file = join(dataDir, 'installation.key')
    const settings = { DATA_DIR: dataDir, NEW_INSTALLATION_KEY: NEXT }
    expect(await run(settings)).toMatchObject({
      code: 1,
      said: expect.stringContaining('expected INSTALLATION_KEY, the current key'),
    })
    await writeFile(file, `${OLD}\n`, { mode: 0o600 })
    await inPackaged(dataDir, async (db) => {
      await migrate(db)
      await fill(db, old)
    })
    expect(await run({ ...settings, NEW_INSTALLATION_KEY: 'short' })).toMatchObject({
      code: 1,
      said: expect.stringContaining('NEW_INSTALLATION_KEY'),
    })
    const { code, out, said } = await run(settings)
    expect({ code, said }).toEqual({ code: 0, said: '' })
    expect(out).toContain(`  ${MAILS} messages that wait\n`)
    expect(out).not.toContain(NEXT)
    expect(await readFile(file, 'utf8')).toBe(`${NEXT}\n`)
    const [previous = ''] = await previousKeys(dataDir)
    expect(out).toContain(`The old key is in ${previous}.`)
    expect(await readFile(join(dataDir, previous), 'utf8')).toBe(`${OLD}\n`)
    await writeFile(file, `${OLD}\n`)
    expect(await run(settings)).toMatchObject({
      code: 0,
      out: expect.stringContaining('The database has the new key already.'),
    })
    expect(await readFile(file, 'utf8')).toBe(`${NEXT}\n`)
    await inPackaged(dataDir, async (db) => expect(await readAll(db, next)).toEqual(ALL))
  },
  PATIENT_MS,
)

async function previousKeys(dataDir: string): Promise<readonly string[]> {
  return (await readdir(dataDir)).filter((name) => name.startsWith('installation.key.until-'))
}

async function inPackaged(dataDir: string, work: (db: Db) => Promise<void>): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const postgres = await startEmbeddedPostgres({ dataDir, settings: { fsync: 'off' } })
  stack.defer(() => postgres.stop())
  await work(stack.use(openDatabase({ url: postgres.url, poolSize: 2, applicationName: 'test' })))
}

async function run(
  settings: Readonly<Record<string, string>>,
): Promise<{ code: number; out: string; said: string }> {
  return await new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', PROGRAM],
      { env: { PATH: processEnvironment()['PATH'], ...settings } },
      (error, out, said) => resolve({ code: error === null ? 0 : Number(error.code), out, said }),
    )
  })
}
