import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '@plumbline/db/database'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { expect, test } from 'vitest'
import { runCli } from '../program.ts'
import type { Shell } from '../shell.ts'

test('a faulty weights file and an unknown batch are reported, and nothing is stored', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' })
  const folder = await mkdtemp(join(tmpdir(), 'plumbline-score-'))
  try {
    const said = { err: '' }
    const shell: Shell = {
      environment: { DATA_DIR: '/nowhere', DATABASE_URL: database.url },
      write: () => {},
      tell: (text) => void (said.err += text),
      redraws: false,
      hasColors: false,
      stop: new AbortController().signal,
      fail: () => {},
    }
    const file = join(folder, 'own.json')
    const attempt = async (text: string): Promise<string> => {
      await writeFile(file, text)
      said.err = ''
      const words = ['score', 'bat_none', '--weights', file, '--keep']
      expect(await runCli(words, shell)).toBe(1)
      return said.err
    }
    expect(await attempt('{"version":"a","groups":{"ip.anonymity":{"vpn":120}}}')).toContain('vpn')
    expect(await attempt('{"version":"a","groups":{"ip.anonymity":{"vpn":20}}}')).toContain(
      'There is no batch bat_none',
    )
    expect(await runCli(['score', 'bat_none'], shell)).toBe(2)
    const { rows } = await db.pool.query('select version from score_weights')
    expect(rows).toEqual([])
  } finally {
    await rm(folder, { recursive: true })
  }
})
