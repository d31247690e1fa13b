import { resolve } from 'node:path'
import { openDatabase, type Db } from '@plumbline/db/database'
import type { SealedKind } from '@plumbline/db/reencrypt'
import { createInstallationKey } from '@plumbline/pipeline/installation-key'
import { findInstallationKey, replaceInstallationKey } from '@plumbline/runtime/installation-key'
import { readSettings } from '@plumbline/runtime/settings'
import { systemUser } from '@plumbline/runtime/system-user'
import { hasPackagedPostgres, startStoppedPostgres } from './packaged-postgres.ts'
import { runCommand } from './run-command.ts'
import { changeInstallationKey, type KeyChange } from './change-installation-key.ts'
import { changeKeySettings, type ChangeKeySettings } from './settings.ts'

// npm run rekey: re-encrypts everything that is encrypted under INSTALLATION_KEY under
// NEW_INSTALLATION_KEY, while the service is stopped.

/** Time-out of a statement, which limits the wait for a table lock. */
const STATEMENT_MS = 600_000

const KIND_WORDS: Readonly<Record<SealedKind, string>> = {
  webhookSecret: 'secrets of webhooks',
  webhookOldSecret: 'secrets of webhooks that end within a day',
  webhookOlderSecret: 'older secrets of webhooks that end within a day',
  secondFactor: 'second factors',
  mail: 'messages that wait',
  link: 'links under way',
  erasure: 'erasures under way',
}

await runCommand('The key was not changed', () => changeKey(readSettings(changeKeySettings)))

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
  if (!(await hasPackagedPostgres(dataDir))) {
    throw new Error(`expected DATABASE_URL: ${dataDir} has no packaged Postgres`)
  }
  return { db: stack.use(open(await startStoppedPostgres(stack, dataDir))), isAlone: true }
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
