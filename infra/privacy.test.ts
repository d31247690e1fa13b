import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './run.ts'

const MIGRATIONS = join(ROOT, 'packages/db/migrations')
const page = readFileSync(join(ROOT, 'docs/privacy.md'), 'utf8')
const named = [...page.matchAll(/`([a-z_]+\*?)`/g)].map(([, name = '']) => name)

/** Tables without personal data. */
const OF_NOBODY: ReadonlySet<string> = new Set(['plans', 'packs'])

const tables = readdirSync(MIGRATIONS).flatMap((file) => {
  const text = readFileSync(join(MIGRATIONS, file), 'utf8')
  return [...text.matchAll(/^create (?:unlogged )?table (?:if not exists )?(\w+)/gm)].map(
    ([, name = '']) => name,
  )
})

test.each([...new Set(tables)].filter((name) => !OF_NOBODY.has(name)))(
  'docs/privacy.md says what %s contains and for how long',
  (table) => {
    const isNamed = named.some((name) =>
      name.endsWith('*') ? table.startsWith(name.slice(0, -1)) : name === table,
    )
    expect(isNamed).toBe(true)
  },
)
