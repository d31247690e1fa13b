import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { INSTALLATION_KEY_FILE, readInstallationKey } from './installation-key.ts'

const MODULE = new URL('./installation-key.ts', import.meta.url).href

async function folder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'plumbline-key-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

test('a key in the settings is used, and no file is created', async () => {
  await using dir = await folder()
  const settings = { DATA_DIR: dir.path, INSTALLATION_KEY: 'x'.repeat(32) }
  expect(await readInstallationKey(settings)).toBe('x'.repeat(32))
  expect(await readdir(dir.path)).toEqual([])
})

test('without one a file that only its owner can read is created once and read from then on', async () => {
  await using dir = await folder()
  const settings = { DATA_DIR: join(dir.path, 'not', 'there', 'yet') }
  const key = await readInstallationKey(settings)
  expect(key.length).toBeGreaterThanOrEqual(43)
  expect(await readInstallationKey(settings)).toBe(key)
  expect(await readdir(settings.DATA_DIR)).toEqual([INSTALLATION_KEY_FILE])
  const { mode } = await stat(join(settings.DATA_DIR, INSTALLATION_KEY_FILE))
  expect(mode & 0o777).toBe(0o600)
})

test('concurrent processes and calls agree on one key and leave one file', async () => {
  await using dir = await folder()
  const program = `
    import { readInstallationKey } from ${JSON.stringify(MODULE)}
    const settings = { DATA_DIR: process.argv[1] }
    const keys = await Promise.all(Array.from({ length: 20 }, () => readInstallationKey(settings)))
    process.stdout.write(JSON.stringify([...new Set(keys)]))`
  const run = promisify(execFile)
  const runs = await Promise.all(
    Array.from({ length: 4 }, () =>
      run(process.execPath, ['--input-type=module', '-e', program, dir.path]),
    ),
  )
  const keys = new Set(runs.flatMap(({ stdout }) => JSON.parse(stdout) as string[]))
  expect(keys.size).toBe(1)
  expect(await readdir(dir.path)).toEqual([INSTALLATION_KEY_FILE])
  expect(keys).toContain((await readFile(join(dir.path, INSTALLATION_KEY_FILE), 'utf8')).trim())
})

test.each([
  ['empty', '', 0o600, 'is damaged'],
  ['too short', 'short', 0o600, 'is damaged'],
  ['far too long', 'x'.repeat(5_000), 0o600, 'is damaged'],
  ['open to every user', 'x'.repeat(43), 0o644, 'is open to every user'],
])('a file that is %s is refused and left as it is', async (_, content, mode, words) => {
  await using dir = await folder()
  const path = join(dir.path, INSTALLATION_KEY_FILE)
  await writeFile(path, content)
  await chmod(path, mode)
  await expect(readInstallationKey({ DATA_DIR: dir.path })).rejects.toMatchObject({
    message: expect.stringContaining('set INSTALLATION_KEY') as unknown,
    cause: { message: expect.stringContaining(words) as unknown },
  })
  expect(await readFile(path, 'utf8')).toBe(content)
})
