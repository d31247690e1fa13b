import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ROOT } from './run.ts'

/** What a package may import of the project. Each is the only owner of one outside thing. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  engines: ['contract'],
  db: ['contract'],
  metering: ['contract', 'db'],
  queue: ['contract'],
  storage: ['runtime'],
  pipeline: ['contract', 'db', 'metering', 'queue', 'storage'],
  runtime: [],
  client: ['contract'],
}

const SERVICES = ['api', 'worker', 'cli', 'local']

describe('the direction of imports', () => {
  test.each(Object.entries(MAY_IMPORT))('packages/%s imports only what it may', (name, allowed) => {
    const met = projectImports(join('packages', name))
    expect([...met].filter((other) => other !== name && !allowed.includes(other))).toEqual([])
  })

  test.each(SERVICES)('services/%s imports no other service', (name) => {
    const met = projectImports(join('services', name))
    expect([...met].filter((other) => SERVICES.includes(other))).toEqual([])
  })

  test.each([
    ...Object.keys(MAY_IMPORT).map((name) => join('packages', name)),
    ...SERVICES.map((name) => join('services', name)),
  ])('%s declares what it imports', (folder) => {
    const { dependencies = {} } = JSON.parse(
      readFileSync(join(ROOT, folder, 'package.json'), 'utf8'),
    ) as { dependencies?: Record<string, string> }
    const declared = Object.keys(dependencies).map((name) => name.replace('@plumbline/', ''))
    const own = folder.split('/')[1] ?? ''
    const missing = [...projectImports(folder)].filter(
      (name) => name !== own && !declared.includes(name),
    )
    expect(missing).toEqual([])
  })
})

/** Names of the project's packages that the sources of a folder import, tests left out. */
function projectImports(folder: string): ReadonlySet<string> {
  const names = new Set<string>()
  for (const file of readdirSync(join(ROOT, folder, 'src'), { recursive: true })) {
    const path = String(file)
    // Tests, and what serves them alone, may reach across.
    if (!path.endsWith('.ts') || /\.test\.ts$|-fixture\.ts$|(^|\/)stage\//.test(path)) continue
    const text = readFileSync(join(ROOT, folder, 'src', path), 'utf8')
    for (const [, name = ''] of text.matchAll(/from '@plumbline\/([a-z]+)/g)) names.add(name)
  }
  return names
}
