import { createAccount } from '@plumbline/db/accounts'
import { listAudit } from '@plumbline/db/audit-log'
import { openDatabase } from '@plumbline/db/database'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { expect, test } from 'vitest'
import { closeAccount } from '@plumbline/metering/administer'
import { runCli } from '../program.ts'
import type { Shell } from '../shell.ts'

test('a link for a new user gives access to an account without members, and is logged', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test' })
  const said = { out: '', err: '' }
  const shell: Shell = {
    environment: {
      DATA_DIR: '/nowhere',
      DATABASE_URL: database.url,
      PUBLIC_URL: 'https://app.example.com',
    },
    write: (text) => void (said.out += text),
    tell: (text) => void (said.err += text),
    redraws: false,
    hasColors: false,
    stop: new AbortController().signal,
    fail: () => {},
  }
  expect(await runCli(['user', 'link', 'ada@example.com'], shell)).toBe(1)
  expect(said.err).toContain('Nobody signs in as ada@example.com')

  const { id } = await createAccount(db, { email: 'owner@localhost', plan: 'free' })
  expect(await runCli(['user', 'link', 'ada@example.com', '--as', 'Olga'], shell)).toBe(0)
  expect(said.out).toMatch(/^https:\/\/app\.example\.com\/app\/welcome#[0-9A-Za-z]{40}\n$/)
  const [act] = await listAudit(db, { accountId: id, limit: 1 })
  expect(act).toMatchObject({ actor: 'Olga', action: 'user.link' })
  expect(JSON.stringify(act)).not.toContain('ada@example.com')

  // No browser could sign in with it there.
  const elsewhere = { DATA_DIR: '/nowhere', DATABASE_URL: database.url }
  const onLan = { ...shell, environment: { ...elsewhere, API_URL: 'http://192.0.2.7:8080' } }
  expect(await runCli(['user', 'link', 'ada@example.com'], onLan)).toBe(1)
  expect(said.err).toContain('not at http://192.0.2.7:8080; set PUBLIC_URL.')

  // Nobody is a member of it then, either.
  await closeAccount(db, { actor: 'Olga', accountId: id })
  expect(await runCli(['user', 'link', 'ada@example.com', '--account', id], shell)).toBe(1)
  expect(said.err).toContain(`The account ${id} is closed for good`)
})
