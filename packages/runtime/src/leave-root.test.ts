import { spawnSync } from 'node:child_process'
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  readdir,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { RootlessNeeds } from './leave-root.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'plumbline-root-'))
  await chmod(dir, 0o711)
})
afterEach(() => rm(dir, { recursive: true, force: true }))

interface Left {
  readonly uid: number
  readonly groups: readonly number[]
  readonly warnings: readonly string[]
  /** Result of an attempt to become root again: `root`, or the error code. */
  readonly back: string
}

/** Runs `leaveRoot` in a process of its own and returns the resulting user. */
function leave(needs: RootlessNeeds, began = ''): Left {
  const program = `
    import { leaveRoot } from ${JSON.stringify(new URL('./leave-root.ts', import.meta.url).href)}
    ${began}
    const warnings = []
    await leaveRoot(${JSON.stringify(needs)}, (message) => warnings.push(message))
    let back = 'root'
    try { process.setuid(0) } catch (error) { back = error.code }
    console.log(JSON.stringify({ uid: process.getuid(), groups: process.getgroups(), warnings, back }))`
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program],
    { encoding: 'utf8' },
  )
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout) as Left
}

async function ownerOf(...path: readonly string[]): Promise<number> {
  return (await stat(join(dir, ...path))).uid
}

async function modeOf(...path: readonly string[]): Promise<string> {
  return ((await stat(join(dir, ...path))).mode & 0o7777).toString(8)
}

describe.runIf(process.getuid?.() === 0)('a program that was started as root', () => {
  test('continues as another user for good, with that user’s group only', async () => {
    const left = leave({ DATA_DIR: join(dir, 'data'), reads: [] })
    expect(left).toMatchObject({ warnings: [], back: 'EPERM' })
    expect(left.uid).toBeGreaterThan(0)
    expect(left.groups).toHaveLength(1)
    expect(await ownerOf('data')).toBe(0)
    expect(await modeOf('data')).toBe('711')
    expect(await ownerOf('data/installation.key')).toBe(left.uid)
    expect(await modeOf('data/installation.key')).toBe('600')
    for (const folder of ['files', 'scratch', 'lists']) {
      expect(await ownerOf('data', folder)).toBe(left.uid)
      expect(await modeOf('data', folder)).toBe('700')
    }
  })

  test('gives the user the files that an older version left as root, and no links to other files', async () => {
    const uploads = join(dir, 'data/files/uploads')
    await mkdir(uploads, { recursive: true })
    await writeFile(join(uploads, 'bat_1'), 'x')
    await writeFile(join(dir, 'precious'), 'x')
    await link(join(dir, 'precious'), join(uploads, 'hard'))
    await writeFile(join(dir, 'other'), 'x')
    await symlink(join(dir, 'other'), join(uploads, 'soft'))
    await mkdir(join(dir, 'data/postgres'))
    await writeFile(join(dir, 'data/postgres/password'), 'x', { mode: 0o600 })
    const { uid } = leave({ DATA_DIR: join(dir, 'data'), reads: [] })
    expect(await ownerOf('data/files/uploads/bat_1')).toBe(uid)
    expect(await modeOf('data/files/uploads')).toBe('700')
    expect(await ownerOf('precious')).toBe(0)
    expect(await ownerOf('other')).toBe(0)
    expect(await ownerOf('data/postgres/password')).toBe(0)
    expect(await ownerOf('data/postgres')).toBe(0)
  })

  test('does not change a folder of files elsewhere, except for our files in it', async () => {
    await mkdir(join(dir, 'store/uploads'), { recursive: true })
    await mkdir(join(dir, 'store/others'), { recursive: true })
    await chmod(join(dir, 'store'), 0o777)
    const FILES_URL = pathToFileURL(join(dir, 'store')).href
    const { uid, warnings } = leave({ DATA_DIR: join(dir, 'data'), FILES_URL, reads: [] })
    expect(warnings).toEqual([])
    expect(await ownerOf('store/uploads')).toBe(uid)
    expect(await ownerOf('store/others')).toBe(0)
    expect(await modeOf('store')).toBe('777')
    expect(await readdir(join(dir, 'data'))).not.toContain('files')
  })

  test.each([
    ['a file of the operator that is closed', 'cannot read', { reads: ['closed/weights.json'] }],
    ['a store that only root writes to', 'cannot write to', { FILES_URL: 'closed' }],
    ['a data directory behind a closed one', 'cannot write to', { DATA_DIR: 'closed/data' }],
    ['a port that only root may have', 'port 80', { port: 80 }],
    ['a certificate that is closed', 'cannot read', { DATABASE_URL: 'closed/root.crt' }],
  ])('stays root and says why: %s', async (_, said, given) => {
    await mkdir(join(dir, 'closed'), { mode: 0o700 })
    for (const name of ['weights.json', 'root.crt'])
      await writeFile(join(dir, 'closed', name), '{}')
    const {
      reads = [],
      FILES_URL,
      DATABASE_URL,
      DATA_DIR = 'data',
      port = 0,
    } = given as {
      readonly [Name in keyof RootlessNeeds]?: RootlessNeeds[Name]
    }
    const { uid, warnings } = leave({
      DATA_DIR: join(dir, DATA_DIR),
      reads: reads.map((path) => join(dir, path ?? '')),
      port,
      ...(FILES_URL && { FILES_URL: pathToFileURL(join(dir, FILES_URL)).href }),
      ...(DATABASE_URL && {
        DATABASE_URL: `postgres://h/d?sslrootcert=${join(dir, DATABASE_URL)}`,
      }),
    })
    expect(uid).toBe(0)
    expect(warnings).toEqual([expect.stringMatching(`^runs on as root: .*${said}`)])
    expect(await modeOf('closed')).toBe('700')
  })
})

test('does nothing if it was not started as root', () => {
  const nobody = 65_534
  const isRoot = process.getuid?.() === 0
  const became = `process.setgroups([]); process.setgid(${nobody}); process.setuid(${nobody})`
  const needs = { DATA_DIR: join(dir, 'data'), reads: ['/none'] }
  const { uid, warnings } = leave(needs, isRoot ? became : '')
  expect(uid).toBe(isRoot ? nobody : process.getuid?.())
  expect(warnings).toEqual([])
})
