import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { openDatabase, type Db } from '@plumbline/db/database'
import { startEmbeddedPostgres } from '@plumbline/db/embedded'
import type { SealedKind } from '@plumbline/db/reencrypt'
import { createInstallationKey } from '@plumbline/pipeline/installation-key'
import { findInstallationKey, replaceInstallationKey } from '@plumbline/runtime/installation-key'
import { keepFilesPrivate } from '@plumbline/runtime/private-files'
import { readSettings } from '@plumbline/runtime/settings'
import { startFault } from '@plumbline/runtime/start'
import { systemUser } from '@plumbline/runtime/system-user'
import { lockDataDir } from './data-dir-lock.ts'
import { refuseMoved } from './moved-mark.ts'
import { changeInstallationKey, type KeyChange } from './change-installation-key.ts'
import { changeKeySettings, type ChangeKeySettings } from './settings.ts'

// npm run rekey: re-encrypts everything that is encrypted under INSTALLATION_KEY under
// NEW_INSTALLATION_KEY, while the service is stopped.

/** Time-out of a statement, which limits the wait for a table lock. */
const STATEMENT_MS = 600_000

/** Milliseconds after which the process ends even if something is still open. */
const EXIT_MS = 500

const KIND_WORDS: Readonly<Record<SealedKind, string>> = {
  webhookSecret: 'secrets of webhooks',
  webhookOldSecret: 'secrets of webhooks that end within a day',
  secondFactor: 'second factors',
  mail: 'messages that wait',
  link: 'links under way',
  erasure: 'erasures under way',
}

keepFilesPrivate()
try {
  const settings = readSettings(changeKeySettings)
  process.stdout.write(await changeKey(settings))
} catch (error) {
  const fault = startFault(error)
  if (fault === null) throw error
  process.stderr.write(`The key was not changed: ${fault}\n`)
  process.exitCode = 1
}
// Handles of the server's process can outlive it; everything of ours has ended here.
setTimeout(() => process.exit(), EXIT_MS).unref()

/**
 * Changes the key, and its file if it is in one.
 *
 * @returns the message for the operator
 */
async function changeKey(settings: ChangeKeySettings): Promise<string> {
  const { INSTALLATION_KEY: given, NEW_INSTALLATION_KEY: next } = settings
  const dataDir = resolve(settings.DATA_DIR)
  const old = given ?? (await findInstallationKey(dataDir))
  if (old === undefined) {
    throw new Error(`expected INSTALLATION_KEY, the current key: ${dataDir} has no key file`)
  }
  await using stack = new AsyncDisposableStack()
  const { db, isAlone } = await openStopped(stack, settings, dataDir)
  const keys = { old: createInstallationKey(old), next: createInstallationKey(next) }
  const change = await changeInstallationKey(db, keys, { actor: systemUser(), isAlone })
  // After the database, so that a command that was interrupted between the two can be run again
  // with the same settings.
  const previous =
    given === undefined && old !== next ? await replaceInstallationKey(dataDir, next) : undefined
  return told(change, given === undefined, previous)
}

/** Opens the database while nothing else uses it; starts the packaged one if necessary. */
async function openStopped(
  stack: AsyncDisposableStack,
  settings: ChangeKeySettings,
  dataDir: string,
): Promise<{ db: Db; isAlone: boolean }> {
  const {
    DATABASE_URL: serving,
    MIGRATE_DATABASE_URL: owner,
    DATABASE_DIRECT_URL: direct,
  } = settings
  const url = owner ?? direct ?? serving
  if (url !== undefined) return { db: stack.use(open(url)), isAlone: false }
  if ((await stat(join(dataDir, 'postgres')).catch(() => undefined)) === undefined) {
    throw new Error(`expected DATABASE_URL: ${dataDir} has no packaged Postgres`)
  }
  stack.use(
    await lockDataDir(dataDir).catch((cause: unknown) => {
      throw new Error('stop the service first', { cause })
    }),
  )
  await refuseMoved(dataDir)
  const postgres = await startEmbeddedPostgres({ dataDir })
  stack.defer(() => postgres.stop())
  if (postgres.joined) {
    throw new Error('stop the service first: another process has its database open')
  }
  return { db: stack.use(open(postgres.url)), isAlone: true }
}

function open(url: string): Db {
  return openDatabase({
    url,
    poolSize: 1,
    applicationName: 'rekey',
    statementMs: STATEMENT_MS,
  })
}

function told(change: KeyChange, isInFile: boolean, previous: string | undefined): string {
  const where = isInFile
    ? 'The new key is in installation.key.'
    : 'Start all programs with the new key as INSTALLATION_KEY.'
  const backups =
    previous === undefined
      ? 'Keep the old key for as long as you keep older backups of the database.'
      : `The old key is in ${previous}. Older backups of the database need it: keep it with them,\n` +
        'and remove it here.'
  if (change.status === 'was_changed') {
    return `The database has the new key already.\n${where}\n${backups}\n`
  }
  const counts = [...change.kinds].map(([kind, { reencryptedCount, unreadCount }]) => {
    const unread = unreadCount === 0 ? '' : ` (${unreadCount} could not be read before either)`
    return `  ${reencryptedCount} ${KIND_WORDS[kind]}${unread}`
  })
  return [
    'Re-encrypted:',
    ...counts,
    where,
    'Cached facts are looked up again; numbers bought in the last day may be bought again.',
    'A call that repeats an Idempotency-Key of the last day is a new call.',
    backups,
    '',
  ].join('\n')
}
